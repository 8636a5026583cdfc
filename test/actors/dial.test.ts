// A connection to a scripted sound server that reads nothing after the handshake. audio/backend.test.ts has
// tests of the handshake, deadlines, order and all other ends of a connection.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Link, UNSENT_MAX_BYTES } from '../../src/actors/dial.js';
import type { ClosedReason } from '../../src/protocol/pulse/outcome.js';
import { COMMAND, ordinaryHandler, scriptedServer } from './audio/scripted-server.js';

/** The test must fail if the connection does not end. */
const DEADLINE = { timeout: 60_000 };
/** Together the requests have sixteen times the bytes that may wait. */
const REQUESTS = 64;
const BYTES_PER_REQUEST = UNSENT_MAX_BYTES / 4;

test(
  'a connection ends when the server reads nothing and more bytes wait to be sent than are allowed',
  DEADLINE,
  async (t) => {
    const server = await scriptedServer(t, (request, connection) => {
      // This request is the last of the handshake.
      if (request.command === COMMAND.setClientName) connection.pause();
      return ordinaryHandler(request, connection);
    });
    const deadlines = { authDeadlineMs: 10_000, requestDeadlineMs: 10_000 };
    const session = { clientProps: {}, pendingMax: 100_000, ...deadlines };
    const closed = new Promise<ClosedReason>((resolve) => {
      const onReady = (): void => {
        const name = 'x'.repeat(BYTES_PER_REQUEST);
        for (let sent = 0; sent < REQUESTS; sent += 1)
          link.request('SET_DEFAULT_SINK', { name }, () => undefined);
      };
      const options = { path: server.socketPath, connectDeadlineMs: 10_000, session };
      const link = new Link(options, { onReady, onEvent: () => undefined, onClosed: resolve });
      t.after(() => link.close({ kind: 'stopped' }));
    });
    const detail = 'the sound server does not read what it is sent';
    assert.deepEqual(await closed, { kind: 'transport-failed', detail });
  },
);
