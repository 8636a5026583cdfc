// The clients of the sound server, each a stream: volume, mute, and its output, chosen in a menu or by
// dragging. If there are many, the others are behind a button, so that the sections below are not far away on
// a phone.

import type { JSX } from 'preact';
import { useContext, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClientRecord, NodeState } from '../client/client.js';
import { Choice, type Option, Toggle } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { DrawOrder, Empty, ForeignLine, memoized, useGrowing } from './parts.js';
import { streamsOf } from './transport.js';
import { VolumeSlider } from './volume-slider.js';

const ROWS_AT_ONCE = 2;
const CHANGES_AT_ONCE = 4;
/** Rows before the button. A single further row is shown and gets no button. */
const FIRST_ROWS = 8;

interface StreamsProps extends StreamsState, Pick<NodeState, 'clients' | 'players'> {
  /** State and setter for the streams behind the button. */
  readonly unfolding: readonly [isUnfolded: boolean, unfold: (isUnfolded: boolean) => void];
}

/** The streams of no player: those of a player are with it. */
export function Streams({ clients, players, unfolding: [isUnfolded, unfold], ...state }: StreamsProps) {
  const own = new Set([...players.values()].flatMap((player) => streamsOf(player, clients)));
  const others = [...clients.values()].filter((stream) => !own.has(stream)).sort((a, b) => a.id - b.id);
  const first = others.length > FIRST_ROWS + 1 ? FIRST_ROWS : others.length;
  const drawn = useGrowing(isUnfolded ? others.length : first, ROWS_AT_ONCE);
  const streams = usePaced(others.slice(0, drawn));
  if (others.length === 0) return <Empty>{translate('noStreams')}</Empty>;
  const hasFold = first < others.length && drawn >= first;
  return (
    <StreamRows streams={streams} {...state} foldAt={first}>
      {hasFold ? (
        <li key="fold" class="fold">
          <Button isOpen={isUnfolded} onClick={() => unfold(!isUnfolded)}>
            {translate('moreStreams', { count: others.length - first })}
          </Button>
        </li>
      ) : null}
    </StreamRows>
  );
}

type StreamsState = Pick<NodeState, 'outputs' | 'server'>;

interface StreamRowsProps extends StreamsState {
  readonly streams: readonly ClientRecord[];
  /** The children stand before the row with this index. */
  readonly foldAt?: number;
  readonly children?: JSX.Element | null;
}

export function StreamRows({ streams, outputs, server, foldAt = 0, children = null }: StreamRowsProps) {
  const names = [...outputs.values()].map((output) => ({ value: output.name, text: output.label }));
  // The same object while it has the same content, so that no row is redrawn.
  const options = useMemo(() => names, [JSON.stringify(names)]);
  const [drag, setDrag] = useState<StreamDrag>();
  const rows = streams.map((stream) => (
    <StreamRow
      key={stream.id}
      stream={stream}
      machine={stream.host === server?.hostname ? undefined : stream.host}
      options={options}
      onDrag={setDrag}
    />
  ));
  // In the same list, so that a row keeps its identity when it appears from behind the button.
  if (children !== null) rows.splice(foldAt, 0, children);
  return (
    <>
      <ul class="card rows">{rows}</ul>
      {drag === undefined ? null : <DropTray {...drag} options={options} />}
    </>
  );
}

/** Many changes are drawn a few at a time, as all at once would be a task long enough to be noticed. */
function usePaced(streams: readonly ClientRecord[]): readonly ClientRecord[] {
  const queue = useContext(DrawOrder);
  const [, draw] = useState(0);
  /** A record that has changed goes to the end, so that the one that has waited longest is the next. */
  const { current: displayed } = useRef(new Map<number, ClientRecord>());
  const latest = new Map(streams.map((stream) => [stream.id, stream]));
  let changes = 0;
  for (const [id, old] of [...displayed]) {
    const stream = latest.get(id);
    if (stream === old) continue;
    if (stream !== undefined) changes += 1;
    if (changes <= CHANGES_AT_ONCE) displayed.delete(id);
  }
  for (const [id, stream] of latest) if (!displayed.has(id)) displayed.set(id, stream);
  const isBehind = changes > CHANGES_AT_ONCE;
  useLayoutEffect(() => (isBehind ? queue.add(() => draw((times) => times + 1), true) : undefined));
  return streams.map((stream) => displayed.get(stream.id) ?? stream);
}

/** Without the number by which the node distinguishes streams of the same name. */
function nameOf({ id, name }: ClientRecord): string {
  return name.endsWith(` #${id}`) ? name.slice(0, name.lastIndexOf(' #')) : name;
}

interface RowProps {
  readonly stream: ClientRecord;
  /** The machine that sends the stream; undefined for the node itself. */
  readonly machine: string | undefined;
  readonly options: readonly Option[];
  /** Gets undefined when the drag has ended. */
  readonly onDrag: (drag: StreamDrag | undefined) => void;
}

const StreamRow = memoized(({ stream, machine, options, onDrag }: RowProps) => {
  const node = useNode();
  const { id, app, corked, muted, volume, output = '' } = stream;
  const name = nameOf(stream);
  const label = translate('moveOf', { name });
  const place = (desired: string): Promise<unknown> => node.moveClient(id, { output: desired });
  const report = useContext(Reporting);
  const onDrop = (desired: string) => report(translate('couldNotSet', { name: label }), place(desired));
  return (
    <li class="stream" data-stream={id}>
      <div class="row">
        <Changing>
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
        </Changing>
        <div class="grow">
          <ForeignLine class="strong">{name}</ForeignLine>
          <p class="quiet clip">
            <bdi>{app}</bdi>
            {machine === undefined ? '' : ` · ${translate('fromMachine', { name: machine })}`}
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
          send={(desired) => node.muteClient(id, { muted: desired })}
        />
        {volume === undefined ? (
          <p class="quiet grow">{translate('fixedVolume')}</p>
        ) : (
          <VolumeSlider
            class="grow"
            label={translate('volumeOf', { name })}
            value={volume}
            dim={muted}
            send={(desired) => node.setClientVolume(id, { volume: desired })}
          />
        )}
      </div>
    </li>
  );
});

/** Shows all outputs within reach during a drag, wherever the page is scrolled to. */
function DropTray({ name, x, y, over, options }: StreamDrag & Pick<RowProps, 'options'>) {
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

interface StreamDrag {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly over: string | undefined;
}

type DragOptions = Pick<RowProps, 'onDrag'> & Readonly<{ name: string; onDrop: (output: string) => void }>;

/** Pixels; an unsteady hand moves less. */
const BEGINS_AFTER = 6;

/** Call this when a pointer (finger, pen or mouse) goes down on the handle. It finds the output under it. */
function dragStream(down: PointerEvent, { name, onDrag, onDrop }: DragOptions): void {
  const handle = down.currentTarget;
  if (!(handle instanceof HTMLElement) || down.button !== 0) return;
  const ended = new AbortController();
  let drag: StreamDrag | undefined;
  const end = (): void => {
    ended.abort();
    onDrag(undefined);
  };
  const move = ({ clientX: x, clientY: y }: PointerEvent): void => {
    if (drag === undefined && Math.hypot(x - down.clientX, y - down.clientY) <= BEGINS_AFTER) return;
    const target = document.elementFromPoint(x, y)?.closest('[data-output]');
    drag = { name, x, y, over: target?.getAttribute('data-output') ?? undefined };
    onDrag(drag);
  };
  const drop = (): void => {
    end();
    if (drag?.over !== undefined) onDrop(drag.over);
  };
  // The handle gets all further events, wherever the pointer moves.
  handle.setPointerCapture(down.pointerId);
  handle.addEventListener('pointermove', move, ended);
  handle.addEventListener('pointerup', drop, ended);
  handle.addEventListener('pointercancel', end, ended);
  addEventListener('keydown', ({ key }) => key === 'Escape' && end(), ended);
}
