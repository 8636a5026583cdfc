// Tests that a connection ends if the sound server reads nothing after the handshake. audio/backend.test.ts
// tests other reasons why a connection ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Link, UNSENT_MAX_BYTES } from '../../src/actors/dial.js';
import type { ClosedReason } from '../../src/protocol/pulse/outcome.js';
import { COMMAND, ordinaryHandler, scriptedServer } from './audio/scripted-server.js';

/** The test must fail if the connection does not end. */
const DEADLINE = { timeout: 60_000 };
/** All requests together are sixteen times as long as `UNSENT_MAX_BYTES`. */
const REQUEST_COUNT = 64;
const BYTES_PER_REQUEST = UNSENT_MAX_BYTES / 4;

test(
  'a connection ends if the sound server reads nothing and the number of unsent bytes exceeds the bound',
  DEADLINE,
  async (t) => {
    const server = await scriptedServer(t, (request, responder) => {
      // This request is the last of the handshake. The server reads nothing after it.
      if (request.command === COMMAND.setClientName) responder.pause();
      return ordinaryHandler(request, responder);
    });
    const deadlines = { authDeadlineMs: 10_000, requestDeadlineMs: 10_000 };
    const session = { clientProps: {}, pendingMax: 100_000, ...deadlines };
    const closed = new Promise<ClosedReason>((resolve) => {
      const onReady = (): void => {
        const name = 'x'.repeat(BYTES_PER_REQUEST);
        for (let sent = 0; sent < REQUEST_COUNT; sent += 1)
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
