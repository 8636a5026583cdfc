// The gateway asks the backend for a cover, and one such question may answer several requests. These tests
// show which requests it answers. The backend is scripted. test/contract/players.test.ts has a real player.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Covers } from '../../src/gateway/covers.js';
import { success } from '../../src/protocol/actor/result.js';
import { ManualClock } from '../manual-clock.js';
import { ScriptedBackends } from './scripted-backends.js';

/** The requests of these tests have no header If-None-Match. */
const NO_TAG = '';
const PLAYER = 'org.mpris.MediaPlayer2.mpv';
const FIRST_COVER = { tag: 'first', type: 'image/png', bytes: Uint8Array.of(1) } as const;
const SECOND_COVER = { tag: 'second', type: 'image/png', bytes: Uint8Array.of(2) } as const;

function coversOfScriptedBackends() {
  const backends = new ScriptedBackends();
  const clock = new ManualClock();
  const covers = new Covers(backends, clock);
  const coverBody = async () => (await covers.reply(PLAYER, NO_TAG)).body;
  return { backends, clock, covers, coverBody };
}

test('requests that come during a question for a cover share the next question, and get the cover of the newer track', async () => {
  const { backends, coverBody } = coversOfScriptedBackends();
  const firstAnswer = backends.hold();
  const firstBody = coverBody();
  // The track changes while the first question is under way.
  const secondAnswer = backends.hold();
  const laterBodies = [coverBody(), coverBody(), coverBody()];
  assert.equal(backends.requests.length, 1);
  firstAnswer.resolve(success({ cover: FIRST_COVER }));
  assert.equal(await firstBody, FIRST_COVER.bytes);
  secondAnswer.resolve(success({ cover: SECOND_COVER }));
  const { bytes } = SECOND_COVER;
  assert.deepEqual(await Promise.all(laterBodies), [bytes, bytes, bytes]);
  assert.deepEqual(
    backends.requests.map(({ command }) => command),
    [
      { do: 'cover', player: PLAYER },
      { do: 'cover', player: PLAYER, cachedTag: 'first' },
    ],
  );
});

test('a question for the cover of one player does not wait for the answer about another player', async () => {
  const { backends, covers, coverBody } = coversOfScriptedBackends();
  backends.hold();
  void covers.reply('org.mpris.MediaPlayer2.hung', NO_TAG);
  backends.answer = success({ cover: FIRST_COVER });
  assert.equal(await coverBody(), FIRST_COVER.bytes);
});

test('if a question fails, only the requests that share it fail', async () => {
  const { backends, coverBody } = coversOfScriptedBackends();
  backends.fault = new Error('a defect');
  const failing = assert.rejects(coverBody(), /a defect/);
  const later = coverBody();
  backends.fault = undefined;
  backends.answer = success({ cover: FIRST_COVER });
  await failing;
  assert.equal(await later, FIRST_COVER.bytes);
  assert.equal(await coverBody(), FIRST_COVER.bytes);
});

test('a request for a cover is 504 after 10 s, although it waits for two questions', async () => {
  const { backends, clock, covers } = coversOfScriptedBackends();
  const firstAnswer = backends.hold();
  const first = covers.reply(PLAYER, NO_TAG);
  clock.advance(1_000);
  const second = covers.reply(PLAYER, NO_TAG);
  clock.advance(8_000);
  backends.hold();
  firstAnswer.resolve(success({ cover: FIRST_COVER }));
  assert.equal((await first).status, 200);
  // The second request came 1 s after the first one. After this step it has waited for 10 s.
  clock.advance(2_000);
  assert.equal((await second).status, 504);
  assert.equal(backends.requests.length, 2);
});
