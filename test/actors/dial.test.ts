// A real unix socket with a scripted server: bytes that arrive together, an address that is too long, and a server that does
// not read. Handshake, deadlines and the losses of a connection: audio/backend.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Link, UNSENT_MAX_BYTES } from '../../src/actors/dial.js';
import type { ClosedReason } from '../../src/protocol/pulse/outcome.js';
import { COMMAND, EVENT, event, ordinary, scriptedServer } from './audio/scripted-server.js';

/** A test that never ends must fail. */
const DEADLINE = { timeout: 60_000 };

function dialled(t: TestContext, path: string) {
  /** The callbacks, in order: `event INDEX`, `read`, `closed`. */
  const told: string[] = [];
  let ready: () => void = () => undefined;
  let closed: (reason: ClosedReason) => void = () => undefined;
  const promises = {
    ready: new Promise<void>((resolve) => {
      ready = resolve;
    }),
    closed: new Promise<ClosedReason>((resolve) => {
      closed = resolve;
    }),
  };
  const deadlines = { authDeadlineMs: 10_000, requestDeadlineMs: 10_000 };
  const session = { clientProps: {}, pendingMax: 100_000, ...deadlines };
  const link = new Link(
    { path, connectDeadlineMs: 10_000, session },
    {
      onReady: () => ready(),
      onEvent: ({ index }) => told.push(`event ${index}`),
      onRead: () => told.push('read'),
      onClosed: (reason) => {
        told.push('closed');
        closed(reason);
      },
    },
  );
  t.after(() => link.close({ kind: 'stopped' }));
  return { link, ...promises, told };
}

test('bytes that arrive together are handed on before their end is reported', DEADLINE, async (t) => {
  const server = await scriptedServer(t);
  const { link, ready, told } = dialled(t, server.socketPath);
  await ready;
  told.length = 0;
  server.say.send(Buffer.concat([event(EVENT.inputNew, 7), event(EVENT.inputNew, 8)]));
  await new Promise((resolve) => link.request('GET_SERVER_INFO', {}, resolve));
  assert.deepEqual(told.slice(0, told.indexOf('read')), ['event 7', 'event 8']);
});

describe('a connection ends', DEADLINE, () => {
  test('when the path is longer than an address may be', async (t) => {
    const { closed } = dialled(t, `/tmp/${'x'.repeat(200)}`);
    assert.equal((await closed).kind, 'transport-failed');
  });

  test('when the server reads nothing and more waits than the bound', async (t) => {
    const server = await scriptedServer(t, (request, say) => {
      if (request.command === COMMAND.setClientName) say.pause();
      return ordinary(request, say);
    });
    const { link, ready, closed } = dialled(t, server.socketPath);
    await ready;
    const name = 'x'.repeat(UNSENT_MAX_BYTES / 4);
    for (let sent = 0; sent < 64; sent += 1) link.request('SET_DEFAULT_SINK', { name }, () => undefined);
    assert.deepEqual(await closed, {
      kind: 'transport-failed',
      detail: 'the sound server does not read what it is sent',
    });
  });
});
