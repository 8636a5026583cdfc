// Makes a session for a test. The test answers the session as the sound server would. The conversation
// collects what the session reports.

import assert from 'node:assert/strict';
import type { ClosedReason } from '../../../src/protocol/pulse/outcome.js';
import { Session, type SessionOptions } from '../../../src/protocol/pulse/session.js';
import type { SubscriptionEvent } from '../../../src/protocol/pulse/subscription.js';
import { reply, u32 } from './bytes.js';

export const OPTIONS: SessionOptions = {
  clientProps: { 'application.name': 'tonearm' },
  authDeadlineMs: 30_000,
  requestDeadlineMs: 5_000,
  pendingMax: 64,
};

/** The newest protocol version that the daemon knows. */
const DAEMON_VERSION = 35;
/** The handshake begins at this time. */
const NOW_MS = 0;
/** The tags of the two requests of the handshake: AUTH and SET_CLIENT_NAME. */
const AUTH_TAG = 0;
const NAME_TAG = 1;
/** The server's number for the client. Its value does not matter. */
const CLIENT_INDEX = 40;

export type Conversation = ReturnType<typeof converse>;

export function converse(options: Partial<SessionOptions> = {}) {
  const versions: number[] = [];
  const events: SubscriptionEvent[] = [];
  const closed: ClosedReason[] = [];
  /** The data and the ends of record streams, each with the number of its stream. */
  const streamEvents: (readonly [stream: number, event: number[] | 'killed'])[] = [];
  const session = new Session(
    { ...OPTIONS, ...options },
    {
      onReady: (version) => versions.push(version),
      onEvent: (event) => events.push(event),
      onData: (stream, payload) => streamEvents.push([stream, [...payload]]),
      onStreamKilled: (stream) => streamEvents.push([stream, 'killed']),
      onClosed: (reason) => closed.push(reason),
    },
  );
  return { session, versions, events, closed, streamEvents };
}

/** A session whose handshake is done. Its next request has tag 2. The server offers `serverVersion`. */
export function ready(serverVersion = DAEMON_VERSION): Conversation {
  const conversation = converse();
  const { session } = conversation;
  session.open(NOW_MS);
  session.receive(reply(AUTH_TAG, u32(serverVersion)));
  session.receive(reply(NAME_TAG, u32(CLIENT_INDEX)));
  // The test finds only its own requests in the output, not those of the handshake.
  session.takeOutput();
  assert.deepEqual(conversation.versions, [Math.min(DAEMON_VERSION, serverVersion)]);
  return conversation;
}

/** Takes the bytes that the session has written. */
export const written = (session: Session): number[] => [...session.takeOutput()];
