// Requests whose Host may be a name that the node has from Avahi: the gateway asks Avahi, then answers as
// usual. Avahi is scripted here, because a real one cannot be made to hang or to send rubbish.
// contract/avahi-names.test.ts uses a real one.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AvahiNames } from '../../src/gateway/avahi-names.js';
import { ManualClock } from '../manual-clock.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

const NAME = 'kitchen-2.local';
/** How long Avahi may take for an answer. This time and the next two are from gateway/avahi-names.ts. */
const DEADLINE_MS = 1000;
/** How long the gateway, without a new question, accepts a name that is in Avahi's last answer. */
const AVAHI_NAME_MS = 10_000;
/** How long the gateway, without a new question, refuses a name that is not in Avahi's last answer. */
const OTHER_NAME_MS = 1000;

class ScriptedAvahi {
  readonly #folder = temporaryFolder();
  readonly #pidFile = join(this.#folder, 'pid');
  readonly socketPath = join(this.#folder, 'socket');
  readonly questions: string[] = [];
  /** A line with the interface, the protocol and the name. If it is undefined, Avahi does not answer. */
  answer: string | undefined = `+ 2 0 ${NAME}\n`;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(t: TestContext) {
    writeFileSync(this.#pidFile, '1\n');
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        this.questions.push(String(data));
        if (this.answer !== undefined) socket.write(this.answer);
      });
    });
    this.#server.listen(this.socketPath);
    t.after(() => {
      for (const socket of this.#sockets) socket.destroy();
      this.#server.close();
    });
  }

  /** Answers the questions that have had no answer. */
  answerLate(answer: string): void {
    for (const socket of this.#sockets) socket.write(answer);
  }

  /** Without its pid file, Avahi counts as stopped. The socket stays, because systemd keeps it. */
  stopRunning(): void {
    rmSync(this.#pidFile);
  }
}

/**
 * The names of a scripted Avahi, with a manual clock. `names.has` returns undefined if Avahi must be asked
 * first.
 */
function withScriptedAvahi(t: TestContext) {
  const avahi = new ScriptedAvahi(t);
  const clock = new ManualClock();
  const { socketPath } = avahi;
  return { avahi, clock, names: new AvahiNames({ addresses: () => ['127.0.0.1'], socketPath, clock }) };
}

test('the gateway asks Avahi only about names below .local, and only once for all callers that wait', async (t) => {
  const { avahi, names } = withScriptedAvahi(t);
  assert.equal(names.has('kitchen-2.example.org'), false);
  assert.equal(names.has(NAME), undefined);
  await Promise.all([names.ask(), names.ask()]);
  assert.equal(names.has(NAME), true);
  assert.equal(names.has('other.local'), false);
  assert.deepEqual(avahi.questions, ['RESOLVE-ADDRESS 127.0.0.1\n']);
});

test('an answer of Avahi counts for 10 s for a name that is in it, and for less time for any other name', async (t) => {
  const { clock, names } = withScriptedAvahi(t);
  await names.ask();
  clock.advance(2 * OTHER_NAME_MS);
  assert.equal(names.has(NAME), true);
  assert.equal(names.has('other.local'), undefined);
  clock.advance(AVAHI_NAME_MS);
  assert.equal(names.has(NAME), undefined);
});

for (const [what, answer] of [
  ['a name of the web', '+ 2 0 evil.example\n'],
  ['an error', '-15 Timeout reached\n'],
  ['rubbish', '\0\0\0'.repeat(1000)],
  ['two names', '+ 2 0 kitchen-2.local evil.local\n'],
] as const) {
  test(`an answer with ${what} gives the node no name`, async (t) => {
    const { avahi, names } = withScriptedAvahi(t);
    avahi.answer = answer;
    await names.ask();
    for (const name of ['evil.example', 'evil.local', NAME]) assert.equal(names.has(name), false, name);
  });
}

test('neither an Avahi that hangs until the deadline nor an absent Avahi gives the node a name', async (t) => {
  const { avahi, clock, names } = withScriptedAvahi(t);
  avahi.answer = undefined;
  const questionEnd = names.ask();
  await until('Avahi has the question', () => avahi.questions.length === 1);
  clock.advance(DEADLINE_MS);
  await questionEnd;
  assert.equal(names.has(NAME), false);

  const absent = new AvahiNames({ addresses: () => ['127.0.0.1'], socketPath: '/nowhere/socket', clock });
  await absent.ask();
  assert.equal(absent.has(NAME), false);
});

test('a name from Avahi stays while the next answer is late, and goes when Avahi answers with an error', async (t) => {
  const { avahi, clock, names } = withScriptedAvahi(t);
  await names.ask();
  avahi.answer = undefined;
  const questionEnd = names.ask();
  await until('Avahi has the second question', () => avahi.questions.length === 2);
  clock.advance(DEADLINE_MS);
  await questionEnd;
  assert.equal(names.has(NAME), true);

  avahi.answer = '-15 Timeout reached\n';
  await names.ask();
  assert.equal(names.has(NAME), false);
});

test('an Avahi that does not run is not called, because systemd would start it', async (t) => {
  const { avahi, names } = withScriptedAvahi(t);
  avahi.stopRunning();
  await names.ask();
  assert.equal(names.has(NAME), false);
  assert.deepEqual(avahi.questions, []);
});

test('a request whose Host is a name from Avahi is served like any other', async (t) => {
  const avahi = new ScriptedAvahi(t);
  const under = GatewayUnderTest.up(SETTINGS, { avahiSocket: avahi.socketPath }).closeAtEndOf(t);
  const request = (requestLine: string, headers: string): RawConnection =>
    new RawConnection(under.port).write(
      `${requestLine} HTTP/1.1\r\nHost: ${NAME}:${under.port}\r\n${headers}`,
    );

  const stream = request('GET /events?types=server.info', '\r\n');
  assert.match(await stream.until((text) => text.includes('connected')), /^HTTP\/1\.1 200 /);
  stream.destroy();

  const unchanged = request('GET /audio', 'If-None-Match: *\r\n\r\n');
  await unchanged.until((text) => text.startsWith('HTTP/1.1 304 '));
  unchanged.destroy();

  const body = '{"muted":true}';
  const command = request(
    'POST /audio/server/mute',
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  // The body goes out after the head, in a packet of its own.
  await new Promise((resolve) => setImmediate(resolve));
  command.write(body);
  await command.until((text) => text.startsWith('HTTP/1.1 202 '));
  assert.deepEqual(under.backends.requests[0]?.command, {
    do: 'mute',
    target: { kind: 'server' },
    muted: true,
  });
  command.destroy();

  const foreign = request(
    'POST /audio/server/mute',
    'Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n',
  );
  await foreign.until((text) => text.startsWith('HTTP/1.1 403 '));
  foreign.destroy();
  assert.equal(under.backends.requests.length, 1);
});

test('a command gets its body even if the body comes while the gateway asks Avahi', async (t) => {
  const avahi = new ScriptedAvahi(t);
  avahi.answer = undefined;
  const under = GatewayUnderTest.up(SETTINGS, {
    avahiSocket: avahi.socketPath,
    clock: new ManualClock(),
  }).closeAtEndOf(t);
  const body = '{"muted":true}';
  const command = new RawConnection(under.port).write(
    `POST /audio/server/mute HTTP/1.1\r\nHost: ${NAME}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  await until('Avahi is asked', () => avahi.questions.length > 0);
  command.write(body);
  // The gateway has got the body when it answers a request that was sent after the body.
  assert.equal((await under.fetch({ path: '/server' })).status, 200);
  avahi.answerLate(`+ 2 0 ${NAME}\n`);
  await command.until((text) => text.startsWith('HTTP/1.1 202 '));
  command.destroy();
  const commands = under.backends.requests.map(({ command: received }) => received);
  assert.deepEqual(commands, [{ do: 'mute', target: { kind: 'server' }, muted: true }]);
});

test('if a client leaves while the gateway asks Avahi, the gateway forgets its request', async (t) => {
  const avahi = new ScriptedAvahi(t);
  avahi.answer = undefined;
  const under = GatewayUnderTest.up(SETTINGS, { avahiSocket: avahi.socketPath }).closeAtEndOf(t);
  const mute = `POST /audio/server/mute HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 0\r\n\r\n`;
  const leaving = new RawConnection(under.port).write(mute);
  await until('Avahi is asked', () => avahi.questions.length > 0);
  leaving.destroy();
  const staying = new RawConnection(under.port).write(mute);
  // Avahi gives no answer, so the node does not have the name.
  await staying.until((text) => text.startsWith('HTTP/1.1 403 '));
  staying.destroy();
  assert.deepEqual(under.backends.requests, []);
  assert.deepEqual(under.logged, []);
});
