// Tests meters on a scripted server. This server refuses or ends a meter, closes its connection, answers late
// or never, or has more outputs than are measured. test/contract/audio-level.test.ts has real servers.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Timing } from '../../../src/actors/audio/timing.js';
import { u32 } from '../../protocol/pulse/bytes.js';
import { packet } from '../../sound/packet.js';
import { until } from '../../until.js';
import {
  bytesOf,
  COMMAND,
  ERROR,
  event,
  type Handler,
  ordinaryExcept,
  peaks,
  type ScriptedServer,
} from './scripted-server.js';
import { startOnScriptedServer } from './start-backend.js';

/** All tests of this file together must end within this time, so that a test that never ends fails. */
const DEADLINE = { timeout: 120_000 };
const NO_TAG = 0xffffffff;
/** The number of the connection with the meters. The connection with the records has the number 0. */
const METER_CONNECTION = 1;
const METER_STREAM = 4;

async function startWithMeters(t: TestContext, handler: Handler, timing: Partial<Timing> = {}) {
  const started = await startOnScriptedServer(t, handler, { timing });
  /** The number of requests for a meter. */
  const meterRequests = () => started.server.count(COMMAND.createRecordStream);
  return { ...started, meterRequests, lastLevel: () => started.recorder.levels.at(-1) };
}

const grantMeter: Handler = ({ tag }, { reply }) => reply(tag, bytesOf.capture(METER_STREAM));
/** The ordinary server, except that `answerMeter` answers the request for a meter. */
const ordinaryExceptMeters = (answerMeter: Handler) =>
  ordinaryExcept({ [COMMAND.createRecordStream]: answerMeter });

const levelsOfOutput0 = (...peak: number[]) => `{"outputs":[{"id":0,"peak":${JSON.stringify(peak)}}]}`;
const NO_LEVELS = '{"outputs":[]}';

/** Starts a backend whose levels are watched, and waits until it has published the peaks 0.5 and 0.25. */
async function startPublishing(t: TestContext) {
  const started = await startWithMeters(t, ordinaryExceptMeters(grantMeter));
  const { server, backend, recorder, meterRequests, lastLevel } = started;
  assert.equal(server.connections(), 1, 'unwatched levels need no connection for meters');
  assert.deepEqual(recorder.levels, []);

  backend.watchLevels(true);
  await until('the meter is opened', () => meterRequests() === 1);
  server.responder.send(peaks(METER_STREAM, 0.5, 0.25), METER_CONNECTION);
  await until('the level is published', () => lastLevel() === levelsOfOutput0(0.5, 0.25));
  return started;
}

/** Makes the backend read the sink input 5 again, and then decide again which meters it opens. */
async function readAgain(server: ScriptedServer): Promise<void> {
  const readings = server.count(COMMAND.getInput);
  server.responder.send(event('sinkInputChange', 5), 0);
  await until('a change is read', () => server.count(COMMAND.getInput) > readings);
}

describe('a meter', DEADLINE, () => {
  test('publishes its level only when the level has changed, or when somebody new watches the levels', async (t) => {
    const handler = ordinaryExceptMeters(grantMeter);
    const { server, backend, recorder, lastLevel } = await startWithMeters(t, handler);
    backend.watchLevels(true);
    await until('the meter is opened', () => server.connections() === 2);

    // All these fragments are silent, so one level is published for all of them.
    const fragments = Buffer.concat(Array.from({ length: 50 }, () => peaks(METER_STREAM, 0, 0)));
    let sent = 0;
    await until('more than 20 bursts of fragments are sent, and the level is 0', () => {
      server.responder.send(fragments, METER_CONNECTION);
      sent += 1;
      return sent > 20 && lastLevel() === levelsOfOutput0(0, 0);
    });

    server.responder.send(peaks(METER_STREAM, 0.5, 0.5), METER_CONNECTION);
    await until('the level is 0.5', () => lastLevel() === levelsOfOutput0(0.5, 0.5));
    assert.deepEqual(recorder.levels, [NO_LEVELS, levelsOfOutput0(0, 0), levelsOfOutput0(0.5, 0.5)]);
    // The backend gets this call for each new watcher.
    backend.watchLevels(true);
    await until('the level is published for the new watcher', () => recorder.levels.length === 4);
    assert.equal(lastLevel(), levelsOfOutput0(0.5, 0.5));
  });

  test('publishes at most ten levels a second, even if its level changes more often', async (t) => {
    const { server, recorder } = await startPublishing(t);
    let sent = 0;
    await until('more than 25 levels are published', () => {
      sent += 1;
      server.responder.send(peaks(METER_STREAM, (sent % 100) / 100, 0.5), METER_CONNECTION);
      return recorder.levels.length > 25;
    });

    const timesMs = recorder.levelTimesMs;
    // The time from each level to the tenth level after it.
    const msForTenLevels = timesMs.slice(10).map((timeMs, index) => timeMs - (timesMs[index] ?? 0));
    assert.ok(Math.min(...msForTenLevels) >= 1000, `${msForTenLevels}`);
  });

  test('a meter that another program ends has no level, and is opened again', async (t) => {
    const { server, meterRequests, lastLevel } = await startPublishing(t);
    server.responder.send(packet(COMMAND.recordStreamKilled, NO_TAG, u32(METER_STREAM)), METER_CONNECTION);
    await until('the level is unknown', () => lastLevel() === NO_LEVELS);
    await until('the meter is opened again', () => meterRequests() === 2);

    server.responder.send(peaks(METER_STREAM, 0.125, 0.125), METER_CONNECTION);
    await until('the level is known again', () => lastLevel() === levelsOfOutput0(0.125, 0.125));
  });

  test('a meter that the server refuses is tried again, after a pause', async (t) => {
    let refusalsLeft = 3;
    const refuseAtFirst: Handler = (request, responder) => {
      if (refusalsLeft === 0) return grantMeter(request, responder);
      refusalsLeft -= 1;
      return responder.error(request.tag, ERROR.access);
    };
    const { server, backend, meterRequests, lastLevel, recorder } = await startWithMeters(
      t,
      ordinaryExceptMeters(refuseAtFirst),
    );

    backend.watchLevels(true);
    await until('the meter is refused', () => meterRequests() === 1);
    await readAgain(server);
    assert.equal(meterRequests(), 1, 'the meter is tried again only after a pause');

    await until('the meter is granted', () => meterRequests() === 4);
    server.responder.send(peaks(METER_STREAM, 0.5, 0.25), METER_CONNECTION);
    await until('the level is published', () => lastLevel() === levelsOfOutput0(0.5, 0.25));
    assert.ok(recorder.isUp);
  });

  test('a meter whose connection has ended has no level, and is opened on another connection', async (t) => {
    const { server, meterRequests, lastLevel, recorder } = await startPublishing(t);
    server.responder.hangUp(METER_CONNECTION);
    await until('the level is unknown', () => lastLevel() === NO_LEVELS);
    await readAgain(server);
    assert.equal(server.connections(), 2, 'the meter is opened again only after a pause');

    await until('the meter is opened again', () => meterRequests() === 2);
    // Each connection that reads the records adds one line to the log.
    assert.ok(recorder.isUp && recorder.logs.length === 1, 'the connection with the records stays up');
  });

  test('if the server does not answer the request for a meter, the connection of the meter is closed, and the meter is tried again', async (t) => {
    const silent = ordinaryExceptMeters(() => undefined);
    const { server, backend, meterRequests, recorder } = await startWithMeters(t, silent, {
      requestMs: 1_000,
    });
    backend.watchLevels(true);
    await until('the meter is tried again', () => meterRequests() >= 2);
    // The connection with the records and the connection of the second meter are open.
    await until('the connection of the first meter has ended', () => server.openConnections() === 2);
    assert.ok(recorder.isUp);
  });

  test('a meter that is granted too late is ended', async (t) => {
    const OTHER_METER_STREAM = 5;
    let corked = false;
    let grantLate = (): void => undefined;
    const handler = ordinaryExcept({
      [COMMAND.getInput]: ({ tag }, { reply }) => reply(tag, bytesOf.sinkInput(5, 'News', { corked })),
      [COMMAND.getSinks]: [...bytesOf.sink(0, 'living'), ...bytesOf.sink(1, 'kitchen')],
      [COMMAND.getInputs]: [...bytesOf.sinkInput(5, 'News'), ...bytesOf.sinkInput(6, 'Song', { sink: 1 })],
      [COMMAND.createRecordStream]: ({ tag }, { reply, send }) => {
        if (meterRequests() > 1) return reply(tag, bytesOf.capture(OTHER_METER_STREAM));
        grantLate = () => send(reply(tag, bytesOf.capture(METER_STREAM)), METER_CONNECTION);
        return undefined;
      },
    });
    const { server, backend, meterRequests } = await startWithMeters(t, handler);

    backend.watchLevels(true);
    // Both outputs play, but the backend requests one meter at a time.
    await until('the meter is requested', () => meterRequests() === 1);

    // The stream at `living` is paused, so the meter that was requested first is no longer desired.
    corked = true;
    await readAgain(server);
    grantLate();

    const isLateMeterEnded = () => server.count(COMMAND.deleteRecordStream) === 1;
    await until(
      'the late meter is ended, and a meter of the other output is requested',
      () => isLateMeterEnded() && meterRequests() === 2,
    );
    // The connections with the records and with the meters stay, because only the late meter is ended.
    assert.equal(server.openConnections(), 2);
  });

  test('is opened for the first 32 outputs that play, and further outputs that play have no level', async (t) => {
    const ids = Array.from({ length: 35 }, (_, id) => id);
    let createdStreams = 0;
    let corked = true;
    const handler = ordinaryExcept({
      [COMMAND.getSinks]: ids.flatMap((id) => bytesOf.sink(id, `sink-${id}`)),
      [COMMAND.getInputs]: ({ tag }, { reply }) =>
        reply(tag, ...ids.map((id) => bytesOf.sinkInput(100 + id, 'News', { sink: id, corked }))),
      [COMMAND.createRecordStream]: ({ tag }, { reply }) => {
        createdStreams += 1;
        return reply(tag, bytesOf.capture(createdStreams));
      },
    });
    const { server, backend, meterRequests, lastLevel } = await startWithMeters(t, handler);

    backend.watchLevels(true);
    /** How many levels of the last event match. */
    const countLevels = (level: RegExp): number => (lastLevel()?.match(level) ?? []).length;
    // An output at which no stream plays has level 0, and needs no meter.
    await until('all levels are 0', () => countLevels(/0,0/g) === ids.length);

    corked = false;
    // After this number of events, the backend reads the whole list of sink inputs.
    for (const id of ids) server.responder.send(event('sinkInputChange', 100 + id), 0);
    await until('32 meters are opened', () => meterRequests() === 32);

    for (let stream = 1; stream <= 32; stream += 1)
      server.responder.send(peaks(stream, 0.5, 0.5), METER_CONNECTION);
    await until('32 levels are published', () => countLevels(/0\.5,0\.5/g) === 32);
    assert.ok(!lastLevel()?.includes('"id":32'), 'the output with id 32 has a level');
    assert.equal(meterRequests(), 32);
  });

  test('ends its connection when the daemon ends', async (t) => {
    const { server, backend } = await startPublishing(t);
    await backend.stop();
    await until('all connections have ended', () => server.openConnections() === 0);
  });
});
