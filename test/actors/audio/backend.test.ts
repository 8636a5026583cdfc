// Tests the backend against a scripted server, for everything that real servers cannot be made to do.
// real-servers.test.ts has the tests on real servers.

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { nextAttempt } from '../../../src/actors/audio/backend.js';
import { BURST_MAX_RECORDS } from '../../../src/actors/audio/refetch.js';
import { COOKIE_BYTES } from '../../../src/actors/audio/server-files.js';
import { TIMING } from '../../../src/actors/audio/timing.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import { framed } from '../../protocol/pulse/bytes.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { faultOf, type Recorder } from '../recorder.js';
import {
  bytesOf,
  COMMAND,
  ERROR,
  event,
  type Handler,
  ordinaryExcept,
  ordinaryHandler,
  type ScriptedServer,
  scriptedServer,
} from './scripted-server.js';
import { DEADLINE, startBackend, startOnScriptedServer } from './start-backend.js';

/** The index of the only sink input of the scripted server, and so the id of the only client. */
const CLIENT_ID = 5;
const TARGET = { kind: 'client', ref: String(CLIENT_ID) } as const;
const VOLUME: AudioCommand = { do: 'volume', target: TARGET, volume: 0.5 };
const TOGGLE: AudioCommand = { do: 'mute', target: TARGET };
/** The index in events about the server itself. */
const NO_INDEX = 0xffffffff;
/** The info of a server that has no default output. The info names a placeholder instead. */
const INFO_WITHOUT_DEFAULT = bytesOf.server({ defaultSink: '@DEFAULT_SINK@' });

/** Everything that was published, except the sleep timer. The timer does not depend on the sound server. */
const publishedOf = ({ published }: Recorder): readonly string[] =>
  published.filter((line) => line !== 'put audio.sleep');

describe('a backend that connects', DEADLINE, () => {
  test('subscribes to events before it reads, and is up after it has published the records', async (t) => {
    const { server, recorder } = await startOnScriptedServer(t);
    const subscribePosition = server.received.indexOf(COMMAND.subscribe);
    // The server's info is also requested before the subscription, so the last request counts.
    for (const command of [COMMAND.getServerInfo, COMMAND.getSinks, COMMAND.getInputs]) {
      assert.ok(server.received.lastIndexOf(command) > subscribePosition);
    }

    const puts = ['put audio.kind', 'put audio.server', 'put audio.outputs 0', 'put audio.clients 5'];
    assert.deepEqual(publishedOf(recorder), [...puts, 'up']);
  });

  const failures: readonly (readonly [what: string, handler: Handler])[] = [
    ['does not answer the handshake', () => undefined],
    ['does not answer the request for its sinks', ordinaryExcept({ [COMMAND.getSinks]: () => undefined })],
    [
      'refuses to give its info',
      ordinaryExcept({ [COMMAND.getServerInfo]: ({ tag }, responder) => responder.error(tag, ERROR.access) }),
    ],
    [
      'refuses the subscription',
      ordinaryExcept({ [COMMAND.subscribe]: ({ tag }, responder) => responder.error(tag, ERROR.access) }),
    ],
    [
      'refuses to list its sink inputs',
      ordinaryExcept({ [COMMAND.getInputs]: ({ tag }, responder) => responder.error(tag, ERROR.internal) }),
    ],
    ['sends garbage', () => Buffer.from('rubbish, and more than twenty bytes of it')],
    ['announces a huge frame', () => Buffer.from(framed([], { length: 0x7fffffff }))],
    ['hangs up', (_, responder) => void responder.hangUp()],
  ];
  for (const [what, handler] of failures) {
    test(`tries to connect again when the server ${what}, and does not publish the same reason twice in succession`, async (t) => {
      const server = await scriptedServer(t, handler);
      const { recorder, backend } = startBackend(t, server.socketPath, {
        timing: { authMs: 30, requestMs: 30 },
      });
      // When the third attempt begins, the second one has failed for the same reason as the first.
      await until('a third attempt', () => server.connections() >= 3);

      const published = publishedOf(recorder);
      for (const [index, line] of published.entries()) {
        assert.match(line, /^connecting: /);
        assert.notEqual(line, published[index - 1], 'the reason is repeated');
      }
      assert.equal(faultOf(await backend.handle(VOLUME)), 'unavailable');

      server.handler = ordinaryHandler;
      await until('the backend is up', () => recorder.isUp);
      assert.deepEqual(recorder.logs, ['info: connected to the sound server']);
    });
  }

  test('takes the first address that answers', async (t) => {
    const server = await scriptedServer(t);
    // These are two addresses. The first one gets its `unix:` from `startBackend`.
    const { recorder } = startBackend(t, `/nonexistent/native unix:${server.socketPath}`);
    await until('the backend is up', () => recorder.isUp);
    assert.equal(server.connections(), 1);
  });

  test('refuses commands if there is no server at all, names the reason in the refusal, and publishes the reason only once', async (t) => {
    const { recorder, backend } = startBackend(t, '/nonexistent/native');

    const early = await backend.handle(VOLUME);
    assert.deepEqual(early, { ok: false, error: { fault: 'unavailable', detail: 'Not connected yet' } });

    await until('an attempt has failed', () => publishedOf(recorder).length > 0);
    const late = await backend.handle(VOLUME);
    const detail = late.ok ? '' : late.error.detail;
    assert.match(detail, /^Not connected: the connection to the sound server failed: .*ENOENT/);

    await backend.stop();
    // `stop` publishes no further reason.
    assert.equal(recorder.published.filter((line) => line.startsWith('connecting')).length, 1);
  });
});

describe('a lost server', DEADLINE, () => {
  test('makes both the command that is under way and the queued commands fail', async (t) => {
    const { server, backend } = await startOnScriptedServer(
      t,
      ordinaryExcept({ [COMMAND.setInputVolume]: () => undefined }),
    );
    const commands = [VOLUME, TOGGLE, VOLUME].map((command) => backend.handle(command));
    await until('the first command is sent', () => server.count(COMMAND.setInputVolume) === 1);

    server.responder.hangUp();
    for (const answer of await Promise.all(commands)) assert.equal(faultOf(answer), 'unavailable');
  });

  /**
   * Attempt 0 begins at once, and the wait before an attempt grows with the attempt's number. A connection
   * lasted if it was up for at least `TIMING.stableMs`, which is 10 s.
   */
  const attempts: readonly (readonly [
    what: string,
    attempt: number,
    upMs: number | undefined,
    expectedNext: number,
  ])[] = [
    ['at once if the connection lasted', 7, 10_000, 0],
    ['after a longer wait if the connection did not last', 3, 9_999, 4],
    ['after a longer wait if no connection came up', 0, undefined, 1],
  ];
  for (const [what, attempt, upMs, expectedNext] of attempts) {
    test(`is tried again ${what}`, () =>
      assert.equal(nextAttempt(attempt, upMs, TIMING.stableMs), expectedNext));
  }

  test('is tried again when its socket appears, and the waits then begin anew with the shortest one', async (t) => {
    t.mock.method(Math, 'random', () => 0);
    const timers = t.mock.method(globalThis, 'setTimeout');
    // The first two waits of `backoffMs` in host/clock.ts. With the mock they have no random part.
    const FIRST_MS = 250;
    const SECOND_MS = 500;
    const waitsMs = () =>
      timers.mock.calls.map((call) => call.arguments[1]).filter((ms) => ms === FIRST_MS || ms === SECOND_MS);

    const socketPath = join(temporaryFolder(t), 'native');
    startBackend(t, socketPath);
    await until('the second wait has begun', () => waitsMs().length === 2);

    // This server ends each connection, so that the backend waits again.
    const server = createServer((socket) => socket.destroy());
    t.after(() => server.close());
    server.listen(socketPath);

    await until('the first wait has begun again', () => waitsMs()[2] === FIRST_MS);
  });

  test('a server that no longer answers is noticed by the regular reading', async (t) => {
    const { server, recorder } = await startOnScriptedServer(t, ordinaryHandler, {
      timing: { reconcileMs: 20, requestMs: 50 },
    });
    server.handler = () => undefined;
    await until('the dead server is noticed', () => !recorder.isUp);
    assert.match(recorder.published.join('\n'), /^connecting: .*did not answer GET_/m);
    // The first request for the sinks comes from the start, so the second one comes from the regular reading.
    assert.ok(server.count(COMMAND.getSinks) >= 2);
  });

  /** The server is read every 20 ms. After the loss of any connection, the next attempt begins at once. */
  const QUICK_TIMING = { reconcileMs: 20, stableMs: 0 };

  test('a connection on which the server names no default output is replaced, and the new connection finds a default output', async (t) => {
    const server = await scriptedServer(t);
    const withoutDefault = ordinaryExcept({ [COMMAND.getServerInfo]: INFO_WITHOUT_DEFAULT });
    server.handler = (request, responder) => {
      const handler = server.connections() === 1 ? withoutDefault : ordinaryHandler;
      return handler(request, responder);
    };

    const { recorder } = startBackend(t, server.socketPath, { timing: QUICK_TIMING });
    await until('the default is published', () => recorder.output('living')?.default === true);

    assert.equal(server.connections(), 2);
    const lost = 'connecting: the connection to the sound server failed: it names no default output';
    assert.ok(recorder.published.includes(lost), recorder.published.join());
  });

  test('where no connection finds a default output, the connection is replaced less and less often', async (t) => {
    const withoutDefault = ordinaryExcept({ [COMMAND.getServerInfo]: INFO_WITHOUT_DEFAULT });
    const { server } = await startOnScriptedServer(t, withoutDefault, { timing: QUICK_TIMING });
    await until('four connections', () => server.count(COMMAND.auth) >= 4);

    // The first three connections last for 1, 2 and 4 readings, so there are at least seven readings. If each
    // connection lasted for one reading, there would be no more readings than connections. The test requires
    // only two more readings than connections.
    const reads = server.count(COMMAND.getSinks);
    const connections = server.count(COMMAND.auth);
    assert.ok(reads >= connections + 2, `${reads} readings on ${connections} connections`);
  });
});

describe('events', DEADLINE, () => {
  test('an event about a record that the server no longer has removes the record', async (t) => {
    const withoutClient = ordinaryExcept({
      [COMMAND.getInput]: ({ tag }, responder) => responder.error(tag, ERROR.noEntity),
    });
    const { server, recorder } = await startOnScriptedServer(t, withoutClient);
    server.responder.send(event('sinkInputChange', CLIENT_ID));
    await until('the client is dropped', () => recorder.published.includes('drop audio.clients 5'));
    assert.equal(recorder.isUp, true);
  });

  test('a change without an event is published, because everything is read again and again', async (t) => {
    const { server, recorder } = await startOnScriptedServer(t, ordinaryHandler, {
      timing: { reconcileMs: 20 },
    });

    recorder.published.length = 0;
    await until('the outputs are read again and again', () => server.count(COMMAND.getSinks) > 3);
    assert.deepEqual(recorder.published, []);

    server.handler = ordinaryExcept({ [COMMAND.getSinks]: bytesOf.sink(0, 'living', { volume: [0, 0] }) });
    await until('the difference is published', () => recorder.output('living')?.volume === 0);
    // The record of the server also has the volume of the default output, which is `living`.
    assert.deepEqual(recorder.published, ['put audio.server', 'put audio.outputs 0']);
  });
});

describe('commands', DEADLINE, () => {
  /**
   * The server sends an event about the changed record right before it answers the request `answeredNext`.
   * `answeredNext` is the request of the command, or the request of the reading after the command.
   */
  const eventTimes: readonly (readonly [when: string, answeredNext: number])[] = [
    ['before it answers the command, as PipeWire does', COMMAND.setInputVolume],
    ['after it has answered the command, as PulseAudio does', COMMAND.getInput],
  ];
  for (const [when, answeredNext] of eventTimes) {
    test(`the record that a command changes is read only once, even if the server sends an event ${when}`, async (t) => {
      const sendingEvent: Handler = (request, responder) => {
        if (request.command === answeredNext) responder.send(event('sinkInputChange', CLIENT_ID));
        return ordinaryHandler(request, responder);
      };

      const { backend, server } = await startOnScriptedServer(t, sendingEvent);
      assert.deepEqual(await backend.handle(VOLUME), { ok: true, value: {} });
      const infoCountBefore = server.count(COMMAND.getServerInfo);
      server.responder.send(event('serverChange', NO_INDEX));
      await until('a later reading is done', () => server.count(COMMAND.getServerInfo) > infoCountBefore);
      assert.equal(server.count(COMMAND.getInput), 1);
    });
  }

  const losses: Readonly<Record<string, (responder: ScriptedServer['responder']) => void>> = {
    'the stream ends': ({ send }) => send(event('sinkInputRemove', CLIENT_ID)),
    'the connection ends': ({ hangUp }) => hangUp(),
  };
  for (const [what, lose] of Object.entries(losses)) {
    test(`an accepted command for a stream is answered with success, even if ${what} before the stream is read again`, async (t) => {
      const silent = ordinaryExcept({ [COMMAND.getInput]: () => undefined });
      const { backend, server } = await startOnScriptedServer(t, silent, { timing: { requestMs: 60_000 } });
      // This reading never ends, so the reading after the command does not begin.
      server.responder.send(event('sinkInputChange', CLIENT_ID));
      await until('the client is being read', () => server.count(COMMAND.getInput) === 1);

      const answer = backend.handle(VOLUME);
      await until('the command is sent', () => server.count(COMMAND.setInputVolume) === 1);
      // The backend requests the server's info after this event. By then the backend has read the reply to
      // the command, because the server sent the reply before the event.
      const infoCountBefore = server.count(COMMAND.getServerInfo);
      server.responder.send(event('serverChange', NO_INDEX));
      await until('the reply is processed', () => server.count(COMMAND.getServerInfo) > infoCountBefore);

      lose(server.responder);
      assert.deepEqual(await answer, { ok: true, value: {} });
    });
  }
});

test(
  'a command is answered only after its change is published, even if an output has come and everything is being read',
  DEADLINE,
  async (t) => {
    const answerMuted = ordinaryExcept({
      [COMMAND.getInput]: bytesOf.sinkInput(CLIENT_ID, 'News', { muted: true }),
    });
    const { backend, server, recorder } = await startOnScriptedServer(t);
    /** The tag of the request for the cards. Nothing is published before the test sends the delayed reply. */
    let delayedTag: number | undefined;
    server.handler = (request, responder) => {
      if (request.command !== COMMAND.getCards) return answerMuted(request, responder);
      delayedTag = request.tag;
      return undefined;
    };
    server.responder.send(event('sinkNew', 0));
    const tag = await until('the cards are requested', () => delayedTag);

    let isAnswered = false;
    const answer = backend.handle({ ...TOGGLE, muted: true }).finally(() => {
      isAnswered = true;
    });
    await until('the client is read', () => server.count(COMMAND.getInput) === 1);
    const infoCountBefore = server.count(COMMAND.getServerInfo);
    // The backend requests the server's info after this event. By then the backend has read the record of
    // the client, because the server sent the record before the event.
    server.responder.send(event('serverChange', NO_INDEX));
    await until('the record is processed', () => server.count(COMMAND.getServerInfo) > infoCountBefore);
    assert.deepEqual([isAnswered, recorder.client(CLIENT_ID)?.muted], [false, false]);

    server.responder.send(server.responder.reply(tag));
    assert.deepEqual(await answer, { ok: true, value: {} });
    assert.equal(recorder.client(CLIENT_ID)?.muted, true);
  },
);

test('a command that switches a port is answered when the record has the new port', DEADLINE, async (t) => {
  const AVAILABLE = 2;
  const ports = ['speaker', 'headphones'].map((name) => [name, AVAILABLE] as const);
  let activePort = 'speaker';
  const sink: Handler = ({ tag }, responder) =>
    responder.reply(tag, bytesOf.sink(0, 'living', { ports, activePort }));
  const handler = ordinaryExcept({
    [COMMAND.getSinks]: sink,
    [COMMAND.getSink]: sink,
    [COMMAND.setSinkPort]: ({ tag, fields }, responder) => {
      // The port's name is between the letter t and a zero byte.
      activePort = fields.toString('utf8', fields.indexOf('t') + 1, fields.length - 1);
      return responder.reply(tag);
    },
  });

  const { backend, recorder } = await startOnScriptedServer(t, handler);
  for (const port of ['headphones', 'speaker']) {
    assert.deepEqual(await backend.handle({ do: 'port', output: 'living', port }), { ok: true, value: {} });
    assert.equal(recorder.output('living')?.active_port, port);
  }
});

test(
  'the cookie from the home directory is sent to the sound server, and to a client that requests the cookie',
  DEADLINE,
  async (t) => {
    const home = temporaryFolder(t);
    const cookie = Buffer.alloc(COOKIE_BYTES, 0xab);
    mkdirSync(join(home, '.config/pulse'), { recursive: true });
    writeFileSync(join(home, '.config/pulse/cookie'), cookie);

    let sent: Buffer = Buffer.alloc(0);
    const handler = ordinaryExcept({
      [COMMAND.auth]: (request, responder) => {
        sent = request.fields.subarray(-COOKIE_BYTES);
        return ordinaryHandler(request, responder);
      },
    });

    const { backend } = await startOnScriptedServer(t, handler, { home });
    const answer = await backend.handle({ do: 'cookie' });
    assert.deepEqual([answer.ok && Buffer.from(answer.value.bytes ?? []), sent], [cookie, cookie]);
  },
);

test('a socket that appears ends the wait for a server that hangs in the handshake', DEADLINE, async (t) => {
  const hanging = await scriptedServer(t, () => undefined);
  const { recorder } = startBackend(t, hanging.socketPath, { timing: { authMs: 60_000 } });
  await until('the hanging server has received AUTH', () => hanging.received.includes(COMMAND.auth));

  const server = await scriptedServer(t);
  // The new server's socket takes the path of the hanging server's socket.
  renameSync(server.socketPath, hanging.socketPath);
  await until('the backend is up', () => recorder.isUp);
});

describe('many requests at once', DEADLINE, () => {
  test('two hundred requests for the network ports are answered, and a change that comes meanwhile is read', async (t) => {
    const { server, recorder, backend } = await startOnScriptedServer(t);

    const commands = Array.from({ length: 200 }, () => backend.handle({ do: 'network' }));
    server.responder.send(event('sinkInputChange', CLIENT_ID));

    const refused = (await Promise.all(commands)).filter((answer) => !answer.ok);
    assert.deepEqual(refused, []);
    await until('the stream is read', () => server.count(COMMAND.getInput) === 1);
    assert.deepEqual([recorder.isUp, server.connections()], [true, 1]);
  });

  test('a connection survives the changes of BURST_MAX_RECORDS records of each kind, with one request for each record', async (t) => {
    // The indices begin at 1, because a change of the source 0 is not read. This source is the monitor of the
    // sink (reading.ts).
    const indices = Array.from({ length: BURST_MAX_RECORDS }, (_, position) => position + 1);
    const { server } = await startOnScriptedServer(t);
    const receivedBefore = server.received.length;

    // Without replies all the requests are open at the same time.
    server.handler = () => undefined;

    const kinds = ['cardChange', 'sinkChange', 'sourceChange', 'sinkInputChange'] as const;
    const recordEvents = kinds.flatMap((kind) => indices.map((index) => event(kind, index)));
    const events = [...recordEvents, event('serverChange', NO_INDEX)];
    server.responder.send(Buffer.concat(events));
    await until('every record is requested', () => server.received.length - receivedBefore >= events.length);
    assert.equal(server.connections(), 1);
  });
});
