// Removes two kinds of features from a page in Chromium. The first kind is missing in at least one browser of
// packaging/browsers.mjs, according to MDN's data. The second kind is missing in all pages that come by http
// from another machine. Chromium has it in the tests' pages, because they come from loopback.

import type { Page } from 'playwright-core';

const MISSING = [
  'AbortSignal.any AbortSignal.timeout Array.fromAsync Array.prototype.findLast Array.prototype.findLastIndex',
  'Array.prototype.toReversed Array.prototype.toSorted Array.prototype.toSpliced Array.prototype.with',
  'ArrayBuffer.prototype.resize ArrayBuffer.prototype.transfer Blob.prototype.bytes CSS.registerProperty Document.parseHTMLUnsafe',
  'Document.prototype.caretPositionFromPoint Document.prototype.moveBefore Document.prototype.startViewTransition',
  'Element.prototype.checkVisibility Element.prototype.computedStyleMap Element.prototype.getHTML',
  'Element.prototype.moveBefore Element.prototype.setHTMLUnsafe Error.captureStackTrace',
  'EventTarget.prototype.when Headers.prototype.getSetCookie HTMLDialogElement.prototype.requestClose',
  'HTMLElement.prototype.hidePopover HTMLElement.prototype.showPopover HTMLElement.prototype.togglePopover',
  'Intl.DurationFormat Intl.Segmenter Iterator JSON.rawJSON Map.groupBy Math.sumPrecise Object.groupBy',
  'Promise.try Promise.withResolvers ReadableStream.prototype.values Request.prototype.bytes Response.json',
  'Response.prototype.bytes RegExp.escape Set.prototype.difference Set.prototype.intersection',
  'Set.prototype.isDisjointFrom Set.prototype.isSubsetOf Set.prototype.isSupersetOf',
  'Set.prototype.symmetricDifference Set.prototype.union String.prototype.isWellFormed',
  'String.prototype.toWellFormed Uint8Array.fromHex URL.canParse URL.parse',
  'WeakMap.prototype.getOrInsert cookieStore fetchLater navigation requestIdleCallback scheduler',
  'Navigator.prototype.locks Navigator.prototype.serviceWorker Navigator.prototype.wakeLock',
  'Navigator.prototype.userAgentData Crypto.prototype.randomUUID Crypto.prototype.subtle',
].flatMap((line) => line.split(' '));

/**
 * Removes features from the documents that the page loads from now on: `MISSING`, `moreFeatures`, the
 * methods that all iterators share (such as `map`), newer methods of typed arrays, and `for await` over a
 * ReadableStream.
 */
export async function makeOlder(page: Page, moreFeatures: readonly string[] = []): Promise<void> {
  await page.addInitScript(`{
    const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
    const iteratorMembers = Object.getOwnPropertyNames(iteratorPrototype);
    for (const name of iteratorMembers) if (name !== 'constructor') delete iteratorPrototype[name];
    delete ReadableStream.prototype[Symbol.asyncIterator];
    const typedArrayPrototype = Object.getPrototypeOf(Uint8Array).prototype;
    const newerMethods = ['findLast', 'findLastIndex', 'toReversed', 'toSorted', 'with'];
    for (const name of newerMethods) delete typedArrayPrototype[name];
    for (const name of ${JSON.stringify([...MISSING, ...moreFeatures])}) {
      const owners = name.split('.');
      const member = owners.pop();
      let owner = globalThis;
      for (const key of owners) owner = owner?.[key];
      if (owner !== undefined) delete owner[member];
    }
  }`);
}
