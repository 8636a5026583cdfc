// Finds out which sources other programs capture, because an input is measured only while another program
// captures it. The server's captures (source outputs) are read again whenever one has come, gone or changed.
// meters.ts opens the link to the server. If a request gets no answer, this file closes the link, and
// meters.ts opens another one later.

import { CAPTURE_MASK, type SubscriptionEvent } from '../../protocol/pulse/subscription.js';
import type { Link } from '../dial.js';
import { sourcesCapturedBy } from './levels.js';

/** The part of a link that is used here. */
type CaptureLink = Pick<Link, 'request' | 'close'>;

export class Captures {
  readonly #onRead: () => void;
  #link: CaptureLink | undefined;
  #isReading = false;
  /** True if a capture has changed since the present read began. */
  #mustReadAgain = false;
  /** The indices of the sources that other programs capture; empty until the first read. */
  capturedSources: ReadonlySet<number> = new Set();

  /** `onRead` is called after each read that succeeds. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  /**
   * Subscribes before it reads. In the other order, a change between reading and subscription would be
   * missed. If the server refuses the subscription, nothing is read, and no source counts as captured. After
   * a failure of another kind, the link is closed. The reason `stopped` has no meaning here, because
   * meters.ts reads no reason.
   *
   * meters.ts calls this method again and again. Only the first call with each link has an effect.
   */
  begin(link: CaptureLink): void {
    if (this.#link === link) return;
    this.#link = link;
    link.request('SUBSCRIBE', { mask: CAPTURE_MASK }, (result) => {
      const isRefused = !result.ok && result.error.kind === 'server';
      if (result.ok) this.#read();
      else if (!isRefused) link.close({ kind: 'stopped' });
    });
  }

  /** To be called when the link has ended, or is being closed. */
  end(): void {
    this.#link = undefined;
    this.#isReading = false;
    this.#mustReadAgain = false;
    this.capturedSources = new Set();
  }

  onEvent({ facility }: SubscriptionEvent): void {
    if (facility === 'source-output') this.#read();
  }

  #read(): void {
    const link = this.#link;
    if (link === undefined) return;
    if (this.#isReading) {
      this.#mustReadAgain = true;
      return;
    }
    this.#isReading = true;
    this.#mustReadAgain = false;
    link.request('GET_SOURCE_OUTPUT_INFO_LIST', {}, (result) => {
      if (this.#link !== link) return;
      this.#isReading = false;
      // A refusal leaves `capturedSources` as it is.
      const isRefused = !result.ok && result.error.kind === 'server';
      if (!result.ok && !isRefused) return link.close({ kind: 'stopped' });
      if (result.ok) this.capturedSources = sourcesCapturedBy(result.value);
      if (this.#mustReadAgain) this.#read();
      if (result.ok) this.#onRead();
    });
  }
}
