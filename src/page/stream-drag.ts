// Dragging a stream to an output, by finger, pen or mouse. It finds the output under the pointer; the caller decides what a drop does.

export interface StreamDrag {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly over: string | undefined;
}

interface DragOptions {
  readonly name: string;
  /** Gets undefined when the drag has ended. */
  readonly onDrag: (drag: StreamDrag | undefined) => void;
  readonly onDrop: (output: string) => void;
}

/** Pixels; an unsteady hand moves less. */
const BEGINS_AFTER = 6;

/** Call this when a pointer goes down on the handle. */
export function dragStream(down: PointerEvent, { name, onDrag, onDrop }: DragOptions): void {
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
