// Meters against a scripted server that refuses, ends a stream, stays silent, or has more outputs than are
// measured. On real servers: test/contract/audio-level.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Timing } from '../../../src/actors/audio/timing.js';
import { u32 } from '../../protocol/pulse/bytes.js';
import { packet } from '../../sound/packet.js';
import { until } from '../../until.js';
import { connected } from './backed.js';
import { but, bytesOf, COMMAND, event, type Handler, peaks, type ScriptedServer } from './scripted-server.js';

/** All tests of this file together must end within this time, so that a test that never ends fails. */
const DEADLINE = { timeout: 120_000 };
const NONE = 0xffffffff;
const METERS = 1;

async function startWithMeters(t: TestContext, handler: Handler, timing: Partial<Timing> = {}) {
  const both = await connected(t, handler, timing);
  /** The number of requested meters. */
  const requested = () => both.server.count(COMMAND.createRecordStream);
  return { ...both, requested, lastLevel: () => both.recorder.levels.at(-1) };
}

const GRANTED: Handler = ({ tag }, { reply }) => reply(tag, bytesOf.capture(4));
/** The ordinary server, except that `captured` answers captures. */
const withCaptures = (captured: Handler) => but({ [COMMAND.createRecordStream]: captured });

const levelsOfLiving = (...peak: number[]) => `{"outputs":[{"id":0,"peak":${JSON.stringify(peak)}}]}`;
const UNKNOWN = '{"outputs":[]}';

/** Starts a backend whose levels are watched, and waits until it has published 0.5 and 0.25. */
async function startPublishing(t: TestContext) {
  const one = await startWithMeters(t, withCaptures(GRANTED));
  assert.deepEqual([one.server.connections(), one.recorder.levels], [1, []]);
  one.backend.watchLevels(true);
  await until('the meter is opened', () => one.requested() === 1);
  one.server.responder.send(peaks(4, 0.5, 0.25), METERS);
  await until('the level is published', () => one.lastLevel() === levelsOfLiving(0.5, 0.25));
  return one;
}

/** Makes the backend read the stream's record again. */
async function readAgain(server: ScriptedServer): Promise<void> {
  const readings = server.count(COMMAND.getInput);
  server.responder.send(event('inputChange', 5), 0);
  await until('a change is read', () => server.count(COMMAND.getInput) > readings);
}

describe('a meter', DEADLINE, () => {
  test('publishes only levels that changed, but all levels when a client begins to listen', async (t) => {
    const { server, backend, recorder, lastLevel } = await startWithMeters(t, withCaptures(GRANTED));
    backend.watchLevels(true);
    await until('the meter is opened', () => server.connections() === 2);
    const fragments = Buffer.concat(Array.from({ length: 50 }, () => peaks(4, 0, 0)));
    let sent = 0;
    await until('the level is 0, and nothing has been held back for long', () => {
      server.responder.send(fragments, METERS);
      sent += 1;
      return sent > 20 && lastLevel() === levelsOfLiving(0, 0);
    });
    server.responder.send(peaks(4, 0.5, 0.5), METERS);
    await until('the level is 0.5', () => lastLevel() === levelsOfLiving(0.5, 0.5));
    assert.deepEqual(recorder.levels, [UNKNOWN, levelsOfLiving(0, 0), levelsOfLiving(0.5, 0.5)]);
    backend.watchLevels(true);
    await until('the new listener gets the level', () => recorder.levels.length === 4);
    assert.equal(lastLevel(), levelsOfLiving(0.5, 0.5));
  });

  test('publishes ten levels a second at most, however often they change', async (t) => {
    const { server, recorder } = await startPublishing(t);
    let sent = 0;
    await until('the levels of three seconds are published', () => {
      sent += 1;
      server.responder.send(peaks(4, (sent % 100) / 100, 0.5), METERS);
      return recorder.levels.length > 25;
    });
    const seconds = recorder.levelsAt.slice(10).map((at, index) => at - (recorder.levelsAt[index] ?? 0));
    assert.ok(Math.min(...seconds) >= 1000, `${seconds}`);
  });

  test('a meter that another program ends has no level, and is opened again', async (t) => {
    const { server, requested, lastLevel } = await startPublishing(t);
    server.responder.send(packet(COMMAND.recordStreamKilled, NONE, u32(4)), METERS);
    await until('the level is unknown', () => lastLevel() === UNKNOWN);
    await until('the meter is opened again', () => requested() === 2);
    server.responder.send(peaks(4, 0.125, 0.125), METERS);
    await until('the level is known again', () => lastLevel() === levelsOfLiving(0.125, 0.125));
  });

  test('a meter that the server refuses is tried again, after a pause', async (t) => {
    let refused = 3;
    const refusing: Handler = (request, responder) => {
      refused -= 1;
      return refused < 0 ? GRANTED(request, responder) : responder.error(request.tag, 1);
    };
    const { server, backend, requested, lastLevel, recorder } = await startWithMeters(
      t,
      withCaptures(refusing),
    );
    backend.watchLevels(true);
    await until('the meter is refused', () => requested() === 1);
    await readAgain(server);
    assert.equal(requested(), 1);
    await until('the meter is granted', () => requested() === 4);
    server.responder.send(peaks(4, 0.5, 0.25), METERS);
    await until('the level is published', () => lastLevel() === levelsOfLiving(0.5, 0.25));
    assert.ok(recorder.up);
  });

  test('a meter without its connection has no level, and is opened on another connection', async (t) => {
    const { server, requested, lastLevel, recorder } = await startPublishing(t);
    server.responder.hangUp(METERS);
    await until('the level is unknown', () => lastLevel() === UNKNOWN);
    await readAgain(server);
    assert.equal(server.connections(), 2, 'not before a while');
    await until('the meter is opened again', () => requested() === 2);
    assert.ok(recorder.up && recorder.logs.length === 1, 'the records do not notice');
  });

  test('a meter that gets no answer ends when its connection is closed', async (t) => {
    const silent = withCaptures(() => undefined);
    const { server, backend, requested, recorder } = await startWithMeters(t, silent, { requestMs: 1_000 });
    backend.watchLevels(true);
    await until('the meter is tried again', () => requested() >= 2);
    await until('the connection of the first one has ended', () => server.open() === 2);
    assert.ok(recorder.up);
  });

  test('a meter that is granted too late is ended', async (t) => {
    let corked = false;
    let answer = (): void => undefined;
    const two = but({
      [COMMAND.getInput]: ({ tag }, { reply }) => reply(tag, bytesOf.input(5, 'News', { corked })),
      [COMMAND.getSinks]: [...bytesOf.sink(0, 'living'), ...bytesOf.sink(1, 'kitchen')],
      [COMMAND.getInputs]: [...bytesOf.input(5, 'News'), ...bytesOf.input(6, 'Song', { sink: 1 })],
      [COMMAND.createRecordStream]: ({ tag }, { reply, send }) => {
        if (requested() > 1) return reply(tag, bytesOf.capture(5));
        answer = () => send(reply(tag, bytesOf.capture(4)), METERS);
        return undefined;
      },
    });
    const { server, backend, requested } = await startWithMeters(t, two);
    backend.watchLevels(true);
    await until('the meter is requested', () => requested() === 1);
    corked = true;
    await readAgain(server);
    answer();
    const ended = () => server.count(COMMAND.deleteRecordStream) === 1;
    await until(
      'the late meter is ended, and the other one is requested',
      () => ended() && requested() === 2,
    );
    assert.equal(server.open(), 2);
  });

  test('is opened for the first 32 outputs that play; the others have no level', async (t) => {
    const ids = Array.from({ length: 35 }, (_, id) => id);
    let streams = 0;
    let corked = true;
    const many = but({
      [COMMAND.getSinks]: ids.flatMap((id) => bytesOf.sink(id, `sink-${id}`)),
      [COMMAND.getInputs]: ({ tag }, { reply }) =>
        reply(tag, ...ids.map((id) => bytesOf.input(100 + id, 'News', { sink: id, corked }))),
      [COMMAND.createRecordStream]: ({ tag }, { reply }) => {
        streams += 1;
        return reply(tag, bytesOf.capture(streams));
      },
    });
    const { server, backend, requested, lastLevel } = await startWithMeters(t, many);
    backend.watchLevels(true);
    await until('all levels are 0', () => (lastLevel()?.match(/0,0/g) ?? []).length === ids.length);
    corked = false;
    for (const id of ids) server.responder.send(event('inputChange', 100 + id), 0);
    await until('32 meters are opened', () => requested() === 32);
    for (let stream = 1; stream <= 32; stream += 1) server.responder.send(peaks(stream, 0.5, 0.5), METERS);
    await until('32 levels are published', () => (lastLevel()?.match(/0\.5,0\.5/g) ?? []).length === 32);
    assert.ok(!lastLevel()?.includes('"id":32'));
    assert.equal(requested(), 32);
  });

  test('does not delay the end of the daemon', async (t) => {
    const { server, backend } = await startPublishing(t);
    await backend.stop();
    await until('all connections have ended', () => server.open() === 0);
  });
});
