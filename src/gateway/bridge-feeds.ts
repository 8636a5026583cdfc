// What the bridges are told: a snapshot first, then what changes, as fast as each takes it in. What waits for a slow one is the newest
// word on each record and every action, within a bound. It parses no text and knows no thread. Pure.

import {
  BACKENDS,
  type BackendHealth,
  BRIDGES,
  type Bridge,
  type ChildName,
} from '../protocol/actor/backends.js';
import { COLLECTIONS, GAUGES } from '../protocol/actor/collections.js';
import type {
  Bridges,
  Change,
  HEARD,
  Notice,
  NoticeBatch,
  ServedNotice,
} from '../protocol/actor/messages.js';
import { ENTRY_OVERHEAD_BYTES, QUEUE_BYTES_MAX } from './events/queue.js';
import type { Mirror } from './mirror.js';

export interface BridgeFeedParts {
  readonly bridges: Bridges;
  readonly heard: typeof HEARD;
  readonly mirror: Pick<Mirror, 'records' | 'allHealth'>;
  /** Where HTTP is served now. */
  readonly served: () => Omit<ServedNotice, 'kind'>;
}

/** To be told of everything when the mirror knows it. A bridge that has never pulled costs nothing. */
export class BridgeFeeds {
  readonly #parts: BridgeFeedParts;
  readonly #feeds = new Map<ChildName, Feed>();

  constructor(parts: BridgeFeedParts) {
    this.#parts = parts;
  }

  changed(changes: readonly Change[]): void {
    this.#add(changes);
  }

  health(child: ChildName, health: BackendHealth): void {
    const backend = BACKENDS.find((name) => name === child);
    if (backend !== undefined && health.state !== 'up') this.#add([{ kind: 'forget', backend }]);
    this.#add([{ kind: 'health', child, health }]);
  }

  served(): void {
    this.#add([this.#served()]);
  }

  /** The last word: what waits is told whether it was pulled or not, as after it a bridge is only told to stop. */
  end(): void {
    for (const feed of this.#feeds.values()) feed.end();
  }

  /** A child that is no bridge is not listened to. */
  pulled(child: ChildName, isFirst: boolean): void {
    const bridge = BRIDGES.find((name) => name === child);
    if (bridge === undefined) return;
    const feed = this.#feeds.get(bridge) ?? this.#begin(bridge);
    feed.pulled(isFirst);
  }

  #begin(bridge: Bridge): Feed {
    const feed = new Feed({
      hears: this.#parts.heard[bridge],
      whole: () => this.#whole(),
      tell: (batch) => this.#parts.bridges.tell(bridge, batch),
    });
    this.#feeds.set(bridge, feed);
    return feed;
  }

  #add(notices: readonly Notice[]): void {
    for (const feed of this.#feeds.values()) feed.add(notices);
  }

  #whole(): readonly Notice[] {
    const { mirror } = this.#parts;
    const healths = [...mirror.allHealth()].map(
      ([child, health]): Notice => ({ kind: 'health', child, health }),
    );
    return [this.#served(), ...healths, ...mirror.records()];
  }

  #served(): ServedNotice {
    return { kind: 'served', ...this.#parts.served() };
  }
}

interface FeedOptions {
  readonly hears: readonly Notice['kind'][];
  /** All that there is to be told now. */
  readonly whole: () => readonly Notice[];
  readonly tell: (batch: NoticeBatch) => void;
}

/** Of one bridge. */
class Feed {
  readonly #options: FeedOptions;
  /** By what it is about, in the order in which it happened. */
  readonly #waiting = new Map<string, Notice>();
  #bytes = 0;
  #actions = 0;
  /** What waits would be more than may, or the thread is new. */
  #owesWhole = false;
  #isReady = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  pulled(isFirst: boolean): void {
    this.#isReady = true;
    if (isFirst) this.#tellWholeNext();
    this.#flush();
  }

  end(): void {
    this.#isReady = true;
    this.#flush();
  }

  add(notices: readonly Notice[]): void {
    for (const notice of notices) {
      // All of it will be in the whole.
      if (this.#owesWhole) break;
      if (this.#options.hears.includes(notice.kind) && !isReading(notice)) this.#put(notice);
    }
    this.#flush();
  }

  #put(notice: Notice): void {
    if (notice.kind === 'forget') this.#dropRecordsOf(notice.backend);
    const key = this.#keyOf(notice);
    this.#remove(key);
    this.#waiting.set(key, notice);
    this.#bytes += sizeOf(notice);
    if (this.#bytes > QUEUE_BYTES_MAX) this.#tellWholeNext();
  }

  #flush(): void {
    if (!this.#isReady) return;
    const isWhole = this.#owesWhole;
    if (!isWhole && this.#waiting.size === 0) return;
    const { hears, whole, tell } = this.#options;
    const notices = isWhole
      ? whole().filter(({ kind }) => hears.includes(kind))
      : [...this.#waiting.values()];
    this.#clear();
    this.#owesWhole = false;
    this.#isReady = false;
    tell({ isWhole, notices });
  }

  #tellWholeNext(): void {
    this.#clear();
    this.#owesWhole = true;
  }

  #clear(): void {
    this.#waiting.clear();
    this.#bytes = 0;
  }

  #remove(key: string): void {
    const notice = this.#waiting.get(key);
    if (notice === undefined) return;
    this.#waiting.delete(key);
    this.#bytes -= sizeOf(notice);
  }

  #dropRecordsOf(backend: string): void {
    for (const [key, notice] of this.#waiting) {
      if ('collection' in notice && COLLECTIONS[notice.collection].backend === backend) this.#remove(key);
    }
  }

  #keyOf(notice: Notice): string {
    switch (notice.kind) {
      case 'put':
      case 'drop':
        return `record/${notice.collection}/${notice.key}`;
      case 'event':
        this.#actions += 1;
        return `action/${this.#actions}`;
      case 'forget':
        return `forget/${notice.backend}`;
      case 'health':
        return `health/${notice.child}`;
      case 'served':
        return 'served';
    }
  }
}

/** Of a gauge: nobody outside streams is told of those. */
function isReading(notice: Notice): boolean {
  return notice.kind === 'event' && notice.type in GAUGES;
}

/** As in the queue of a stream. */
function sizeOf(notice: Notice): number {
  return ('json' in notice ? Buffer.byteLength(notice.json) : 0) + ENTRY_OVERHEAD_BYTES;
}
