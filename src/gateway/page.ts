// A JSON text that is ready to be sent: its bytes, its entity tag and the time of its last change. Pure.

import type { HeaderPair, Reply } from './reply.js';

/** What a GET answers with until the next change; made once, so that polling costs no more than sending (measured). */
export interface Page {
  /** Strong: equal tags mean equal bytes. */
  readonly etag: string;
  /** The whole text, 200. */
  readonly whole: Reply;
  /** For a client that has it already, 304. */
  readonly unchanged: Reply;
}

/** Clients may keep answers, but ask each time whether they still hold. */
const REVALIDATE: HeaderPair = ['Cache-Control', 'no-cache'];

/** Makes pages with tags that no other page of this process, and no earlier process, has had. */
export class PageMaker {
  readonly #boot: string;
  #revision = 0;

  /** `boot` is different for each start of the process, and plain enough to stand in a quoted tag. */
  constructor(boot: string) {
    this.#boot = boot;
  }

  /** `changedAt` is milliseconds since the epoch. */
  make(text: string, changedAt: number): Page {
    this.#revision += 1;
    const etag = `"${this.#boot}-${this.#revision}"`;
    const validators: readonly HeaderPair[] = [
      ['ETag', etag],
      ['X-Cache-Updated-At', new Date(changedAt).toISOString()],
      REVALIDATE,
    ];
    const whole: Reply = {
      status: 200,
      headers: [['Content-Type', 'application/json'], ...validators],
      body: Buffer.from(text),
    };
    return { etag, whole, unchanged: { status: 304, headers: validators } };
  }
}

/** The page of a text that is asked for anew each time: the same page as long as the text stays the same. */
export class RememberedPage {
  readonly #maker: PageMaker;
  #text: string | undefined;
  #page: Page | undefined;

  constructor(maker: PageMaker) {
    this.#maker = maker;
  }

  /** `date` is milliseconds since the epoch. */
  of(text: string, date: number): Page {
    if (this.#page !== undefined && this.#text === text) return this.#page;
    this.#text = text;
    this.#page = this.#maker.make(text, date);
    return this.#page;
  }
}

/** The answer to a GET. `ifNoneMatch` is the header's text, '' when absent. */
export function pageReply(page: Page, ifNoneMatch: string): Reply {
  return ifNoneMatch !== '' && isMatch(ifNoneMatch, page.etag) ? page.unchanged : page.whole;
}

/**
 * Whether an `If-None-Match` names this tag. Weak comparison (RFC 9110, section 13.1.2): the prefix `W/` does not matter,
 * since a cache in between may have added it.
 */
export function isMatch(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  const tags = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => tag.replace(/^W\//, '') === etag);
}
