// The clients of the sound server, each a stream: volume, mute, and its output, chosen in a menu or by dragging.
// If there are many, the others are behind a button, so that the sections below are not far away on a phone.

import { createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ClientRecord, OutputRecord, Tonearm } from '../client/client.js';
import { ChoiceOf, type Option, Toggle, useControl } from './controls.js';
import { Icon } from './icons.js';
import { formatPercent, translate } from './language.js';
import { outputName } from './output-choice.js';
import { Empty, ForeignLine, memoized, Pacing, useGrowing } from './parts.js';
import { Slider } from './slider.js';
import { type StreamDrag, useStreamDrag } from './stream-drag.js';

const ROWS_AT_ONCE = 2;
const CHANGES_AT_ONCE = 4;
/** Rows before the button. A single further row is shown and gets no button. */
const FIRST_ROWS = 8;

/** State and setter for the streams behind the button; the provider keeps the state while the sound server is away. */
export const Unfolding = createContext<readonly [isUnfolded: boolean, unfold: (wanted: boolean) => void]>([
  false,
  () => undefined,
]);

interface StreamsProps {
  readonly node: Tonearm;
  readonly streams: ReadonlyMap<number, ClientRecord>;
  readonly outputs: readonly OutputRecord[];
}

export function Streams({ node, streams, outputs }: StreamsProps) {
  const options = useStableObject(
    outputs.map((output) => ({ value: output.name, text: outputName(output) })),
  );
  const [drag, setDrag] = useState<StreamDrag>();
  const [isUnfolded, unfold] = useContext(Unfolding);
  const shown = usePaced(streams);
  if (streams.size === 0) return <Empty>{translate('noStreams')}</Empty>;
  const sorted = shown.sort((a, b) => a.id - b.id);
  return (
    <>
      <StreamList streams={sorted} {...{ node, options, isUnfolded, unfold }} onDrag={setDrag} />
      {drag === undefined ? null : <DropTray drag={drag} options={options} />}
    </>
  );
}

/** Draws many changes a few per turn, longest waiting first: all at once would be a task long enough to be noticed. */
function usePaced(streams: StreamsProps['streams']): ClientRecord[] {
  const turns = useContext(Pacing);
  const [, draw] = useState(0);
  const shown = useRef<ReadonlyMap<number, ClientRecord>>(new Map());
  const stale = useRef(new Set<number>());
  const next = new Map([...streams].map(([id, stream]) => [id, shown.current.get(id) ?? stream]));
  for (const [id, stream] of streams) if (next.get(id) !== stream) stale.current.add(id);
  for (const id of [...stale.current].slice(0, CHANGES_AT_ONCE)) {
    stale.current.delete(id);
    const stream = streams.get(id);
    if (stream !== undefined) next.set(id, stream);
  }
  shown.current = next;
  const isBehind = stale.current.size > 0;
  useLayoutEffect(() => (isBehind ? turns.later(() => draw((times) => times + 1)) : undefined));
  return [...next.values()];
}

interface ListProps extends Omit<RowProps, 'stream'> {
  readonly streams: readonly ClientRecord[];
  readonly isUnfolded: boolean;
  readonly unfold: (wanted: boolean) => void;
}

/** One list for all, so that a row keeps its identity when it appears from behind the button. */
function StreamList({ streams, isUnfolded, unfold, ...others }: ListProps) {
  const { length } = streams;
  const first = length > FIRST_ROWS + 1 ? FIRST_ROWS : length;
  const wanted = isUnfolded ? length : first;
  const drawn = useGrowing({ wanted, step: ROWS_AT_ONCE });
  const rows = streams
    .slice(0, drawn)
    .map((stream) => <StreamRow key={stream.id} stream={stream} {...others} />);
  if (first < length && drawn >= first)
    rows.splice(
      first,
      0,
      <li key="fold" class="fold">
        <button
          type="button"
          class="button small"
          aria-expanded={isUnfolded}
          onClick={() => unfold(!isUnfolded)}
        >
          {translate('moreStreams', { count: length - first })}
        </button>
      </li>,
    );
  return <ul class="cards">{rows}</ul>;
}

/** Keeps the old object while the new one has equal content, which avoids redrawing. */
function useStableObject<T>(value: T): T {
  const kept = useRef(value);
  if (JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value;
  return kept.current;
}

interface RowProps {
  readonly stream: ClientRecord;
  readonly node: Tonearm;
  readonly options: readonly Option[];
  readonly onDrag: (drag: StreamDrag | undefined) => void;
}

const StreamRow = memoized(({ node, stream, options, onDrag }: RowProps) => {
  const { id, name, app, corked, muted, volume, output = '' } = stream;
  const placed = useControl(
    output,
    (wanted) => node.moveClient(id, { output: wanted }),
    translate('moveOf', { name }),
  );
  const take = useStreamDrag({ name, onDrag, onDrop: placed.set });
  return (
    <li class="card stream" data-stream={id}>
      <div class="row">
        <button
          type="button"
          class="icon-button drag-handle"
          tabIndex={-1}
          aria-hidden="true"
          title={translate('dragOf', { name })}
          onPointerDown={take}
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
        <ChoiceOf label={translate('moveOf', { name })} options={options} control={placed} />
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

/** Shows all outputs within reach during a drag, wherever the page is scrolled to. */
function DropTray({ drag, options }: { readonly drag: StreamDrag; readonly options: readonly Option[] }) {
  const { name, x, y, over } = drag;
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
