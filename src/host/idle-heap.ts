// Gives memory back to the system that a thread no longer needs after a busy time. V8 does this by itself in
// some idle threads, but did not in ours (measured). The owner of the thread calls `shrink` now and then.

/** A heap that has grown by less is not worth a collection, which takes some 50 ms of CPU time. */
const GROWN_BYTES = 4 * 1024 * 1024;

export class IdleHeap {
  /** Bytes of this thread's heap, at first and after each collection that left little unused memory. */
  #settledBytes = process.memoryUsage().heapTotal;
  #isCollecting = false;

  /**
   * If the heap has grown, makes V8 collect what the thread no longer uses, in small steps within some 20 s.
   * A measurement of memory includes such a collection, and is the only way to get one in a single thread: a
   * flag of V8 would be set for all threads, and the inspector can hang when its session ends.
   */
  shrink(): void {
    if (this.#isCollecting || process.memoryUsage().heapTotal < this.#settledBytes + GROWN_BYTES) return;
    this.#isCollecting = true;
    collect()
      // The measurement is an experimental function of Node. Where it fails, the memory is not given back.
      .catch(() => undefined)
      .then(() => {
        // While the thread is busy V8 keeps its young generation large, so a later call must try again.
        if (freeBytes() < GROWN_BYTES) this.#settledBytes = process.memoryUsage().heapTotal;
        this.#isCollecting = false;
      });
  }
}

/**
 * A collection gives back only pages that V8 knew to be almost free before it began. So memory that the
 * first collection finds is given back by the second one.
 */
async function collect(): Promise<void> {
  const { measureMemory } = await import('node:vm');
  await measureMemory();
  if (freeBytes() >= GROWN_BYTES) await measureMemory();
}

/** Memory that V8 has taken from the system and does not use. */
function freeBytes(): number {
  const { heapTotal, heapUsed } = process.memoryUsage();
  return heapTotal - heapUsed;
}
