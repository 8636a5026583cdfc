// Gives memory that a busy time has left behind back to the system. V8 does this by itself in some threads at
// rest, but did not in ours (measured). The owner of the thread calls `shrink` now and then.

/** A heap that has grown by less is not worth a collection, which takes some 50 ms of CPU time. */
const GROWN_BYTES = 4 * 1024 * 1024;

export class IdleHeap {
  /**
   * The size of this thread's heap at first, and whenever a collection has left little that is not in use.
   */
  #settledBytes = process.memoryUsage().heapTotal;
  #isCollecting = false;

  /**
   * If the heap has grown, has V8 collect what the thread no longer uses: in small steps, within some 20 s.
   * A measurement of memory includes such a collection, and is the only way to get one in a single thread: a
   * flag of V8 would be set for all threads, and the inspector can hang when its session ends.
   */
  shrink(): void {
    if (this.#isCollecting || process.memoryUsage().heapTotal < this.#settledBytes + GROWN_BYTES) return;
    this.#isCollecting = true;
    collect()
      // The measurement is an experiment of Node's. Where it fails, the memory is not given back.
      .catch(() => undefined)
      .then(() => {
        // While the thread is busy V8 keeps its young generation large, so a later call must try again.
        if (freeBytes() < GROWN_BYTES) this.#settledBytes = process.memoryUsage().heapTotal;
        this.#isCollecting = false;
      });
  }
}

/**
 * A collection empties the pages that V8 knew to be almost free before it, so only the second one gives back
 * what the first has found.
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
