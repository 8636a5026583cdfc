// Decides which of this page's tabs and frames in a browser holds the event stream. Browsers open six
// connections to a node, so with a stream for each the seventh tab would wait for ever, and every command of
// the others too. Visible tabs come before hidden ones, because browsers may stop those; among equals the
// oldest holds it. Needs nothing that browsers offer to pages with https only.

/**
 * A tab: whether it may hold the stream rather than another, and its identity, because no two begin at the
 * same time.
 */
interface Seat {
  readonly isHidden: boolean;
  /** Milliseconds since the epoch, with a random fraction. */
  readonly since: number;
}

/**
 * `claim`: this tab holds the stream, or will soon unless one before it claims it. `left`: it goes away.
 * `join`: it follows, and needs the whole state of the holder. `update`: the holder sends it to all that
 * follow. `request`: a follower sends it to the holder.
 */
type Message<W> =
  | { readonly kind: 'claim' | 'left' | 'join' | 'request'; readonly seat: Seat }
  | { readonly kind: 'update'; readonly seat: Seat; readonly data: W };

/** The part of a BroadcastChannel that is needed. */
export interface Channel extends Pick<EventTarget, 'addEventListener'> {
  postMessage(data: unknown): void;
  close(): void;
}

export interface TabsOptions<W> {
  /**
   * Undefined where the browser refuses one to the page, as to some frames: then the tab has a stream of its
   * own.
   */
  readonly openChannel: () => Channel | undefined;
  readonly isHidden: () => boolean;
  /** This tab holds the stream now. */
  readonly onHold: () => void;
  /** Another tab holds it now, or this one is being left. */
  readonly onYield: () => void;
  /** A follower needs all that this tab knows. */
  readonly onJoin: () => void;
  /** A follower wants what only the holder can do. */
  readonly onRequest: () => void;
  readonly onUpdate: (update: W) => void;
  /** The holder says something at least this often. */
  readonly silenceMs: () => number;
}

/**
 * Another tab's answer to a claim comes within this time, unless that tab is busy; then there are two streams
 * for a moment.
 */
const OBJECTION_MS = 100;

export class Tabs<W> {
  readonly #options: TabsOptions<W>;
  readonly #since = Date.now() + Math.random();
  #channel: Channel | undefined;
  #role: 'holder' | 'candidate' | 'follower' = 'follower';
  #holder: Seat | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: TabsOptions<W>) {
    this.#options = options;
  }

  /** Holds the stream at once, so that a page that is alone does not wait; an older tab objects. */
  enter(): void {
    this.#channel = this.#options.openChannel();
    this.#channel?.addEventListener('message', (event) => {
      if ('data' in event) this.#take(event.data as Message<W>);
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

  /** A follower that was hidden may have missed much. A holder that is hidden now may be replaced. */
  visibilityChanged(): void {
    if (this.#role === 'holder' || !this.#options.isHidden()) this.#claim();
  }

  /** To all that follow. */
  publish(update: W): void {
    this.#channel?.postMessage({ kind: 'update', seat: this.#seat, data: update });
  }

  /** To the holder. */
  request(): void {
    this.#post('request');
  }

  get #seat(): Seat {
    return { isHidden: this.#options.isHidden(), since: this.#since };
  }

  #post(kind: Exclude<Message<W>['kind'], 'update'>): void {
    this.#channel?.postMessage({ kind, seat: this.#seat });
  }

  #hold(): void {
    clearTimeout(this.#timer);
    if (this.#role === 'holder') return;
    this.#role = 'holder';
    this.#options.onHold();
  }

  #claim(): void {
    if (this.#role === 'follower') {
      this.#role = 'candidate';
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#hold(), OBJECTION_MS);
    }
    this.#post('claim');
  }

  #follow(holder: Seat): void {
    const before = this.#role;
    const isOther = before !== 'follower' || holder.since !== this.#holder?.since;
    this.#role = 'follower';
    this.#holder = holder;
    clearTimeout(this.#timer);
    // A tab that crashes says nothing.
    this.#timer = setTimeout(() => this.#claim(), this.#options.silenceMs());
    if (before === 'holder') this.#options.onYield();
    if (isOther) this.#post('join');
  }

  #take(message: Message<W>): void {
    const { kind, seat } = message;
    if (kind === 'claim') this.#takeClaim(seat);
    else if (kind === 'update') this.#takeUpdate(seat, message.data);
    else if (kind === 'left') this.#takeLeave(seat);
    else if (this.#role === 'follower') return;
    else if (kind === 'join') this.#options.onJoin();
    else this.#options.onRequest();
  }

  #takeClaim(seat: Seat): void {
    const isFollower = this.#role === 'follower';
    const isHolders = isFollower && seat.since === this.#holder?.since;
    if (isBefore(this.#seat, seat)) {
      if (!isFollower || isHolders) this.#claim();
      return;
    }
    if (!isFollower || isHolders || this.#holder === undefined || isBefore(seat, this.#holder))
      this.#follow(seat);
  }

  #takeUpdate(seat: Seat, update: W): void {
    const mustYield = seat.isHidden && !this.#options.isHidden();
    if (mustYield || (this.#role !== 'follower' && isBefore(this.#seat, seat))) {
      this.#claim();
      return;
    }
    this.#follow(seat);
    this.#options.onUpdate(update);
  }

  #takeLeave(seat: Seat): void {
    if (this.#role === 'follower' && seat.since === this.#holder?.since) this.#claim();
  }
}

function isBefore(one: Seat, other: Seat): boolean {
  if (one.isHidden !== other.isHidden) return other.isHidden;
  return one.since < other.since;
}
