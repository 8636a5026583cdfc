// Draws the streams, each as a row with its volume, its mute and its output, which is chosen in a menu or by
// dragging. Most of many rows are behind a button, so that on a phone the sections below are not far away.

import type { JSX } from 'preact';
import { useContext, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClientRecord, NodeState } from '../client/client.js';
import { Choice, type Option, Toggle } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { Empty, ForeignLine, memoized, PageDrawQueue, useGrowing, useRedraw } from './parts.js';
import { playerStreams } from './transport.js';
import { VolumeSlider } from './volume-slider.js';

/** Rows that are added per frame. */
const ROWS_AT_ONCE = 2;
/** Rows that are drawn again per frame. */
const CHANGES_AT_ONCE = 4;
/** Rows before the button. If there is only one row more, it is drawn in place of the button. */
const FIRST_ROWS = 8;

interface StreamsProps extends StreamsState, Pick<NodeState, 'clients' | 'players'> {
  /** State and setter: the state is true if the streams behind the button are drawn. */
  readonly streamsFolding: readonly [isUnfolded: boolean, setUnfolded: (isUnfolded: boolean) => void];
}

/** Draws the streams that no player plays, because the streams of a player are drawn with the player. */
export function Streams({
  clients,
  players,
  streamsFolding: [isUnfolded, setUnfolded],
  ...state
}: StreamsProps) {
  const ofPlayers = new Set([...players.values()].flatMap((player) => playerStreams(player, clients)));
  const others = [...clients.values()].filter((stream) => !ofPlayers.has(stream)).sort((a, b) => a.id - b.id);
  const firstCount = others.length > FIRST_ROWS + 1 ? FIRST_ROWS : others.length;
  const drawn = useGrowing(isUnfolded ? others.length : firstCount, ROWS_AT_ONCE);
  const streams = usePaced(others.slice(0, drawn));
  if (others.length === 0) return <Empty>{translate('noStreams')}</Empty>;
  const hasButton = firstCount < others.length && drawn >= firstCount;
  return (
    <StreamRows streams={streams} {...state} buttonAt={firstCount}>
      {hasButton ? (
        <li key="fold" class="fold">
          <Button isOpen={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
            {translate('moreStreams', { count: others.length - firstCount })}
          </Button>
        </li>
      ) : null}
    </StreamRows>
  );
}

type StreamsState = Pick<NodeState, 'outputs' | 'server'>;

interface StreamRowsProps extends StreamsState {
  readonly streams: readonly ClientRecord[];
  /** The index of the row before which the children are drawn. */
  readonly buttonAt?: number;
  /** The list item with the button. */
  readonly children?: JSX.Element | null;
}

export function StreamRows({ streams, outputs, server, buttonAt = 0, children = null }: StreamRowsProps) {
  const newOptions = [...outputs.values()].map((output) => ({ value: output.name, text: output.label }));
  // The same object while its content is the same, so that no row is drawn again.
  const options = useMemo(() => newOptions, [JSON.stringify(newOptions)]);
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
  // The button is in one list with the rows, so that the rows around it are not made anew when it moves.
  if (children !== null) rows.splice(buttonAt, 0, children);
  return (
    <>
      <ul class="card rows">{rows}</ul>
      {drag === undefined ? null : <DropTray {...drag} options={options} />}
    </>
  );
}

/**
 * Returns the streams to draw now. If many streams have changed, each frame draws only some of the changes,
 * because all at once would be a task long enough to be noticed.
 */
function usePaced(streams: readonly ClientRecord[]): readonly ClientRecord[] {
  const queue = useContext(PageDrawQueue);
  const redraw = useRedraw();
  /**
   * The drawn records by id. A record that is drawn anew goes to the end of the map, so that the record that
   * has waited longest is first.
   */
  const { current: displayed } = useRef(new Map<number, ClientRecord>());
  const latest = new Map(streams.map((stream) => [stream.id, stream]));
  let changes = 0;
  for (const [id, drawnStream] of [...displayed]) {
    const stream = latest.get(id);
    if (stream === drawnStream) continue;
    if (stream !== undefined) changes += 1;
    if (changes <= CHANGES_AT_ONCE) displayed.delete(id);
  }
  for (const [id, stream] of latest) if (!displayed.has(id)) displayed.set(id, stream);
  const isBehind = changes > CHANGES_AT_ONCE;
  useLayoutEffect(() => (isBehind ? queue.add(redraw, 'last') : undefined));
  return streams.map((stream) => displayed.get(stream.id) ?? stream);
}

/** The stream's name without the number that the node adds to tell streams of the same name apart. */
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
  const moveTo = (desired: string): Promise<unknown> => node.moveClient(id, { output: desired });
  const report = useContext(Reporting);
  const onDrop = (desired: string) => report(translate('couldNotSet', { name: label }), moveTo(desired));
  return (
    <li class="stream" data-stream={id}>
      <div class="row">
        <IfMayChange>
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
        </IfMayChange>
        <div class="grow">
          <ForeignLine class="strong">{name}</ForeignLine>
          <p class="quiet clip">
            <bdi>{app}</bdi>
            {machine === undefined ? '' : ` · ${translate('fromMachine', { name: machine })}`}
            {corked ? ` · ${translate('paused')}` : ''}
          </p>
        </div>
        <Choice label={label} value={output} options={options} send={moveTo} />
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
            isDim={muted}
            send={(desired) => node.setClientVolume(id, { volume: desired })}
          />
        )}
      </div>
    </li>
  );
});

/**
 * Draws all outputs at the foot of the window, where the drag can reach them however far the page is
 * scrolled. The stream's name follows the pointer.
 */
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

/** A stream that is being dragged. */
interface StreamDrag {
  readonly name: string;
  /** The pointer's place in the window, in pixels. */
  readonly x: number;
  readonly y: number;
  /** The name of the output under the pointer. */
  readonly over: string | undefined;
}

type DragOptions = Pick<RowProps, 'onDrag'> & Readonly<{ name: string; onDrop: (output: string) => void }>;

/** A drag begins when the pointer has moved further than this, because an unsteady hand moves less. */
const DRAG_BEGIN_PX = 6;

/**
 * Follows a pointer from its `pointerdown` on a stream's handle until the drag ends, and finds the output
 * under the pointer.
 */
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
    if (drag === undefined && Math.hypot(x - down.clientX, y - down.clientY) <= DRAG_BEGIN_PX) return;
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
  const onKey = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape') end();
  };
  addEventListener('keydown', onKey, ended);
}
