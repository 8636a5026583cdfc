// Tests the tags of answers that backends give. An equal answer to the same question has the same tag, as
// long as the gateway remembers the question.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayUnderTest } from './gateway-under-test.js';

/** docs/development/bounds.md: answers of backends that are kept, for their tags. */
const ANSWERS_KEPT = 32;

test('one answer more than the gateway keeps makes it forget the tag of the oldest, and of no other', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  under.backends.answer = { ok: true, value: { text: '[]' } };
  const requestLog = (lines: number, tag = '') =>
    under.fetch({
      path: `/services/user/a.service/log?lines=${lines}`,
      headers: { 'If-None-Match': tag },
    });
  const tags = new Map<number, string>();
  for (let lines = 1; lines <= ANSWERS_KEPT + 1; lines += 1)
    tags.set(lines, String((await requestLog(lines)).headers.etag));

  // The known questions come first, because each unknown one makes the gateway forget another. They come in
  // reverse order, so that the newest question becomes the one that was asked longest ago.
  for (let lines = ANSWERS_KEPT + 1; lines > 1; lines -= 1)
    assert.equal((await requestLog(lines, tags.get(lines))).status, 304, `lines=${lines}`);
  // The gateway has forgotten question 1. The answer to it makes the gateway forget the newest question.
  assert.equal((await requestLog(1, tags.get(1))).status, 200);
  assert.equal(
    (await requestLog(ANSWERS_KEPT + 1, tags.get(ANSWERS_KEPT + 1))).status,
    200,
    'its question is the oldest now',
  );
  assert.equal((await requestLog(2, tags.get(2))).status, 304);
});
