// Gives memory that a storm has left behind back to the system: V8 does so by itself in some threads at rest,
// and in ours it did not (measured). It is asked now and then by whoever owns the thread, whose work it does
// not know.

/** A heap that has grown by less is not worth a collection, which takes some 50 ms of CPU time. */
const GROWN_BYTES = 4 * 1024 * 1024;

export class IdleHeap {
  /**
   * The size of this thread's heap at first, and whenever a collection has left little that is not in use.
   */
  #settledBytes = process.memoryUsage().heapTotal;
  #isCollecting = false;

  /**
   * Has V8 collect what the thread no longer uses, beside its work and within some 20 s, if the heap has
   * grown. Measuring memory is the only way to ask for that in a thread: a flag of V8 would be set for all
   * threads, and the inspector can hang when its session ends.
   */
  shrink(): void {
    if (this.#isCollecting || process.memoryUsage().heapTotal < this.#settledBytes + GROWN_BYTES) return;
    this.#isCollecting = true;
    collect()
      // It is an experiment of Node's. Without it memory is kept, as V8 does by itself.
      .catch(() => undefined)
      .then(() => {
        // While the thread is busy V8 keeps its young generation large: then a later call tries again.
        if (freeBytes() < GROWN_BYTES) this.#settledBytes = process.memoryUsage().heapTotal;
        this.#isCollecting = false;
      });
  }
}

/**
 * V8 empties pages that it knew to be almost free when it began, so the second collection gives back what the
 * first has found.
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
