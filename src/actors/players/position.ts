// The position of one player between its readings: reckons it, counts its jumps, and decides when it is to be
// read again (docs/players.md, "Positions"). It reads nothing itself.

import { type Clock, Timers } from '../../host/clock.js';
import {
  type Anchor,
  anchorAt,
  hasClockJumped,
  isJump,
  type Moment,
  motionOf,
  NOTHING_KNOWN,
  type PlayerFacts,
  playbackStatus,
  reckoned,
} from './facts.js';
import { isSameTrack } from './metadata.js';

/**
 * The position is read again so long after playing began. An idle output may take 2 s of sound at once, and
 * the player's position is ahead by as much (what-we-learnt.md, "Players").
 */
const SETTLED_MS = 3_000;
/**
 * The position is read so long after the reckoned end of a track, because players report positions late, and
 * some in whole seconds.
 */
const END_SLACK_MS = 1_000;
/** The longest time of a timer. The end of a longer track is not waited for. */
const TIMER_MAX_MS = 0x7fff_ffff;

export class ReckonedPosition {
  readonly #clock: Clock;
  readonly #readAgain: () => void;
  readonly #timers: Timers<'settled' | 'end'>;
  #motion = motionOf(NOTHING_KNOWN);
  #anchor: Anchor;
  /** Counts changes of the position that clients cannot reckon. */
  #jumps = 0;
  /** True if the reckoned position is unreliable until the next reading. */
  #isUnreliable = true;
  /** True if the position was read at the reckoned end and the player has reported no change since. */
  #isEndRead = false;

  constructor(clock: Clock, readAgain: () => void) {
    this.#clock = clock;
    this.#readAgain = readAgain;
    this.#timers = new Timers(clock);
    this.#anchor = { positionUs: undefined, at: this.#now() };
  }

  get jumps(): number {
    return this.#jumps;
  }

  get isUnreliable(): boolean {
    return this.#isUnreliable;
  }

  /**
   * The anchor for a record. It is a new one after the clock was set, because clients reckon from its date.
   */
  anchor(): Anchor {
    const now = this.#now();
    if (hasClockJumped(this.#anchor, now)) this.#anchor = anchorAt(this.#anchor, this.#motion, now);
    return this.#anchor;
  }

  /** Microseconds, and the date in milliseconds since the epoch; undefined if the player has no position. */
  current(): { readonly positionUs: number; readonly date: number } | undefined {
    const now = this.#now();
    const positionUs = reckoned(this.#anchor, this.#motion, now);
    return positionUs === undefined ? undefined : { positionUs, date: now.date };
  }

  /** The player has announced that it jumped to this position. */
  jumped(positionUs: number | undefined): void {
    this.#isEndRead = false;
    this.#jumpTo(positionUs);
  }

  /** Facts have changed; the position is reckoned by the new ones until the next reading. */
  factsChanged(before: PlayerFacts, after: PlayerFacts): void {
    const was = this.#motion;
    const is = motionOf(after);
    this.#motion = is;
    const hasOtherTrack = !isSameTrack(before.metadata, after.metadata);
    const hasOtherMotion = was.rate !== is.rate || playbackStatus(before) !== playbackStatus(after);
    if (was.rate !== is.rate) this.#anchor = anchorAt(this.#anchor, was, this.#now());
    if (hasOtherTrack)
      this.#anchor = { positionUs: this.#anchor.positionUs === undefined ? undefined : 0, at: this.#now() };
    if (hasOtherTrack || hasOtherMotion) {
      this.#isUnreliable = true;
      this.#isEndRead = false;
    }
    if (hasOtherTrack || hasOtherMotion || was.lengthUs !== is.lengthUs) this.#planReadingAtEnd();
  }

  /** Applies a reading. If it matches the reckoned position, clients need no event. */
  applyReading(positionUs: number | undefined): void {
    const now = this.#now();
    if (!this.#isUnreliable && !isJump(this.#anchor, this.#motion, positionUs, now)) return;
    const isPlaying = this.#motion.rate !== 0;
    if (this.#isUnreliable && isPlaying) this.#timers.set('settled', SETTLED_MS, this.#readAgain);
    this.#isUnreliable = false;
    this.#jumpTo(positionUs);
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  #jumpTo(positionUs: number | undefined): void {
    this.#anchor = { positionUs, at: this.#now() };
    this.#jumps += 1;
    this.#planReadingAtEnd();
  }

  /**
   * Plans a reading at the end of the track: a player that repeats the track may announce nothing, such as
   * Mopidy, and MPD with mpDris2. After that reading the next is planned only once the position is in the
   * first half of the track, so that a player that stands still near the end is not polled.
   */
  #planReadingAtEnd(): void {
    this.#timers.cancel('end');
    const { rate, lengthUs } = this.#motion;
    const { positionUs } = this.#anchor;
    if (rate <= 0 || lengthUs === undefined || positionUs === undefined || positionUs >= lengthUs) return;
    if (this.#isEndRead && positionUs > lengthUs / 2) return;
    this.#isEndRead = false;
    const elapsedMs = this.#clock.monotonic() - this.#anchor.at.monotonic;
    const waitMs = Math.max(0, (lengthUs - positionUs) / 1000 / rate - elapsedMs) + END_SLACK_MS;
    if (waitMs > TIMER_MAX_MS) return;
    this.#timers.set('end', waitMs, () => {
      this.#isEndRead = true;
      this.#readAgain();
    });
  }

  #now(): Moment {
    return { date: this.#clock.date(), monotonic: this.#clock.monotonic() };
  }
}
