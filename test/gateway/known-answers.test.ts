// The tags of answers that backends give: an equal answer to the same question has the same tag, for the
// latest questions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayUnderTest } from './gateway-under-test.js';

/** docs/development/bounds.md: answers of backends that are kept, for their tags. */
const KNOWN_MAX = 32;

test('one answer more than the gateway keeps makes it forget the tag of the oldest, and of no other', async (t) => {
  const under = GatewayUnderTest.up().within(t);
  under.backends.answer = { ok: true, value: { text: '[]' } };
  const log = (lines: number, tag = '') =>
    under.fetch({
      path: `/services/user/a.service/log?lines=${lines}`,
      headers: { 'If-None-Match': tag },
    });
  const tags = new Map<number, string>();
  for (let lines = 1; lines <= KNOWN_MAX + 1; lines += 1)
    tags.set(lines, String((await log(lines)).headers.etag));
  // From the newest on, as each question that is not known any more drops the oldest one.
  for (let lines = KNOWN_MAX + 1; lines > 1; lines -= 1)
    assert.equal((await log(lines, tags.get(lines))).status, 304, `lines=${lines}`);
  assert.equal((await log(1, tags.get(1))).status, 200);
  assert.equal((await log(KNOWN_MAX + 1, tags.get(KNOWN_MAX + 1))).status, 200, 'it was asked longest ago');
  assert.equal((await log(2, tags.get(2))).status, 304);
});
