// The clients of the sound server, each a stream: volume, mute, and the output that it plays to, by a menu or by dragging it there.
// Of many the first few, and a button for the others: what stands below them on a phone is not far.

import { createContext } from 'preact';
import { useContext, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClientRecord, OutputRecord, Tonearm } from '../client/client.js';
import { ChoiceOf, type Option, Toggle, useControl } from './controls.js';
import { Icon } from './icons.js';
import { say, sayPercent } from './language.js';
import { Empty, Name, Pacing, still, useGrowing } from './parts.js';
import { Rows } from './rows.js';
import { Slider } from './slider.js';
import { type StreamDrag, useStreamDrag } from './stream-drag.js';

const TITLES_AT_ONCE = 5;
/** So many stand before the button. One alone is not put behind it. */
const FIRST_ROWS = 8;

/** Whether the others are shown, and how to change that: whoever provides it keeps it while the sound server is away. */
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
  const turns = useContext(Pacing);
  const rows = useMemo(() => new Rows(turns), [turns]);
  rows.put(streams);
  const ids = useAlike([...streams.keys()].sort((a, b) => a - b));
  const options = useAlike(
    outputs.map(({ name, description }) => ({ value: name, text: description || name })),
  );
  const [drag, setDrag] = useState<StreamDrag>();
  const [isUnfolded, unfold] = useContext(Unfolding);
  if (streams.size === 0) return <Empty>{say('noStreams')}</Empty>;
  return (
    <>
      <StreamList {...{ ids, node, rows, options, isUnfolded, unfold }} onDrag={setDrag} />
      {drag === undefined ? null : <DropTray drag={drag} options={options} />}
    </>
  );
}

interface ListProps extends Omit<RowProps, 'id'> {
  readonly ids: readonly number[];
  readonly isUnfolded: boolean;
  readonly unfold: (wanted: boolean) => void;
}

/** One list of all, so that a row that comes out from behind the button is still the same one. */
const StreamList = still(({ ids, isUnfolded, unfold, ...others }: ListProps) => {
  const first = ids.length > FIRST_ROWS + 1 ? FIRST_ROWS : ids.length;
  const isFolding = first < ids.length;
  const wanted = isUnfolded ? ids.length : first;
  const drawn = useGrowing({ wanted, step: TITLES_AT_ONCE });
  const rows = ids.slice(0, drawn).map((id) => <StreamRow key={id} id={id} {...others} />);
  if (isFolding && drawn >= first)
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
          {say('moreStreams', { count: ids.length - first })}
        </button>
      </li>,
    );
  return (
    <ul class={`cards rows ${isFolding ? 'folding' : ''}`} style={{ '--rows': wanted }}>
      {rows}
    </ul>
  );
});

/** The same value while it looks the same: what is drawn of it is not drawn again. */
function useAlike<T>(value: T): T {
  const kept = useRef(value);
  if (JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value;
  return kept.current;
}

interface RowProps {
  readonly id: number;
  readonly node: Tonearm;
  readonly rows: Rows;
  readonly options: readonly Option[];
  readonly onDrag: (drag: StreamDrag | undefined) => void;
}

const StreamRow = still(({ id, rows, ...others }: RowProps) => {
  const [, draw] = useState(0);
  const row = useRef<HTMLLIElement>(null);
  useLayoutEffect(
    () => (row.current === null ? undefined : rows.watch(id, row.current, () => draw((times) => times + 1))),
    [rows, id],
  );
  const stream = rows.of(id);
  if (stream === undefined) return null;
  return (
    <li ref={row} class="card stream" data-stream={id}>
      {rows.hasControls(id) ? (
        <StreamControls stream={stream} {...others} />
      ) : (
        <StreamName name={stream.name} />
      )}
    </li>
  );
});

function StreamName({ name }: Pick<ClientRecord, 'name'>) {
  return (
    <p class="strong clip">
      <Name>{name}</Name>
    </p>
  );
}

interface ControlsProps extends Omit<RowProps, 'id' | 'rows'> {
  readonly stream: ClientRecord;
}

function StreamControls({ node, stream, options, onDrag }: ControlsProps) {
  const { id, name, app, corked, muted, volume, output = '' } = stream;
  const placed = useControl(
    output,
    (wanted) => node.moveClient(id, { output: wanted }),
    say('moveOf', { name }),
  );
  const take = useStreamDrag({ name, onDrag, onDrop: placed.set });
  return (
    <>
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
          <StreamName name={name} />
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
    </>
  );
}

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
