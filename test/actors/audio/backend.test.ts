// The backend against a scripted server, for everything that real servers cannot be made to do. Real ones:
// real-servers.test.ts.

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { nextAttempt } from '../../../src/actors/audio/backend.js';
import { BURST_MAX_RECORDS } from '../../../src/actors/audio/refetch.js';
import { TIMING } from '../../../src/actors/audio/timing.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import { framed, source } from '../../protocol/pulse/bytes.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { faultOf, type Recorder } from '../recorder.js';
import { connected, DEADLINE, startBackend } from './backed.js';
import { but, bytesOf, COMMAND, event, type Handler, ordinary, scriptedServer } from './scripted-server.js';

const VOLUME: AudioCommand = { do: 'volume', target: { kind: 'client', ref: '5' }, volume: 0.5 };
const TOGGLE: AudioCommand = { do: 'mute', target: { kind: 'client', ref: '5' } };
const NAMELESS = bytesOf.server({ defaultSink: '@DEFAULT_SINK@' });

/** All but the sleep, which the backend publishes once, whatever the server does. */
const publishedOf = ({ published }: Recorder): readonly string[] =>
  published.filter((line) => line !== 'put audio.sleep');

describe('connecting', DEADLINE, () => {
  test('subscribes to events before it reads, and is up after it has published the records', async (t) => {
    const { server, recorder } = await connected(t);
    const subscribed = server.received.indexOf(COMMAND.subscribe);
    for (const read of [COMMAND.getServerInfo, COMMAND.getSinks, COMMAND.getInputs]) {
      assert.ok(server.received.lastIndexOf(read) > subscribed);
    }
    const puts = ['put audio.kind', 'put audio.server', 'put audio.outputs 0', 'put audio.clients 5'];
    assert.deepEqual(publishedOf(recorder), [...puts, 'up']);
  });

  const failures: readonly (readonly [string, Handler])[] = [
    ['does not answer the handshake', () => undefined],
    ['does not answer the first request', but({ [COMMAND.getSinks]: () => undefined })],
    [
      'refuses to give its info',
      but({ [COMMAND.getServerInfo]: ({ tag }, responder) => responder.error(tag, 1) }),
    ],
    [
      'refuses the subscription',
      but({ [COMMAND.subscribe]: ({ tag }, responder) => responder.error(tag, 1) }),
    ],
    ['refuses a list', but({ [COMMAND.getInputs]: ({ tag }, responder) => responder.error(tag, 10) })],
    ['sends garbage', () => Buffer.from('rubbish, and more than twenty bytes of it')],
    ['announces a huge frame', () => Buffer.from(framed([], { length: 0x7fffffff }))],
    ['hangs up', (_, responder) => void responder.hangUp()],
  ];
  for (const [what, handler] of failures) {
    test(`tries again when the server ${what}, and does not repeat the reason`, async (t) => {
      const server = await scriptedServer(t, handler);
      const { recorder, backend } = startBackend(t, server.socketPath, { authMs: 30, requestMs: 30 });
      await until('a second attempt', () => server.connections() >= 2);
      const published = publishedOf(recorder);
      assert.ok(published.every((line, at) => line.startsWith('connecting: ') && line !== published[at - 1]));
      assert.equal(faultOf(await backend.handle(VOLUME)), 'unavailable');
      server.handler = ordinary;
      await until('the backend is up', () => recorder.up);
      assert.deepEqual(recorder.logs, ['info: connected to the sound server']);
    });
  }

  test('takes the first address that answers', async (t) => {
    const server = await scriptedServer(t);
    const { recorder } = startBackend(t, `/nonexistent/native unix:${server.socketPath}`);
    await until('the backend is up', () => recorder.up);
    assert.equal(server.connections(), 1);
  });

  test('waits when there is no server at all, and ends at once when it is stopped', async (t) => {
    const { recorder, backend } = startBackend(t, '/nonexistent/native');
    const early = await backend.handle(VOLUME);
    assert.deepEqual(early, { ok: false, error: { fault: 'unavailable', detail: 'Not connected yet' } });
    await until('an attempt has failed', () => publishedOf(recorder).length > 0);
    const late = await backend.handle(VOLUME);
    const detail = late.ok ? '' : late.error.detail;
    assert.match(detail, /^Not connected: the connection to the sound server failed: .*ENOENT/);
    await backend.stop();
    assert.equal(recorder.published.filter((line) => line.startsWith('connecting')).length, 1);
  });
});

describe('a lost server', DEADLINE, () => {
  test('fails the commands that are under way and the queued ones', async (t) => {
    const { server, backend } = await connected(t, but({ [COMMAND.setInputVolume]: () => undefined }));
    const commands = [VOLUME, TOGGLE, VOLUME].map((command) => backend.handle(command));
    await until('the first one is sent', () => server.count(COMMAND.setInputVolume) === 1);
    server.responder.hangUp();
    for (const answer of await Promise.all(commands)) assert.equal(faultOf(answer), 'unavailable');
  });

  const patience: readonly (readonly [string, number, number | undefined, number])[] = [
    ['that lasted, at once', 7, 10_000, 0],
    ['that was up for moments only, later each time', 3, 9_999, 4],
    ['that never was up, later each time', 0, undefined, 1],
  ];
  for (const [what, attempt, upMs, expected] of patience) {
    test(`is tried again after a connection ${what}`, () =>
      assert.equal(nextAttempt(attempt, upMs, TIMING.stableMs), expected));
  }

  test('is tried at short intervals again when its socket has appeared', async (t) => {
    t.mock.method(Math, 'random', () => 0);
    const timers = t.mock.method(globalThis, 'setTimeout');
    const steps = () =>
      timers.mock.calls.map((call) => call.arguments[1]).filter((ms) => ms === 250 || ms === 500);
    const socketPath = join(temporaryFolder(t), 'native');
    startBackend(t, socketPath);
    await until('the second wait has begun', () => steps().length === 2);
    const server = createServer((socket) => socket.destroy());
    t.after(() => server.close());
    server.listen(socketPath);
    await until('the first wait has begun again', () => steps()[2] === 250);
  });

  test('is noticed, when the server sends nothing, by the regular reading that happens once a minute', async (t) => {
    const { server, recorder } = await connected(t, ordinary, { reconcileMs: 20, requestMs: 50 });
    server.handler = () => undefined;
    await until('the dead server is noticed', () => !recorder.up);
    assert.match(recorder.published.join('\n'), /^connecting: .*did not answer GET_/m);
    assert.ok(server.count(COMMAND.getSinks) >= 2);
  });

  test('the connection is replaced when no reading of a round names a default output, and the new one finds it', async (t) => {
    const server = await scriptedServer(t);
    const nameless = but({ [COMMAND.getServerInfo]: NAMELESS });
    server.handler = (request, responder) =>
      (server.connections() === 1 ? nameless : ordinary)(request, responder);
    const { recorder } = startBackend(t, server.socketPath, { reconcileMs: 20, stableMs: 0 });
    await until('the default is published', () => recorder.output('living')?.default === true);
    assert.equal(server.connections(), 2);
    const lost = 'connecting: the connection to the sound server failed: it names no default output';
    assert.ok(recorder.published.includes(lost), recorder.published.join());
  });

  test('where no connection finds a default output, the connection is replaced less and less often', async (t) => {
    const nameless = but({ [COMMAND.getServerInfo]: NAMELESS });
    const { server } = await connected(t, nameless, { reconcileMs: 20, stableMs: 0 });
    await until('four connections', () => server.count(COMMAND.auth) >= 4);
    // If each connection ended after its first reading, there would be one for each: these had 1, 2 and 4.
    const reads = server.count(COMMAND.getSinks);
    const connections = server.count(COMMAND.auth);
    assert.ok(reads >= connections + 2, `${reads} readings of ${connections} connections`);
  });
});

describe('events', DEADLINE, () => {
  test('about a record that the server no longer has remove the record', async (t) => {
    const forgetful = but({ [COMMAND.getInput]: ({ tag }, responder) => responder.error(tag, 5) });
    const { server, recorder } = await connected(t, forgetful);
    server.responder.send(event('inputChange', 5));
    await until('the client is dropped', () => recorder.published.includes('drop audio.clients 5'));
    assert.equal(recorder.up, true);
  });

  test('after events were lost everything is read again', async (t) => {
    const { server, recorder } = await connected(t, undefined, { reconcileMs: 20 });
    recorder.published.length = 0;
    await until('some readings', () => server.count(COMMAND.getSinks) > 3);
    assert.deepEqual(recorder.published, []);
    server.handler = but({ [COMMAND.getSinks]: bytesOf.sink(0, 'living', { volume: [0, 0] }) });
    await until('the difference is published', () => recorder.output('living')?.volume === 0);
    assert.deepEqual(recorder.published, ['put audio.server', 'put audio.outputs 0']);
  });
});

describe('commands', DEADLINE, () => {
  /** The request whose answer the event precedes. */
  const events = { PipeWire: COMMAND.setInputVolume, PulseAudio: COMMAND.getInput };
  for (const [kind, command] of Object.entries(events)) {
    test(`read the record that they change only once, though the server sends an event about it, as ${kind} does`, async (t) => {
      const telling: Handler = (request, responder) => {
        if (request.command === command) responder.send(event('inputChange', 5));
        return ordinary(request, responder);
      };
      const { backend, server } = await connected(t, telling);
      assert.deepEqual(await backend.handle(VOLUME), { ok: true, value: {} });
      server.responder.send(event('serverChange', 0xffffffff));
      await until('a later reading is done', () => server.count(COMMAND.getServerInfo) === 2);
      assert.equal(server.count(COMMAND.getInput), 1);
    });
  }

  for (const what of ['the stream that they changed goes', 'the connection ends']) {
    test(`commands that the server accepted are answered with success, though ${what} before the stream is read again`, async (t) => {
      const silent = but({ [COMMAND.getInput]: () => undefined });
      const { backend, server } = await connected(t, silent, { requestMs: 60_000 });
      server.responder.send(event('inputChange', 5));
      await until('the client is being read', () => server.count(COMMAND.getInput) === 1);
      const answer = backend.handle(VOLUME);
      await until('the command is sent', () => server.count(COMMAND.setInputVolume) === 1);
      // The request that follows this event shows that the backend has read the reply before it.
      server.responder.send(event('serverChange', 0xffffffff));
      await until('the reply is processed', () => server.count(COMMAND.getServerInfo) === 2);
      if (what === 'the connection ends') server.responder.hangUp();
      else server.responder.send(event('inputRemove', 5));
      assert.deepEqual(await answer, { ok: true, value: {} });
    });
  }
});

test('a command that switches a port is answered when the record has the new port', DEADLINE, async (t) => {
  const ports = ['speaker', 'headphones'].map((name) => [name, 2] as const);
  let activePort = 'speaker';
  const sink: Handler = ({ tag }, responder) =>
    responder.reply(tag, bytesOf.sink(0, 'living', { ports, activePort }));
  const desk = but({
    [COMMAND.getSinks]: sink,
    [COMMAND.getSink]: sink,
    [COMMAND.setSinkPort]: ({ tag, fields }, responder) => {
      activePort = fields.toString('utf8', fields.indexOf('t') + 1, fields.length - 1);
      return responder.reply(tag);
    },
  });
  const { backend, recorder } = await connected(t, desk);
  for (const port of ['headphones', 'speaker']) {
    assert.deepEqual(await backend.handle({ do: 'port', output: 'living', port }), { ok: true, value: {} });
    assert.equal(recorder.output('living')?.active_port, port);
  }
});

test(
  'the cookie of the file is sent to the sound server, and to a client that requests it',
  DEADLINE,
  async (t) => {
    const home = temporaryFolder(t);
    const cookie = Buffer.alloc(256, 0xab);
    mkdirSync(join(home, '.config/pulse'), { recursive: true });
    writeFileSync(join(home, '.config/pulse/cookie'), cookie);
    let sent: Buffer = Buffer.alloc(0);
    const noting = but({
      [COMMAND.auth]: (request, responder) => {
        sent = request.fields.subarray(-256);
        return ordinary(request, responder);
      },
    });
    const { backend } = await connected(t, noting, {}, home);
    const answer = await backend.handle({ do: 'cookie' });
    assert.deepEqual([answer.ok && Buffer.from(answer.value.bytes ?? []), sent], [cookie, cookie]);
  },
);

test('a socket that appears ends the wait for a server that hangs in the handshake', DEADLINE, async (t) => {
  const hanging = await scriptedServer(t, () => undefined);
  const { recorder } = startBackend(t, hanging.socketPath, { authMs: 60_000 });
  await until('the hanging server has got AUTH', () => hanging.received.includes(COMMAND.auth));
  const server = await scriptedServer(t);
  renameSync(server.socketPath, hanging.socketPath);
  await until('the backend is up', () => recorder.up);
});

describe('many requests at once', DEADLINE, () => {
  test('two hundred requests for the network ports are answered, and a change is read meanwhile', async (t) => {
    const { server, recorder, backend } = await connected(t);
    const commands = Array.from({ length: 200 }, () => backend.handle({ do: 'network' }));
    server.responder.send(event('inputChange', 5));
    const refused = (await Promise.all(commands)).filter((answer) => !answer.ok);
    assert.deepEqual(refused, []);
    await until('the stream is read', () => server.count(COMMAND.getInput) === 1);
    assert.deepEqual([recorder.up, server.connections()], [true, 1]);
  });

  test('a connection survives the largest number of changes of every kind that are read one by one', async (t) => {
    const indices = Array.from({ length: BURST_MAX_RECORDS }, (_, index) => index);
    const sources = indices.flatMap((index) => source({ index, name: `input ${index}` }));
    const { server } = await connected(t, but({ [COMMAND.getSources]: sources }));
    const before = server.received.length;
    server.handler = () => undefined;
    const kinds = ['cardChange', 'sinkChange', 'sourceChange', 'inputChange'] as const;
    const events = kinds.flatMap((kind) => indices.map((index) => event(kind, index)));
    server.responder.send(Buffer.concat([...events, event('serverChange', 0)]));
    await until('all of it is requested', () => server.received.length - before > events.length);
    assert.equal(server.connections(), 1);
  });
});
