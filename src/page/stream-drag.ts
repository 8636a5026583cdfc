// Dragging a stream to an output, by finger, pen or mouse. It finds the output under the pointer; the caller decides what a drop does.

import { useRef } from 'preact/hooks';

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

function outputAt(x: number, y: number): string | undefined {
  const target = document.elementFromPoint(x, y)?.closest('[data-output]');
  return target instanceof HTMLElement ? target.dataset['output'] : undefined;
}

export function useStreamDrag({ name, onDrag, onDrop }: DragOptions): (event: PointerEvent) => void {
  const drop = useRef(onDrop);
  drop.current = onDrop;
  return (down) => {
    if (!(down.currentTarget instanceof HTMLElement) || down.button !== 0) return;
    const handle = down.currentTarget;
    const ended = new AbortController();
    const { signal } = ended;
    let isDragging = false;
    const end = (): void => {
      ended.abort();
      onDrag(undefined);
    };
    // The handle gets all further events, wherever the pointer moves.
    handle.setPointerCapture(down.pointerId);
    handle.addEventListener(
      'pointermove',
      ({ clientX: x, clientY: y }) => {
        isDragging ||= Math.hypot(x - down.clientX, y - down.clientY) > BEGINS_AFTER;
        if (isDragging) onDrag({ name, x, y, over: outputAt(x, y) });
      },
      { signal },
    );
    handle.addEventListener(
      'pointerup',
      ({ clientX, clientY }) => {
        const output = isDragging ? outputAt(clientX, clientY) : undefined;
        end();
        if (output !== undefined) drop.current(output);
      },
      { signal },
    );
    handle.addEventListener('pointercancel', end, { signal });
    addEventListener('keydown', ({ key }) => key === 'Escape' && end(), { signal });
  };
}
