// Makes a session for a test that plays the sound server. The conversation collects what the session reports.

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

/** Takes the bytes that the session has written. */
export const written = (session: Session): number[] => [...session.takeOutput()];
