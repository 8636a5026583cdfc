// Draws the streams of sound, each as a row. A menu or a drag sets a stream's output.

import type { JSX } from 'preact';
import { useContext, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClientRecord, NodeState } from '../client/client.js';
import { Choice, type Option, Toggle } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { Empty, ForeignText, memoized, PageDrawQueue, useGrowing, useRedraw } from './parts.js';
import { playerStreams } from './transport.js';
import { VolumeSlider } from './volume-slider.js';

const NEW_ROWS_PER_FRAME = 2;
const REDRAWN_ROWS_PER_FRAME = 4;
/**
 * Rows beyond this number are behind a button, so that on a phone the sections below are not far away. If
 * only one row is beyond it, that row is drawn instead of the button.
 */
const FIRST_ROWS = 8;

interface StreamsProps extends StreamsState, Pick<NodeState, 'clients' | 'players'> {
  /** A state and its setter. The state is true if the rows behind the button are drawn. */
  readonly streamsFolding: readonly [isUnfolded: boolean, setUnfolded: (isUnfolded: boolean) => void];
}

/** Draws the streams that no player plays. A player's own streams are drawn with the player. */
export function Streams({
  clients,
  players,
  streamsFolding: [isUnfolded, setUnfolded],
  ...state
}: StreamsProps) {
  const streamsOfPlayers = new Set([...players.values()].flatMap((player) => playerStreams(player, clients)));
  const otherStreams = [...clients.values()]
    .filter((stream) => !streamsOfPlayers.has(stream))
    .sort((a, b) => a.id - b.id);
  const firstCount = otherStreams.length > FIRST_ROWS + 1 ? FIRST_ROWS : otherStreams.length;
  const drawnCount = useGrowing(isUnfolded ? otherStreams.length : firstCount, NEW_ROWS_PER_FRAME);
  const streams = usePacedStreams(otherStreams.slice(0, drawnCount));
  if (otherStreams.length === 0) return <Empty>{translate('noStreams')}</Empty>;
  const hasButton = firstCount < otherStreams.length && drawnCount >= firstCount;
  return (
    <StreamRows streams={streams} {...state} buttonAt={firstCount}>
      {hasButton ? (
        <li key="fold" class="fold">
          <Button isOpen={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
            {translate('moreStreams', { count: otherStreams.length - firstCount })}
          </Button>
        </li>
      ) : null}
    </StreamRows>
  );
}

type StreamsState = Pick<NodeState, 'outputs' | 'server'>;

interface StreamRowsProps extends StreamsState {
  readonly streams: readonly ClientRecord[];
  /** The button is drawn before the row with this index. */
  readonly buttonAt?: number;
  /** The list item with the button. */
  readonly children?: JSX.Element | null;
}

export function StreamRows({ streams, outputs, server, buttonAt = 0, children = null }: StreamRowsProps) {
  const newOptions = [...outputs.values()].map((output) => ({ value: output.name, text: output.label }));
  // While the options have the same content, they stay the same object. A new object would redraw each row.
  const options = useMemo(() => newOptions, [JSON.stringify(newOptions)]);
  const [drag, setDrag] = useState<StreamDrag>();
  // When the dragged stream ends, its handle is removed, and sends no event that ends the drag. So the drag
  // also counts as ended if `streams` lacks the stream.
  const dragged = streams.some(({ id }) => id === drag?.id) ? drag : undefined;
  const rows = streams.map((stream) => (
    <StreamRow
      key={stream.id}
      stream={stream}
      machine={stream.host === server?.hostname ? undefined : stream.host}
      options={options}
      onDrag={setDrag}
    />
  ));
  // The button is in one list with the rows. Otherwise a row that moves past the button would be made anew.
  if (children !== null) rows.splice(buttonAt, 0, children);
  return (
    <>
      <ul class="card rows">{rows}</ul>
      {dragged === undefined ? null : <DropTray {...dragged} options={options} />}
    </>
  );
}

/**
 * Returns the streams to draw now. Each frame draws only some changes, because people notice a long task.
 */
function usePacedStreams(streams: readonly ClientRecord[]): readonly ClientRecord[] {
  const queue = useContext(PageDrawQueue);
  const redraw = useRedraw();
  /**
   * The displayed records by id. The newest version of a changed record goes to the end of the map, so that
   * the next frame begins with the records that are still outdated.
   */
  const { current: displayed } = useRef(new Map<number, ClientRecord>());
  const latest = new Map(streams.map((stream) => [stream.id, stream]));
  // A changed record is deleted here, and its latest version is added below. If too many records have
  // changed, the remaining ones wait for the next frame.
  let changedCount = 0;
  for (const [id, displayedStream] of [...displayed]) {
    const latestStream = latest.get(id);
    if (latestStream === displayedStream) continue;
    const isRemoved = latestStream === undefined;
    // A stream that has ended does not count, because the page removes its row at once.
    if (!isRemoved) changedCount += 1;
    if (changedCount <= REDRAWN_ROWS_PER_FRAME) displayed.delete(id);
  }
  for (const [id, latestStream] of latest) if (!displayed.has(id)) displayed.set(id, latestStream);
  const isBehind = changedCount > REDRAWN_ROWS_PER_FRAME;
  useLayoutEffect(() => (isBehind ? queue.add(redraw, 'last') : undefined));
  return streams.map((stream) => displayed.get(stream.id) ?? stream);
}

/** The node adds ` #ID` to the name of a stream if another stream has the same name. */
function nameWithoutId({ id, name }: ClientRecord): string {
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
  const name = nameWithoutId(stream);
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
            onPointerDown={(event) => dragStream(event, { id, name, onDrag, onDrop })}
          >
            <Icon name="drag" />
          </button>
        </IfMayChange>
        <div class="grow">
          <ForeignText class="strong">{name}</ForeignText>
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

/** Draws all outputs at the window's foot, so that a drag reaches them however far the page is scrolled. */
function DropTray({ name, x, y, outputUnder, options }: StreamDrag & Pick<RowProps, 'options'>) {
  return (
    <div class="tray" aria-hidden="true">
      <p class="quiet">{translate('dropHere')}</p>
      <div class="tray-outputs">
        {options.map(({ value, text }) => (
          <div key={value} class="tray-output" data-output={value} data-over={value === outputUnder}>
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
  readonly id: number;
  readonly name: string;
  /** `x` and `y` are the pointer's place in the window, in pixels. */
  readonly x: number;
  readonly y: number;
  /** The name of the output under the pointer. */
  readonly outputUnder: string | undefined;
}

type DragOptions = Pick<RowProps, 'onDrag'> &
  Pick<StreamDrag, 'id' | 'name'> &
  Readonly<{ onDrop: (output: string) => void }>;

/** A drag begins after this movement. An unsteady hand moves less. */
const DRAG_BEGIN_PX = 6;

/** Follows a pointer from its `pointerdown` on a stream's handle to the end of the drag. */
function dragStream(down: PointerEvent, { id, name, onDrag, onDrop }: DragOptions): void {
  const handle = down.currentTarget;
  // Browsers send pointer events to a disabled button, too.
  if (!(handle instanceof HTMLElement) || down.button !== 0 || handle.matches(':disabled')) return;
  // The listeners take `ended` as their options, because it has a `signal`.
  const ended = new AbortController();
  let drag: StreamDrag | undefined;
  const end = (): void => {
    ended.abort();
    onDrag(undefined);
  };
  const move = ({ clientX: x, clientY: y }: PointerEvent): void => {
    const distancePx = Math.hypot(x - down.clientX, y - down.clientY);
    if (drag === undefined && distancePx <= DRAG_BEGIN_PX) return;
    const target = document.elementFromPoint(x, y)?.closest('[data-output]');
    const outputUnder = target?.getAttribute('data-output') ?? undefined;
    drag = { id, name, x, y, outputUnder };
    onDrag(drag);
  };
  const drop = (): void => {
    end();
    if (drag?.outputUnder !== undefined) onDrop(drag.outputUnder);
  };
  // From here on, the handle gets the pointer's events wherever the pointer moves.
  handle.setPointerCapture(down.pointerId);
  handle.addEventListener('pointermove', move, ended);
  handle.addEventListener('pointerup', drop, ended);
  handle.addEventListener('pointercancel', end, ended);
  const onKey = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape') end();
  };
  addEventListener('keydown', onKey, ended);
}
