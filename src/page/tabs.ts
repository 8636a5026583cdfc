// Decides which of this page's tabs and frames in a browser holds the event stream. The node serves the
// page over http, so this file uses nothing that browsers offer only to pages with https, such as locks.

/** A tab or a frame. Both members decide its rank (`ranksBefore`). */
interface Tab {
  readonly isHidden: boolean;
  /** The time of the tab's beginning, in milliseconds since the epoch. A random fraction makes it unique. */
  readonly since: number;
}

/**
 * - `claim`: the sender is the holder of the stream, or a candidate that becomes the holder if no tab
 *   objects. A tab of higher rank can object by a claim of its own.
 * - `left`: the sender goes away.
 * - `join`: the sender is a new follower, and needs the holder's whole state.
 * - `update`: the sender is the holder, and sends `data` to all followers.
 * - `request`: the sender asks the holder to call `onRequest`, for example to connect again.
 *
 * A candidate handles `join` and `request` like a holder, because other tabs may already follow it.
 */
type Message<U> =
  | { readonly kind: 'claim' | 'left' | 'join' | 'request'; readonly sender: Tab }
  | { readonly kind: 'update'; readonly sender: Tab; readonly data: U };

/** The part of a BroadcastChannel that this file uses. */
export interface Channel extends Pick<EventTarget, 'addEventListener'> {
  postMessage(data: unknown): void;
  close(): void;
}

export interface TabsOptions<U> {
  /**
   * Returns undefined if the browser refuses a channel, as it does to some frames. The tab then has a stream
   * of its own.
   */
  readonly openChannel: () => Channel | undefined;
  readonly isHidden: () => boolean;
  /** Called when this tab begins to hold the stream. */
  readonly onHold: () => void;
  /** Called at the holder when another tab takes over the stream, and when `leave` is called. */
  readonly onYield: () => void;
  /** Called at the holder, or at a candidate, when a new follower needs the whole state. */
  readonly onJoin: () => void;
  /** Called at the holder, or at a candidate, when a follower has called `request`. */
  readonly onRequest: () => void;
  /** Called at a follower when the holder has sent an update. */
  readonly onUpdate: (update: U) => void;
  /** The longest silence of a holder, in milliseconds. After this time a follower claims the stream. */
  readonly silenceMs: () => number;
}

/**
 * A tab of higher rank usually objects to a claim within this time. If it is busy and objects later, there
 * are two streams for a moment.
 */
const OBJECTION_MS = 100;

/**
 * This tab among the page's other tabs. The holder has the stream, and sends its updates to the followers. A
 * browser opens at most six connections to a node. If each tab had a stream, six tabs would use all these
 * connections, so a seventh tab and all commands would wait for ever.
 */
export class Tabs<U> {
  readonly #options: TabsOptions<U>;
  readonly #since = Date.now() + Math.random();
  #channel: Channel | undefined;
  #role: 'holder' | 'candidate' | 'follower' = 'follower';
  /** The tab that this tab follows, or has followed last. */
  #holder: Tab | undefined;
  /** Runs while a candidate waits for objections, and while a follower waits for a message of its holder. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: TabsOptions<U>) {
    this.#options = options;
  }

  /** Holds the stream at once, so that a single tab does not wait. A holder of higher rank then objects. */
  enter(): void {
    this.#channel = this.#options.openChannel();
    this.#channel?.addEventListener('message', (event) => {
      if ('data' in event) this.#receive(event.data as Message<U>);
    });
    this.#hold();
    this.#post('claim');
  }

  leave(): void {
    if (this.#role === 'holder') {
      this.#role = 'follower';
      this.#options.onYield();
    }
    clearTimeout(this.#timer);
    this.#post('left');
    this.#channel?.close();
    this.#channel = undefined;
  }

  /**
   * Call this when the tab has become visible or hidden. A visible follower claims the stream, and gets it if
   * the holder is hidden. A holder repeats its claim, so that the other tabs know its new rank. If the holder
   * is hidden now, a visible tab then objects, and takes the stream.
   */
  noteVisibility(): void {
    if (this.#role === 'holder' || !this.#options.isHidden()) this.#claim();
  }

  /** Sends an update to all followers. */
  publish(update: U): void {
    this.#channel?.postMessage({ kind: 'update', sender: this.#self, data: update });
  }

  /** Asks the holder to call its `onRequest`. */
  request(): void {
    this.#post('request');
  }

  get #self(): Tab {
    return { isHidden: this.#options.isHidden(), since: this.#since };
  }

  #post(kind: Exclude<Message<U>['kind'], 'update'>): void {
    this.#channel?.postMessage({ kind, sender: this.#self });
  }

  #hold(): void {
    clearTimeout(this.#timer);
    if (this.#role === 'holder') return;
    this.#role = 'holder';
    this.#options.onHold();
  }

  /** A candidate or a holder only repeats its claim, for example as an objection to another tab's claim. */
  #claim(): void {
    if (this.#role === 'follower') {
      this.#role = 'candidate';
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#hold(), OBJECTION_MS);
    }
    this.#post('claim');
  }

  #follow(holder: Tab): void {
    const roleBefore = this.#role;
    // Only a tab that already followed this holder is sure to have the holder's state.
    const lacksState = roleBefore !== 'follower' || holder.since !== this.#holder?.since;
    this.#role = 'follower';
    this.#holder = holder;
    clearTimeout(this.#timer);
    // A holder that has crashed does not send `left`.
    this.#timer = setTimeout(() => this.#claim(), this.#options.silenceMs());
    if (roleBefore === 'holder') this.#options.onYield();
    if (lacksState) this.#post('join');
  }

  #receive(message: Message<U>): void {
    const { kind, sender } = message;
    const isFollower = this.#role === 'follower';
    if (kind === 'claim') this.#onClaim(sender);
    else if (kind === 'update') this.#onUpdate(sender, message.data);
    else if (kind === 'left') this.#onLeft(sender);
    else if (kind === 'join' && !isFollower) this.#options.onJoin();
    else if (kind === 'request' && !isFollower) this.#options.onRequest();
  }

  #onClaim(sender: Tab): void {
    const isFollower = this.#role === 'follower';
    const isFromHolder = isFollower && sender.since === this.#holder?.since;
    if (ranksBefore(this.#self, sender)) {
      // A follower leaves the objection to its holder, unless the holder itself is the sender.
      if (!isFollower || isFromHolder) this.#claim();
      return;
    }
    const isBetterHolder = this.#holder === undefined || ranksBefore(sender, this.#holder);
    // The sender ranks before this tab, so a holder or candidate follows the sender. A follower does so only
    // if the sender is already its holder, or ranks before its holder.
    if (!isFollower || isFromHolder || isBetterHolder) this.#follow(sender);
  }

  #onUpdate(sender: Tab, update: U): void {
    // A visible tab takes the stream from a hidden holder. A holder or candidate objects to an update of
    // another holder if this tab outranks the other one.
    const isOnlySelfVisible = sender.isHidden && !this.#options.isHidden();
    const isSenderOutranked = this.#role !== 'follower' && ranksBefore(this.#self, sender);
    if (isOnlySelfVisible || isSenderOutranked) {
      this.#claim();
      return;
    }
    this.#follow(sender);
    this.#options.onUpdate(update);
  }

  #onLeft(sender: Tab): void {
    if (this.#role === 'follower' && sender.since === this.#holder?.since) this.#claim();
  }
}

/**
 * A browser may stop a hidden tab, so a visible tab ranks before it. If both tabs are visible, or both are
 * hidden, the older tab ranks before the other one.
 */
function ranksBefore(one: Tab, other: Tab): boolean {
  if (one.isHidden !== other.isHidden) return other.isHidden;
  return one.since < other.since;
}
