// Decides when the position of one player must be read again, and when the position has jumped
// (docs/players.md, "Positions"). Reads nothing itself.

import { type Clock, Timers } from '../../host/clock.js';
import { motionOf, NOTHING_KNOWN, type PlayerFacts, playbackStatus } from './facts.js';
import { isSameTrack } from './metadata.js';
import { type Anchor, anchorAt, isJump, type Moment, reckonPosition, wasDateSet } from './reckoning.js';

/**
 * When a player has begun to play, or has changed its track or rate, its position is read, and once more
 * after this time. The first position may be 2 s ahead of the audible sound, because an output that was idle
 * takes up to 2 s of sound at once (what-we-learnt.md, "Players").
 */
const SETTLED_MS = 3_000;
/**
 * The position is read this long after the reckoned end of a track. Players report positions late, and some
 * only in whole seconds.
 */
const END_SLACK_MS = 1_000;
/** The longest time of Node's timers, 24.8 days. No reading is planned for the end of a longer track. */
const TIMER_MAX_MS = 0x7fff_ffff;

export class ReckonedPosition {
  readonly #clock: Clock;
  readonly #readAgain: () => void;
  readonly #timers: Timers<'settled' | 'end'>;
  #motion = motionOf(NOTHING_KNOWN);
  #anchor: Anchor;
  /** How often the position has changed in a way that clients cannot reckon. */
  #jumps = 0;
  /** True if the reckoned position may be wrong until the next reading. */
  #isUnreliable = true;
  /**
   * True if a reading at the track's reckoned end was requested. It becomes false when the player reports a
   * jump, another track, rate or status, or a position in the first half of the track.
   */
  #wasEndReadingRequested = false;
  /** The position of the last jump that the player has announced; undefined if it has announced no jump. */
  #announcedUs: number | undefined;
  /** The position in the last report: an announced jump, or a reading. Undefined before the first report. */
  #reportedUs: number | undefined;
  /**
   * True after a reading had another position than the report before it: the position has moved without an
   * announced jump. It never becomes false again.
   */
  #movesUnannounced = false;

  /** `readAgain` must cause a reading of the player, and then a call of `applyReading`. */
  constructor(clock: Clock, readAgain: () => void) {
    this.#clock = clock;
    this.#readAgain = readAgain;
    this.#timers = new Timers(clock);
    this.#anchor = { positionUs: undefined, moment: this.#now() };
  }

  get jumps(): number {
    return this.#jumps;
  }

  get isUnreliable(): boolean {
    return this.#isUnreliable;
  }

  /** Clients reckon from the anchor's date. If the node's date was set since then, there is a new anchor. */
  currentAnchor(): Anchor {
    const now = this.#now();
    if (wasDateSet(this.#anchor, now)) this.#anchor = anchorAt(this.#anchor, this.#motion, now);
    return this.#anchor;
  }

  /** Undefined if the player has no position. `date`: now, in milliseconds since the epoch. */
  currentPosition(): { readonly positionUs: number; readonly date: number } | undefined {
    const now = this.#now();
    const positionUs = reckonPosition(this.#anchor, this.#motion, now);
    return positionUs === undefined ? undefined : { positionUs, date: now.date };
  }

  /** To be called when the player has announced a jump to this position. */
  applyJump(positionUs: number | undefined): void {
    this.#wasEndReadingRequested = false;
    this.#announcedUs = positionUs;
    this.#reportedUs = positionUs;
    this.#jumpTo(positionUs);
  }

  /**
   * To be called when facts have changed. Until the next reading, the position is reckoned by the new facts.
   */
  applyFacts(before: PlayerFacts, after: PlayerFacts): void {
    const oldMotion = this.#motion;
    const newMotion = motionOf(after);
    this.#motion = newMotion;
    const hasOtherTrack = !isSameTrack(before.metadata, after.metadata);
    const hasOtherRate = oldMotion.rate !== newMotion.rate;
    const hasOtherStatus = playbackStatus(before) !== playbackStatus(after);
    const hasOtherLength = oldMotion.lengthUs !== newMotion.lengthUs;
    // Until now the player has moved at the old rate.
    if (hasOtherRate) this.#anchor = anchorAt(this.#anchor, oldMotion, this.#now());
    if (hasOtherTrack) this.#anchor = this.#anchorAtBeginning();
    const mayHaveJumped = hasOtherTrack || hasOtherRate || hasOtherStatus;
    if (mayHaveJumped) {
      this.#isUnreliable = true;
      this.#wasEndReadingRequested = false;
    }
    if (mayHaveJumped || hasOtherLength) this.#planReadingAtEnd();
  }

  /**
   * To be called with each position that was read. This position counts as a jump if it differs too much
   * from the reckoned position, or if the reckoned position was unreliable.
   *
   * A phone's player (mpris-proxy) repeats the position of its last announced jump at each reading, although
   * the track plays on. A player counts as such a player until its position moves without an announced jump.
   * While it plays, and the reckoned position is reliable, a repeated position is outdated, and no jump. The
   * reading at the track's end is an exception: the track may have begun again, and a player that reports
   * whole seconds may really be at the second of its last announced jump.
   */
  applyReading(positionUs: number | undefined): void {
    const now = this.#now();
    const isMoving = this.#motion.rate !== 0;
    if (this.#reportedUs !== undefined && positionUs !== this.#reportedUs) this.#movesUnannounced = true;
    this.#reportedUs = positionUs;
    const isRepeated = positionUs !== undefined && positionUs === this.#announcedUs;
    const isOutdated = isRepeated && isMoving && !this.#wasEndReadingRequested && !this.#movesUnannounced;
    const hasJumped = !isOutdated && isJump(this.#anchor, this.#motion, positionUs, now);
    if (!this.#isUnreliable && !hasJumped) return;
    if (this.#isUnreliable && isMoving) this.#timers.set('settled', SETTLED_MS, this.#readAgain);
    this.#isUnreliable = false;
    this.#jumpTo(positionUs);
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  /** If the player has reported no position so far, it reports none at the beginning of a track either. */
  #anchorAtBeginning(): Anchor {
    const hasPosition = this.#anchor.positionUs !== undefined;
    return { positionUs: hasPosition ? 0 : undefined, moment: this.#now() };
  }

  #jumpTo(positionUs: number | undefined): void {
    this.#anchor = { positionUs, moment: this.#now() };
    this.#jumps += 1;
    this.#planReadingAtEnd();
  }

  /**
   * Some players (Mopidy, and MPD with mpDris2) do not announce a jump when they repeat the track. So the
   * position is read after the track's reckoned end. Another such reading is planned only after the player
   * has reported a jump or a change, or if the position is in the first half of the track. Otherwise a player
   * that stands still near the end would be polled.
   */
  #planReadingAtEnd(): void {
    this.#timers.cancel('end');
    const { rate, lengthUs } = this.#motion;
    const { positionUs, moment } = this.#anchor;
    if (lengthUs === undefined || positionUs === undefined) return;
    const isMovingToEnd = rate > 0 && positionUs < lengthUs;
    const mayStandStill = this.#wasEndReadingRequested && positionUs > lengthUs / 2;
    if (!isMovingToEnd || mayStandStill) return;
    this.#wasEndReadingRequested = false;
    const fromAnchorToEndMs = (lengthUs - positionUs) / 1000 / rate;
    const sinceAnchorMs = this.#clock.monotonic() - moment.monotonic;
    const waitMs = Math.max(0, fromAnchorToEndMs - sinceAnchorMs) + END_SLACK_MS;
    if (waitMs > TIMER_MAX_MS) return;
    this.#timers.set('end', waitMs, () => {
      this.#wasEndReadingRequested = true;
      this.#readAgain();
    });
  }

  #now(): Moment {
    return { date: this.#clock.date(), monotonic: this.#clock.monotonic() };
  }
}
