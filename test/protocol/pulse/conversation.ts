// Makes a session for a test that plays the sound server: what the session writes and reports is collected
// as plain values.

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

export type Conversation = ReturnType<typeof converse>;

export function converse(options: Partial<SessionOptions> = {}) {
  const versions: number[] = [];
  const events: SubscriptionEvent[] = [];
  const closed: ClosedReason[] = [];
  /** Events of record streams: the stream's number, and its data or that it has ended. */
  const data: (readonly [stream: number, data: number[] | 'killed'])[] = [];
  const session = new Session(
    { ...OPTIONS, ...options },
    {
      onReady: (version) => versions.push(version),
      onEvent: (event) => events.push(event),
      onData: (stream, payload) => data.push([stream, [...payload]]),
      onStreamKilled: (stream) => data.push([stream, 'killed']),
      onClosed: (reason) => closed.push(reason),
    },
  );
  return { session, versions, events, closed, data };
}

/** A session whose handshake is done. Its next request has tag 2. */
export function ready(version = 35): Conversation {
  const conversation = converse();
  const { session } = conversation;
  session.open(0);
  session.receive(reply(0, u32(version)));
  session.receive(reply(1, u32(40)));
  session.takeOutput();
  assert.deepEqual(conversation.versions, [Math.min(35, version)]);
  return conversation;
}

/** All bytes that the session wants written. */
export const written = (session: Session): number[] => [...session.takeOutput()];
