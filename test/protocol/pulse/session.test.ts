// The session as a state machine: handshake, replies by tag, deadlines, bounds, and every way to end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClosedReason } from '../../../src/protocol/pulse/outcome.js';
import { Session } from '../../../src/protocol/pulse/session.js';
import * as wire from './bytes.js';
import { converse, OPTIONS, ready, written } from './conversation.js';

const { error, event, reply, u32 } = wire;

/** Numbers of commands (native-common.h of PulseAudio). */
const AUTH = 8;
const SET_CLIENT_NAME = 9;
const RECORD_STREAM_KILLED = 65;
const SUBSCRIBE_EVENT = 66;
const CLIENT_EVENT = 91;
/** The tag of a message that answers no request. */
const NO_TAG = 0xffffffff;
/** The index that stands for no object. */
const NO_INDEX = 0xffffffff;
/** Kinds of events: the low bits are the facility, the higher ones the type. */
const SINK_CHANGED = 0x10;
const SERVER_CHANGED = 0x17;
const SINK_INPUT_REMOVED = 0x22;

/**
 * Requests a mute. When the request ends, `log` gets `name` and the result. The default deadline is 5,000 ms
 * after `now` (OPTIONS of conversation.ts). Requests of a session from `ready` have the tags 2, 3, 4 and so
 * on.
 */
function requestMute(session: Session, log: string[], name: string, now = 0, deadlineMs?: number): void {
  session.request(
    'SET_SINK_MUTE',
    { index: 1, muted: true },
    now,
    (result) => log.push(`${name} ${result.ok ? 'done' : result.error.kind}`),
    deadlineMs,
  );
}

const FRAME_HEADER_BYTES = 20;
/** A u32 is its type tag and four bytes. */
const U32_BYTES = 5;
/** Takes the session's output, and returns the command of the first frame, as the bytes of a u32. */
const firstCommand = (session: Session): number[] =>
  written(session).slice(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + U32_BYTES);

const join = (...frames: Uint8Array[]): Uint8Array => Uint8Array.from(frames.flatMap((frame) => [...frame]));

test('the name is sent after the reply to AUTH, and requests are possible after the reply to the name', () => {
  const { session, versions } = converse();
  const log: string[] = [];
  requestMute(session, log, 'before open');
  session.open(0);
  assert.deepEqual(firstCommand(session), u32(AUTH));
  requestMute(session, log, 'before auth');
  session.receive(reply(0, u32(33)));
  assert.deepEqual(firstCommand(session), u32(SET_CLIENT_NAME));
  requestMute(session, log, 'before name');
  assert.deepEqual(versions, []);
  session.receive(reply(1, u32(5)));
  assert.deepEqual(versions, [33]);
  requestMute(session, log, 'ready');
  session.receive(reply(2));
  const refused = ['before open', 'before auth', 'before name'].map((name) => `${name} not-ready`);
  assert.deepEqual(log, [...refused, 'ready done']);
});

test('replies settle their own requests in any order, with events between them', () => {
  const { session, events } = ready();
  const log: string[] = [];
  for (const name of ['a', 'b', 'c']) requestMute(session, log, name);
  const frames = [
    event(SINK_CHANGED, 3),
    reply(4),
    event(SERVER_CHANGED, NO_INDEX),
    error(2, 5),
    reply(3),
    event(SINK_INPUT_REMOVED, 9),
  ];
  session.receive(join(...frames));
  assert.deepEqual(log, ['c done', 'a server', 'b done']);
  assert.deepEqual(events, [
    { facility: 'sink', type: 'change', index: 3 },
    { facility: 'server', type: 'change', index: undefined },
    { facility: 'sink-input', type: 'remove', index: 9 },
  ]);
});

test('a request without an answer in time is settled, and its late answer is ignored', () => {
  // If the last of these replies came in time, it would be a violation, because it has bytes left over.
  for (const lateAnswer of [reply(2), error(2, 1), reply(2, u32(1))]) {
    const { session, closed } = ready();
    const log: string[] = [];
    requestMute(session, log, 'slow', 100);
    requestMute(session, log, 'slower', 100, 9_000);
    assert.equal(session.nextDeadline(), 5_100);
    session.expire(5_099);
    assert.deepEqual(log, []);
    session.expire(5_100);
    assert.deepEqual(log, ['slow timeout']);
    assert.equal(session.nextDeadline(), 9_100);
    session.receive(lateAnswer);
    session.receive(reply(3));
    session.expire(99_999);
    assert.deepEqual([log, closed], [['slow timeout', 'slower done'], []]);
    assert.equal(session.nextDeadline(), undefined);
  }
});

test('at most pendingMax requests are without an answer, and one that has timed out counts until its answer comes', () => {
  const { session } = ready();
  const log: string[] = [];
  const refused: string[] = [];
  for (let count = 0; count < OPTIONS.pendingMax; count += 1) requestMute(session, log, 'allowed');
  requestMute(session, refused, 'more');
  // All allowed requests time out here, and still count.
  session.expire(5_000);
  requestMute(session, refused, 'after the deadline', 5_000);
  assert.deepEqual(refused, ['more overflow', 'after the deadline overflow']);
  assert.equal(log.length, OPTIONS.pendingMax);
  session.receive(reply(3));
  requestMute(session, refused, 'after an answer', 5_001);
  // The last request is pending, so `refused` has only the two refusals from before.
  assert.equal(refused.length, 2);
});

test('each request is settled exactly once, even a request after the end, and the end is reported once', () => {
  const log: string[] = [];
  const session = new Session(OPTIONS, {
    onReady: () => log.push('ready'),
    onEvent: () => log.push('event'),
    onClosed: (reason) => log.push(`closed ${reason.kind}`),
  });
  session.open(0);
  session.receive(join(reply(0, u32(35)), reply(1, u32(1))));
  requestMute(session, log, 'a');
  requestMute(session, log, 'b');
  session.expire(5_000);
  requestMute(session, log, 'c', 5_000);

  session.close({ kind: 'peer-closed' });
  // The session has ended, so the calls below have no effect, except that `d` fails.
  session.close({ kind: 'stopped' });
  session.receive(join(reply(4), event(SINK_CHANGED, 1), Uint8Array.of(1, 2, 3)));
  session.expire(99_999);
  session.open(0);
  requestMute(session, log, 'd');
  assert.deepEqual(log, ['ready', 'a timeout', 'b timeout', 'c closed', 'closed peer-closed', 'd closed']);
  assert.deepEqual(written(session), []);
  assert.equal(session.nextDeadline(), undefined);
});

test('the callback of a request may send a new request, and may end the session', () => {
  const { session, closed, events, streamEvents } = ready();
  const log: string[] = [];
  session.request('SET_SINK_MUTE', { index: 1, muted: true }, 0, () => {
    requestMute(session, log, 'follow-up');
    session.close({ kind: 'stopped' });
    requestMute(session, log, 'too late');
  });
  const streamFrames = [
    wire.framed([1, 2, 3], { channel: 4 }),
    wire.command(RECORD_STREAM_KILLED, NO_TAG, u32(4)),
  ];
  const violation = wire.framed([1], { flags: 1 });
  // The reply's callback ends the session, so all frames after the reply have no effect.
  session.receive(join(reply(2), ...streamFrames, event(SINK_CHANGED, 1), reply(3), violation));
  assert.deepEqual(log, ['follow-up closed', 'too late closed']);
  assert.deepEqual([closed, events, streamEvents], [[{ kind: 'stopped' }], [], []]);
});

test('no request is settled twice if a callback ends the session at a time-out', () => {
  const { session } = ready();
  const log: string[] = [];
  session.request('GET_SERVER_INFO', {}, 0, () => session.close({ kind: 'stopped' }));
  requestMute(session, log, 'b');
  session.expire(5_000);
  assert.deepEqual(log, ['b closed']);
});

test('an error that a callback throws is not reported as a violation of the protocol', () => {
  const { session, closed } = ready();
  session.request('GET_SINK_INFO_LIST', {}, 0, () => {
    throw new TypeError('a bug of the receiver');
  });
  assert.throws(() => session.receive(reply(2)), TypeError);
  assert.deepEqual(closed, []);
});

for (const [what, answer] of [
  ['a reply', reply(2, u32(1))],
  ['an error', wire.command(wire.ERROR, 2, u32(1), u32(1))],
] as const) {
  test(`${what} with bytes left over fails its request and ends the session`, () => {
    const { session, closed } = ready();
    const log: string[] = [];
    requestMute(session, log, 'a');
    session.receive(answer);
    assert.deepEqual(log, ['a violation']);
    assert.equal(closed[0]?.kind, 'protocol-violation');
  });
}

const ACCESS = { code: 1, name: 'ACCESS', meaning: 'access denied' } as const;
const INVALID = { code: 3, name: 'INVALID', meaning: 'invalid argument' } as const;
const AUTH_REFUSED: ClosedReason = { kind: 'auth-refused', command: 'AUTH', fault: ACCESS };
const NAME_REFUSED: ClosedReason = { kind: 'auth-refused', command: 'SET_CLIENT_NAME', fault: INVALID };
const HANDSHAKES: readonly (readonly [what: string, answers: Uint8Array[], reason: ClosedReason])[] = [
  ['an AUTH that is refused', [error(0, 1)], AUTH_REFUSED],
  ['a name that is refused', [reply(0, u32(35)), error(1, 3)], NAME_REFUSED],
  ['a server that is too old', [reply(0, u32(31))], { kind: 'version-unsupported', version: 31 }],
];
for (const [what, answers, reason] of HANDSHAKES) {
  test(`${what} ends the session`, () => {
    const { session, closed, versions } = converse();
    session.open(0);
    for (const answer of answers) session.receive(answer);
    assert.deepEqual([closed, versions, written(session)], [[reason], [], []]);
  });
}

test('the handshake has one deadline for both steps, and the session ends at this deadline', () => {
  const { session, closed } = converse();
  // The handshake may take 30 s (OPTIONS of conversation.ts).
  session.open(1_000);
  assert.equal(session.nextDeadline(), 31_000);
  session.expire(30_999);
  session.receive(reply(0, u32(35)));
  assert.equal(session.nextDeadline(), 31_000);
  session.expire(31_000);
  assert.deepEqual(closed, [{ kind: 'timeout', command: 'SET_CLIENT_NAME' }]);
});

const VIOLATIONS: readonly (readonly [what: string, bytes: Uint8Array, detail: RegExp])[] = [
  ['an unknown command', wire.command(104, NO_TAG), /unknown command 104/],
  ['a command that only a client may send', wire.command(AUTH, 0, u32(35)), /unknown command 8/],
  ['a reply to no request', reply(77), /tag 77/],
  ['an event of an unknown kind', event(0x1f, 1), /unknown kind/],
  ['an event cut short', wire.command(SUBSCRIBE_EVENT, NO_TAG, u32(0)), /expected u32/],
  ['a stream end with extra bytes', wire.command(RECORD_STREAM_KILLED, NO_TAG, u32(4), u32(0)), /left over/],
  ['an event with extra bytes', wire.command(SUBSCRIBE_EVENT, NO_TAG, u32(0), u32(0), u32(0)), /left over/],
  ['a frame without a tag', wire.framed(wire.u32(2)), /expected u32/],
  // The first four bytes of a frame are its length, and `HTTP` is a length that is too large.
  ['HTTP', new TextEncoder().encode('HTTP/1.1 200 OK\r\n\r\n and so on'), /frame of/],
];
for (const [what, bytes, detail] of VIOLATIONS) {
  test(`${what} ends the session, whether it comes whole or byte by byte`, () => {
    for (const size of [bytes.length, 1]) {
      const { session, closed } = ready();
      const log: string[] = [];
      requestMute(session, log, 'a');
      for (let start = 0; start < bytes.length; start += size)
        session.receive(bytes.subarray(start, start + size));
      assert.deepEqual(log, ['a closed']);
      assert.equal(closed.length, 1);
      const [reason] = closed;
      assert.ok(reason?.kind === 'protocol-violation', JSON.stringify(closed));
      assert.match(reason.detail, detail);
    }
  });
}

test('the audio data and the end of a record stream are reported with the number of the stream', () => {
  const { session, streamEvents, closed } = ready();
  session.receive(wire.framed([1, 2, 3], { channel: 4 }));
  session.receive(wire.command(RECORD_STREAM_KILLED, NO_TAG, u32(4)));
  assert.deepEqual(streamEvents, [
    [4, [1, 2, 3]],
    [4, 'killed'],
  ]);
  assert.deepEqual(closed, []);
});

test('messages that a server may send to any client are ignored', () => {
  const { session, closed } = ready();
  session.receive(wire.command(CLIENT_EVENT, NO_TAG, wire.text('x'), wire.props()));
  // Messages about a record stream: it is suspended or moved, has an event, or gets another buffer.
  const recordMessages = [77, 79, 93, 95];
  // A playback stream has the same messages, and two more: it requests data, or has ended.
  const playbackMessages = [61, 64, 76, 78, 92, 94];
  for (const code of [...recordMessages, ...playbackMessages])
    session.receive(wire.command(code, NO_TAG, u32(0)));
  assert.deepEqual(closed, []);
});

test('an event before the end of the handshake is a violation', () => {
  const { session, closed } = converse();
  session.open(0);
  session.receive(event(SINK_CHANGED, 1));
  assert.equal(closed[0]?.kind, 'protocol-violation');
});
