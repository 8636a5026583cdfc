// A real unix socket with a scripted server behind it: deadlines, write errors, and that every end is told once.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type DialOptions, Link, UNSENT_MAX_BYTES } from '../../src/actors/dial.js';
import type { ClosedReason, Result } from '../../src/protocol/pulse/outcome.js';
import type { ServerInfo } from '../../src/protocol/pulse/records.js';
import { PROTOCOL_VERSION } from '../sound/packet.js';
import { COMMAND, EVENT, event, type Handler, ordinary, scriptedServer } from './audio/scripted-server.js';

/** What never ends fails its test. */
const DEADLINE = { timeout: 20_000 };

interface Dialled {
  readonly link: Link;
  /** Resolves to the protocol version. */
  readonly ready: Promise<number>;
  readonly closed: Promise<ClosedReason>;
  readonly events: string[];
  /** How many events had been told at the end of each reading. */
  readonly toldAtReads: number[];
  closings(): number;
}

function dialled(t: TestContext, path: string, session: Partial<DialOptions['session']> = {}): Dialled {
  let closings = 0;
  const events: string[] = [];
  const toldAtReads: number[] = [];
  let ready: (version: number) => void = () => undefined;
  let closed: (reason: ClosedReason) => void = () => undefined;
  const promises = {
    ready: new Promise<number>((resolve) => {
      ready = resolve;
    }),
    closed: new Promise<ClosedReason>((resolve) => {
      closed = resolve;
    }),
  };
  const link = new Link(
    {
      path,
      connectDeadlineMs: 10_000,
      session: {
        clientProps: {},
        authDeadlineMs: 10_000,
        requestDeadlineMs: 10_000,
        pendingMax: 64,
        ...session,
      },
    },
    {
      onReady: (version) => ready(version),
      onEvent: ({ facility, type, index }) => events.push(`${facility} ${type} ${index}`),
      onRead: () => toldAtReads.push(events.length),
      onClosed: (reason) => {
        closings += 1;
        closed(reason);
      },
    },
  );
  t.after(() => link.close({ kind: 'stopped' }));
  return { link, ...promises, events, toldAtReads, closings: () => closings };
}

function serverInfo(link: Link, deadlineMs?: number): Promise<Result<ServerInfo>> {
  return new Promise((resolve) => link.request('GET_SERVER_INFO', {}, resolve, deadlineMs));
}

const unless = (command: number, answer: Handler): Handler => {
  return (request, say) => (request.command === command ? answer : ordinary)(request, say);
};

describe('a dialled connection', DEADLINE, () => {
  test('is ready after the handshake, carries requests and hears events', async (t) => {
    const server = await scriptedServer(t);
    const { link, ready, events } = dialled(t, server.socketPath);
    assert.equal(await ready, PROTOCOL_VERSION);
    server.say.send(event(EVENT.inputNew, 7));
    const result = await serverInfo(link);
    assert.equal(result.ok && result.value.defaultSink, 'living');
    assert.deepEqual(events, ['sink-input new 7']);
    assert.deepEqual(server.heard, [COMMAND.auth, COMMAND.setClientName, COMMAND.getServerInfo]);
  });
});

test('what comes at one time is told to its end before that is said', DEADLINE, async (t) => {
  const server = await scriptedServer(t);
  const { link, ready, toldAtReads } = dialled(t, server.socketPath);
  await ready;
  const handshake = toldAtReads.length;
  server.say.send(Buffer.concat([event(EVENT.inputNew, 7), event(EVENT.inputNew, 8)]));
  await serverInfo(link);
  const told = new Set(toldAtReads.slice(handshake));
  assert.deepEqual([...told], [2]);
});

describe('a connection ends', DEADLINE, () => {
  test('when there is nobody, but not before dial has returned', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'tonearm-dial-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const { closed, closings } = dialled(t, join(directory, 'native'));
    assert.equal(closings(), 0);
    const reason = await closed;
    assert.ok(reason.kind === 'transport-failed' && /ENOENT/.test(reason.detail), JSON.stringify(reason));
  });

  test('when the path is longer than an address may be', async (t) => {
    const { closed } = dialled(t, `/tmp/${'x'.repeat(200)}`);
    assert.equal((await closed).kind, 'transport-failed');
  });

  test('when the handshake is not answered', async (t) => {
    const server = await scriptedServer(t, () => undefined);
    const { closed } = dialled(t, server.socketPath, { authDeadlineMs: 20 });
    assert.deepEqual(await closed, { kind: 'timeout', command: 'AUTH' });
  });

  test('when the server hangs up; what was asked is told so first', async (t) => {
    const server = await scriptedServer(
      t,
      unless(COMMAND.getServerInfo, () => undefined),
    );
    const { link, ready, closed, closings } = dialled(t, server.socketPath);
    await ready;
    let closingsBefore: number | undefined;
    const asked = new Promise<Result<ServerInfo>>((resolve) => {
      link.request('GET_SERVER_INFO', {}, (result) => {
        closingsBefore = closings();
        resolve(result);
      });
    });
    server.say.hangUp();
    assert.equal((await closed).kind, 'peer-closed');
    const result = await asked;
    assert.equal(closingsBefore, 0);
    assert.equal(!result.ok && result.error.kind, 'closed');
    assert.equal(closings(), 1);
  });

  test('when the server reads nothing and more waits than the bound', async (t) => {
    const server = await scriptedServer(t, (request, say) => {
      if (request.command === COMMAND.setClientName) say.pause();
      return ordinary(request, say);
    });
    const { link, ready, closed } = dialled(t, server.socketPath, { pendingMax: 100_000 });
    await ready;
    const name = 'x'.repeat(UNSENT_MAX_BYTES / 4);
    for (let sent = 0; sent < 64; sent += 1) link.request('SET_DEFAULT_SINK', { name }, () => undefined);
    assert.deepEqual(await closed, { kind: 'transport-failed', detail: 'the sound server does not read' });
  });

  test('once, by whoever closes it first', async (t) => {
    const server = await scriptedServer(t);
    const { link, ready, closed, closings } = dialled(t, server.socketPath);
    await ready;
    link.close({ kind: 'stopped' });
    link.close({ kind: 'peer-closed' });
    assert.deepEqual(await closed, { kind: 'stopped' });
    const late = await serverInfo(link);
    assert.equal(!late.ok && late.error.kind, 'closed');
    assert.equal(closings(), 1);
  });
});

test('a request that is not answered in time fails alone', async (t) => {
  let answers = false;
  const server = await scriptedServer(
    t,
    unless(COMMAND.getServerInfo, (request, say) => (answers ? ordinary(request, say) : undefined)),
  );
  const { link, ready, closings } = dialled(t, server.socketPath);
  await ready;
  const result = await serverInfo(link, 20);
  assert.equal(!result.ok && result.error.kind, 'timeout');
  answers = true;
  assert.equal((await serverInfo(link)).ok, true);
  assert.equal(closings(), 0);
});
