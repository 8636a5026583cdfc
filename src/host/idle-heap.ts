// Decides when a thread gives memory back to the system after a busy time. V8 does this by itself in some
// idle threads, but not in the threads of the daemon (docs/development/what-we-learnt.md, "Node and V8").

/** A garbage collection takes about 50 ms of CPU time. Less memory than this is not worth that time. */
const COLLECTION_MIN_BYTES = 4 * 1024 * 1024;

export class IdleHeap {
  /**
   * The growth of the heap is counted from this size. It is the size at the start, or after the last
   * collection that left little unused memory.
   */
  #settledBytes = process.memoryUsage().heapTotal;
  #isCollecting = false;

  /**
   * To be called now and then. If the heap has grown enough, V8 collects what the thread no longer uses, in
   * small steps within about 20 s.
   */
  shrink(): void {
    const grownBytes = process.memoryUsage().heapTotal - this.#settledBytes;
    if (this.#isCollecting || grownBytes < COLLECTION_MIN_BYTES) return;
    this.#isCollecting = true;
    collect()
      // `measureMemory` is an experimental function of Node. Where it fails, the memory is not given back.
      .catch(() => undefined)
      .then(() => {
        // Much of the heap may still be free, because V8 keeps the young generation of a busy thread large.
        // The settled size then stays as it was, so that a later call of `shrink` collects again.
        if (freeBytes() < COLLECTION_MIN_BYTES) this.#settledBytes = process.memoryUsage().heapTotal;
        this.#isCollecting = false;
      });
  }
}

/**
 * `measureMemory` is called because it makes V8 collect. There is no other way for a single thread: a flag
 * of V8 would be set for all threads, and the inspector can hang when its session ends.
 *
 * A collection gives back only pages that V8 knew to be almost free before the collection began. So memory
 * that the first collection finds is given back by the second one.
 */
async function collect(): Promise<void> {
  const { measureMemory } = await import('node:vm');
  await measureMemory();
  if (freeBytes() >= COLLECTION_MIN_BYTES) await measureMemory();
}

/** The memory that V8 has taken from the system and does not use. */
function freeBytes(): number {
  const { heapTotal, heapUsed } = process.memoryUsage();
  return heapTotal - heapUsed;
}
