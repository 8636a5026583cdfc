// The clients of the sound server, each a stream: volume, mute, and its output, chosen in a menu or by dragging.
// If there are many, the others are behind a button, so that the sections below are not far away on a phone.

import { useContext, useMemo, useState } from 'preact/hooks';
import type { ClientRecord, NodeState } from '../client/client.js';
import { Choice, type Option, Toggle } from './controls.js';
import { Button, Icon } from './icons.js';
import { formatPercent, translate } from './language.js';
import { node } from './node.js';
import { Reporting } from './notices.js';
import { outputName } from './output-choice.js';
import { Empty, ForeignLine, memoized, useGrowing } from './parts.js';
import { Slider } from './slider.js';
import { dragStream, type StreamDrag } from './stream-drag.js';

const ROWS_AT_ONCE = 2;
/** Rows before the button. A single further row is shown and gets no button. */
const FIRST_ROWS = 8;

interface StreamsProps {
  readonly state: NodeState;
  /** State and setter for the streams behind the button. */
  readonly unfolding: readonly [isUnfolded: boolean, unfold: (wanted: boolean) => void];
}

export function Streams({ state: { clients, outputs }, unfolding: [isUnfolded, unfold] }: StreamsProps) {
  const names = [...outputs.values()].map((output) => ({ value: output.name, text: outputName(output) }));
  // The same object while it has the same content, so that no row is redrawn.
  const options = useMemo(() => names, [JSON.stringify(names)]);
  const [drag, setDrag] = useState<StreamDrag>();
  const first = clients.size > FIRST_ROWS + 1 ? FIRST_ROWS : clients.size;
  const drawn = useGrowing(isUnfolded ? clients.size : first, ROWS_AT_ONCE);
  if (clients.size === 0) return <Empty>{translate('noStreams')}</Empty>;
  const rows = [...clients.values()]
    .sort((a, b) => a.id - b.id)
    .slice(0, drawn)
    .map((stream) => <StreamRow key={stream.id} stream={stream} options={options} onDrag={setDrag} />);
  // In the same list, so that a row keeps its identity when it appears from behind the button.
  if (first < clients.size && drawn >= first)
    rows.splice(
      first,
      0,
      <li key="fold" class="fold">
        <Button isOpen={isUnfolded} onClick={() => unfold(!isUnfolded)}>
          {translate('moreStreams', { count: clients.size - first })}
        </Button>
      </li>,
    );
  return (
    <>
      <ul class="cards">{rows}</ul>
      {drag === undefined ? null : <DropTray drag={drag} options={options} />}
    </>
  );
}

interface RowProps {
  readonly stream: ClientRecord;
  readonly options: readonly Option[];
  readonly onDrag: (drag: StreamDrag | undefined) => void;
}

const StreamRow = memoized(({ stream, options, onDrag }: RowProps) => {
  const { id, name, app, corked, muted, volume, output = '' } = stream;
  const label = translate('moveOf', { name });
  const place = (wanted: string): Promise<unknown> => node.moveClient(id, { output: wanted });
  const report = useContext(Reporting);
  const onDrop = (wanted: string) => report(translate('couldNotSet', { name: label }), place(wanted));
  return (
    <li class="card stream" data-stream={id}>
      <div class="row">
        <button
          type="button"
          class="icon-button drag-handle"
          tabIndex={-1}
          aria-hidden="true"
          title={translate('dragOf', { name })}
          onPointerDown={(event) => dragStream(event, { name, onDrag, onDrop })}
        >
          <Icon name="drag" />
        </button>
        <div class="grow">
          <ForeignLine class="strong">{name}</ForeignLine>
          <p class="quiet clip">
            <bdi>{app}</bdi>
            {corked ? ` · ${translate('paused')}` : ''}
          </p>
        </div>
        <Choice label={label} value={output} options={options} send={place} />
      </div>
      <div class="row">
        <Toggle
          label={translate('muteOf', { name })}
          icon="volume"
          iconOn="muted"
          isOn={muted}
          send={(wanted) => node.muteClient(id, { muted: wanted })}
        />
        {volume === undefined ? (
          <p class="quiet grow">{translate('fixedVolume')}</p>
        ) : (
          <Slider
            class="grow"
            label={translate('volumeOf', { name })}
            value={volume}
            text={formatPercent}
            dim={muted}
            send={(wanted) => node.setClientVolume(id, { volume: wanted })}
          />
        )}
      </div>
    </li>
  );
});

interface TrayProps {
  readonly drag: StreamDrag;
  readonly options: readonly Option[];
}

/** Shows all outputs within reach during a drag, wherever the page is scrolled to. */
function DropTray({ drag: { name, x, y, over }, options }: TrayProps) {
  return (
    <div class="tray" aria-hidden="true">
      <p class="quiet">{translate('dropHere')}</p>
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
