// Dragging a stream to an output, by finger, pen or mouse. It knows where the hand is and over which output; what a drop does is given.

import { useRef } from 'preact/hooks';

export interface StreamDrag {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** Name of the output under the hand. */
  readonly over: string | undefined;
}

interface DragOptions {
  readonly name: string;
  /** Undefined: it has ended. */
  readonly onDrag: (drag: StreamDrag | undefined) => void;
  readonly onDrop: (output: string) => void;
}

/** Pixels; less is a hand that trembles. */
const BEGINS_AFTER = 6;

function outputAt(x: number, y: number): string | undefined {
  const target = document.elementFromPoint(x, y)?.closest('[data-output]');
  return target instanceof HTMLElement ? target.dataset['output'] : undefined;
}

/** What the handle's `onPointerDown` shall do. */
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
    // All that follows comes to the handle, wherever the hand goes.
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
