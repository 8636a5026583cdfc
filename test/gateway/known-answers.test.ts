// Tests the tags of answers that backends give. An equal answer to the same question has the same tag, as
// long as the gateway remembers the question.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayUnderTest } from './gateway-under-test.js';

/** The gateway keeps this many answers of backends, for their tags (docs/development/bounds.md). */
const ANSWERS_KEPT = 32;
/** Question N requests N lines of the log. The last question exceeds the limit by one. */
const LAST_QUESTION = ANSWERS_KEPT + 1;

test('an answer above the limit makes the gateway forget only the tag of the question that was answered longest ago', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  under.backends.answer = { ok: true, value: { text: '[]' } };
  const requestLog = (lines: number, tag = '') =>
    under.fetch({
      path: `/services/user/a.service/log?lines=${lines}`,
      headers: { 'If-None-Match': tag },
    });
  const tags = new Map<number, string>();
  for (let lines = 1; lines <= LAST_QUESTION; lines += 1)
    tags.set(lines, String((await requestLog(lines)).headers.etag));

  // The gateway has forgotten question 1, and remembers the others. The loop repeats the others, beginning
  // with LAST_QUESTION. After the loop, LAST_QUESTION is the question that was answered longest ago. So the
  // gateway forgets LAST_QUESTION when question 1 is repeated.
  for (let lines = LAST_QUESTION; lines > 1; lines -= 1)
    assert.equal((await requestLog(lines, tags.get(lines))).status, 304, `lines=${lines}`);
  assert.equal((await requestLog(1, tags.get(1))).status, 200);
  const forgotten = await requestLog(LAST_QUESTION, tags.get(LAST_QUESTION));
  assert.equal(forgotten.status, 200, 'question 1 has taken the place of the last question');
  assert.equal((await requestLog(2, tags.get(2))).status, 304);
});
