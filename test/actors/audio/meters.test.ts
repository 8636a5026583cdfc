// Meters against a scripted server: what becomes of them when it refuses, ends a stream, says nothing, or has more outputs than are
// measured. On real servers: test/contract/audio-level.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { AudioBackend, TIMING, type Timing } from '../../../src/actors/audio/backend.js';
import { packet, u32 } from '../../sound/packet.js';
import { until } from '../../until.js';
import { Recorder } from './recorder.js';
import {
  COMMAND,
  EVENT,
  event,
  type Handler,
  inputFields,
  ordinary,
  peaks,
  recordStreamFields,
  type ScriptedServer,
  scriptedServer,
  sinkFields,
} from './scripted-server.js';

/** What never ends fails: of all tests here together. */
const DEADLINE = { timeout: 120_000 };
const NONE = 0xffffffff;
const METERS = 1;

interface Metered {
  readonly server: ScriptedServer;
  readonly backend: AudioBackend;
  readonly seen: Recorder;
  count(command: number): number;
  /** The level that was told last. */
  told(): string | undefined;
}

async function metered(t: TestContext, handler: Handler, timing: Partial<Timing> = {}): Promise<Metered> {
  const server = await scriptedServer(t, handler);
  const seen = new Recorder();
  const env = { PULSE_SERVER: `unix:${server.socketPath}` };
  const context = { env, uid: 0, home: '/nonexistent', machineId: undefined };
  const backend = new AudioBackend({ enabled: true, serveCookie: false }, context, seen, {
    ...TIMING,
    ...timing,
  });
  backend.start();
  t.after(() => backend.stop());
  await until('the backend is up', () => seen.up);
  const count = (command: number) => server.heard.filter((each) => each === command).length;
  return { server, backend, seen, count, told: () => seen.levels.at(-1) };
}

/** The ordinary server, whose captures are answered by `captured`. */
const withCaptures =
  (captured: Handler): Handler =>
  (request, say) =>
    request.command === COMMAND.createRecordStream ? captured(request, say) : ordinary(request, say);

const GIVEN: Handler = ({ tag }, { reply }) => reply(tag, recordStreamFields(4));
const living = (...peak: number[]) => `{"outputs":[{"id":0,"peak":${JSON.stringify(peak)}}]}`;
const UNKNOWN = '{"outputs":[]}';

describe('a meter', DEADLINE, () => {
  test('is opened when somebody listens, and closed when nobody does', async (t) => {
    const { server, backend, seen, count, told } = await metered(t, withCaptures(GIVEN));
    assert.deepEqual([server.connections(), seen.levels], [1, []]);
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    backend.watch('audio.level', false);
    await until('its connection has ended', () => server.open() === 1);
    const before = seen.levels.length;
    assert.ok(seen.up);
    backend.watch('audio.level', true);
    await until('it is told again', () => seen.levels.length > before);
    assert.equal(told(), UNKNOWN);
  });

  test('tells only what has changed, and again to those who come', async (t) => {
    const { server, backend, seen, told } = await metered(t, withCaptures(GIVEN));
    backend.watch('audio.level', true);
    await until('it is opened', () => server.connections() === 2);
    const fragments = Buffer.concat(Array.from({ length: 50 }, () => peaks(4, 0, 0)));
    await until('it is silent', () => {
      server.say.send(fragments, METERS);
      return told() === living(0, 0);
    });
    server.say.send(peaks(4, 0.5, 0.5), METERS);
    await until('it is told', () => told() === living(0.5, 0.5));
    assert.deepEqual(seen.levels, [UNKNOWN, living(0, 0), living(0.5, 0.5)]);
    backend.watch('audio.level', true);
    await until('the newcomer is told', () => seen.levels.length === 4);
    assert.equal(told(), living(0.5, 0.5));
  });

  test('of several fragments tells the loudest, then the newest', async (t) => {
    const { server, backend, seen, told } = await metered(t, withCaptures(GIVEN));
    backend.watch('audio.level', true);
    await until('it is opened', () => server.connections() === 2);
    await until('it is told', () => {
      server.say.send(peaks(4, 0.1, 0.1), METERS);
      return told() === living(0.1, 0.1);
    });
    server.say.send(Buffer.concat([peaks(4, 0.2, 0.9), peaks(4, 0.8, 0.1), peaks(4, 0.3, 0.3)]), METERS);
    await until('the loudest is told', () => told() === living(0.8, 0.9));
    server.say.send(peaks(4, 0.3, 0.3), METERS);
    await until('the newest is told', () => told() === living(0.3, 0.3));
    server.say.send(Buffer.concat([peaks(4, 0.9, 0.9), peaks(4, 0, 0)]), METERS);
    await until('silence is told as silence', () => told() === living(0, 0));
    assert.equal(new Set(seen.levels).size, seen.levels.length);
  });

  test('is closed when its client is corked, and the level is 0', async (t) => {
    let corked = false;
    const { server, backend, count, told } = await metered(t, (request, say) => {
      if (request.command === COMMAND.getInput)
        return say.reply(request.tag, inputFields(5, 'News', { corked }));
      return withCaptures(GIVEN)(request, say);
    });
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    corked = true;
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('it is silent', () => told() === living(0, 0));
    await until('its connection has ended', () => server.open() === 1);
    corked = false;
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('it is opened again', () => count(COMMAND.createRecordStream) === 2);
    assert.equal(told(), living(0, 0));
  });

  test('of what is muted is 0 at once, and stays open', async (t) => {
    let muted = false;
    const { server, backend, count, told } = await metered(t, (request, say) => {
      if (request.command === COMMAND.getInput)
        return say.reply(request.tag, inputFields(5, 'News', { muted }));
      return withCaptures(GIVEN)(request, say);
    });
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    muted = true;
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('it is silent', () => told() === living(0, 0));
    muted = false;
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('both are read', () => count(COMMAND.getInput) === 2);
    server.say.send(peaks(4, 0.25, 0.5), METERS);
    await until('it is told again', () => told() === living(0.25, 0.5));
    assert.deepEqual([count(COMMAND.createRecordStream), count(COMMAND.deleteRecordStream)], [1, 0]);
  });

  test('that ends by others is not known, and is opened again', async (t) => {
    const { server, backend, count, told } = await metered(t, withCaptures(GIVEN));
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    server.say.send(packet(COMMAND.recordStreamKilled, NONE, [u32(4)]), METERS);
    await until('it is not known', () => told() === UNKNOWN);
    await until('it is opened again', () => count(COMMAND.createRecordStream) === 2);
    server.say.send(peaks(4, 0.125, 0.125), METERS);
    await until('it is known again', () => told() === living(0.125, 0.125));
  });

  test('that is refused is tried again, and not before a while', async (t) => {
    let refused = 3;
    const { server, backend, count, told, seen } = await metered(
      t,
      withCaptures((request, say) => {
        refused -= 1;
        return refused < 0 ? GIVEN(request, say) : say.error(request.tag, 1);
      }),
    );
    backend.watch('audio.level', true);
    await until('it is refused', () => count(COMMAND.createRecordStream) === 1);
    const readings = count(COMMAND.getInput);
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('a change is read', () => count(COMMAND.getInput) > readings);
    assert.equal(count(COMMAND.createRecordStream), 1);
    await until('it is given', () => count(COMMAND.createRecordStream) === 4);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    assert.ok(seen.up);
  });

  test('whose connection is lost is not known, and comes back with another one', async (t) => {
    const { server, backend, count, told, seen } = await metered(t, withCaptures(GIVEN));
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    server.say.hangUp(METERS);
    await until('it is not known', () => told() === UNKNOWN);
    const readings = count(COMMAND.getInput);
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('a change is read', () => count(COMMAND.getInput) > readings);
    assert.equal(server.connections(), 2, 'not before a while');
    await until('it is opened again', () => count(COMMAND.createRecordStream) === 2);
    assert.ok(seen.up && seen.logs.length === 1, 'the records do not notice');
  });

  test('that is not answered ends with its connection', async (t) => {
    const { server, backend, count, seen } = await metered(
      t,
      withCaptures(() => undefined),
      { requestMs: 100 },
    );
    backend.watch('audio.level', true);
    await until(
      'it is tried again',
      () => count(COMMAND.createRecordStream) === 2 && server.connections() === 3,
    );
    assert.equal(server.open(), 2);
    assert.ok(seen.up);
  });

  test('that came too late is ended', async (t) => {
    let corked = false;
    let answer = (): void => undefined;
    const { server, backend, count } = await metered(t, ({ command, tag }, say) => {
      if (command === COMMAND.getInput) return say.reply(tag, inputFields(5, 'News', { corked }));
      if (command === COMMAND.getSinks)
        return say.reply(tag, Buffer.concat([sinkFields(0, 'living'), sinkFields(1, 'kitchen')]));
      if (command === COMMAND.getInputs)
        return say.reply(tag, Buffer.concat([inputFields(5, 'News'), inputFields(6, 'Song', { sink: 1 })]));
      if (command !== COMMAND.createRecordStream)
        return ordinary({ command, tag, fields: Buffer.alloc(0) }, say);
      if (count(COMMAND.createRecordStream) > 1) return say.reply(tag, recordStreamFields(5));
      answer = () => say.send(say.reply(tag, recordStreamFields(4)), METERS);
      return undefined;
    });
    backend.watch('audio.level', true);
    await until('it is asked for', () => count(COMMAND.createRecordStream) === 1);
    corked = true;
    server.say.send(event(EVENT.inputChange, 5), 0);
    await until('the client is corked', () => count(COMMAND.getInput) === 1);
    answer();
    await until(
      'it is ended, and the other one is asked for',
      () => count(COMMAND.deleteRecordStream) === 1 && count(COMMAND.createRecordStream) === 2,
    );
    assert.equal(server.open(), 2);
  });

  test('is there for the first 32 outputs that sound, and of the others nothing is said', async (t) => {
    const ids = Array.from({ length: 35 }, (_, id) => id);
    let streams = 0;
    let corked = true;
    const input = (id: number) => inputFields(100 + id, 'News', { sink: id, corked });
    const { server, backend, count, told } = await metered(t, ({ command, tag }, say) => {
      if (command === COMMAND.getSinks)
        return say.reply(tag, ...ids.map((id) => sinkFields(id, `sink-${id}`)));
      if (command === COMMAND.getInputs) return say.reply(tag, ...ids.map(input));
      if (command !== COMMAND.createRecordStream)
        return ordinary({ command, tag, fields: Buffer.alloc(0) }, say);
      streams += 1;
      return say.reply(tag, recordStreamFields(streams));
    });
    backend.watch('audio.level', true);
    await until('all are silent', () => (told()?.match(/0,0/g) ?? []).length === ids.length);
    corked = false;
    for (const id of ids) server.say.send(event(EVENT.inputChange, 100 + id), 0);
    await until('they are opened', () => count(COMMAND.createRecordStream) === 32);
    for (let stream = 1; stream <= 32; stream += 1) server.say.send(peaks(stream, 0.5, 0.5), METERS);
    await until('they are told', () => (told()?.match(/0\.5,0\.5/g) ?? []).length === 32);
    assert.ok(!told()?.includes('"id":32'));
    assert.equal(count(COMMAND.createRecordStream), 32);
  });

  test('is gone with the sound server, which is told once, and back with it', async (t) => {
    const { server, backend, count, told, seen } = await metered(t, withCaptures(GIVEN));
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    server.say.send(peaks(4, 0.5, 0.25), METERS);
    await until('it is told', () => told() === living(0.5, 0.25));
    server.say.hangUp(0);
    await until('it is opened again', () => count(COMMAND.createRecordStream) === 2);
    await until('the old connections are gone', () => server.open() === 2);
    assert.ok(seen.levels.includes(UNKNOWN));
    backend.watch('audio.level', false);
    server.say.hangUp(2);
    await until('the server is found', () => seen.logs.length >= 4 && seen.up);
    assert.equal(count(COMMAND.createRecordStream), 2);
  });

  test('does not hold up the end of the daemon', async (t) => {
    const { server, backend, count } = await metered(t, withCaptures(GIVEN));
    backend.watch('audio.level', true);
    await until('it is opened', () => count(COMMAND.createRecordStream) === 1);
    await backend.stop();
    await until('all connections have ended', () => server.open() === 0);
  });
});
