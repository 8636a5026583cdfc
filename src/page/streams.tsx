// The clients of the sound server, each a stream: volume, mute, and the output that it plays to, by a menu or by dragging it there.

import { useRef, useState } from 'preact/hooks';
import type { ClientRecord, OutputRecord, Tonearm } from '../client/client.js';
import { ChoiceOf, type Option, Slider, Toggle, useControl } from './controls.js';
import { Icon } from './icons.js';
import { say, sayPercent } from './language.js';
import { Empty, Name, still, useGrowing } from './parts.js';
import { type StreamDrag, useStreamDrag } from './stream-drag.js';

const ROWS_PER_FRAME = 3;

interface StreamsProps {
  readonly node: Tonearm;
  readonly streams: readonly ClientRecord[];
  readonly outputs: readonly OutputRecord[];
}

export function Streams({ node, streams, outputs }: StreamsProps) {
  const drawn = useGrowing(streams.length, ROWS_PER_FRAME);
  const options = useOptions(outputs);
  const [drag, setDrag] = useState<StreamDrag>();
  if (streams.length === 0) return <Empty>{say('noStreams')}</Empty>;
  return (
    <>
      <ul class="cards rows">
        {streams.slice(0, drawn).map((stream) => (
          <StreamRow key={stream.id} node={node} stream={stream} options={options} onDrag={setDrag} />
        ))}
      </ul>
      {drag === undefined ? null : <DropTray drag={drag} options={options} />}
    </>
  );
}

/** The same list until an output comes, goes or is renamed: a volume of one must not draw every row again. */
function useOptions(outputs: readonly OutputRecord[]): readonly Option[] {
  const options = outputs.map(({ name, description }) => ({ value: name, text: description || name }));
  const kept = useRef(options);
  if (JSON.stringify(kept.current) !== JSON.stringify(options)) kept.current = options;
  return kept.current;
}

interface RowProps {
  readonly node: Tonearm;
  readonly stream: ClientRecord;
  readonly options: readonly Option[];
  readonly onDrag: (drag: StreamDrag | undefined) => void;
}

const StreamRow = still(({ node, stream, options, onDrag }: RowProps) => {
  const { id, name, app, muted, volume, corked, output = '' } = stream;
  const placed = useControl(output, (wanted) => node.moveClient(id, { output: wanted }));
  const take = useStreamDrag({ name, onDrag, onDrop: placed.set });
  return (
    <li class="card stream">
      <div class="row">
        <button
          type="button"
          class="icon-button drag-handle"
          tabIndex={-1}
          aria-hidden="true"
          title={say('dragOf', { name })}
          onPointerDown={take}
        >
          <Icon name="drag" />
        </button>
        <div class="grow">
          <p class="strong clip">
            <Name>{name}</Name>
          </p>
          <p class="quiet clip">
            <bdi>{app}</bdi>
            {corked ? ` · ${say('paused')}` : ''}
          </p>
        </div>
        <ChoiceOf label={say('moveOf', { name })} options={options} control={placed} />
      </div>
      <div class="row">
        <Toggle
          label={say('muteOf', { name })}
          icon="volume"
          iconOn="muted"
          isOn={muted}
          send={(wanted) => node.muteClient(id, { muted: wanted })}
        />
        {volume === undefined ? (
          <p class="quiet grow">{say('fixedVolume')}</p>
        ) : (
          <Slider
            class="grow"
            label={say('volumeOf', { name })}
            value={volume}
            text={sayPercent}
            dim={muted}
            send={(wanted) => node.setClientVolume(id, { volume: wanted })}
          />
        )}
      </div>
    </li>
  );
});

/** While a stream is dragged every output is within reach, wherever the page is scrolled to. */
function DropTray({ drag, options }: { readonly drag: StreamDrag; readonly options: readonly Option[] }) {
  const { name, x, y, over } = drag;
  return (
    <div class="tray" aria-hidden="true">
      <p class="quiet">{say('dropHere')}</p>
      <div class="tray-outputs">
        {options.map(({ value, text }) => (
          <div key={value} class="tray-output" data-output={value} data-over={value === over}>
            <bdi class="clip">{text}</bdi>
          </div>
        ))}
      </div>
      <p class="ghost clip" style={{ transform: `translate(${x}px, ${y}px)` }}>
        <bdi>{name}</bdi>
      </p>
    </div>
  );
}
