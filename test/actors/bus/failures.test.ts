// Tests failures that a bus can cause. In many of them dbus-next would die, hang or forget something without
// our code. Tests also which calls the class Bus refuses, and which addresses it tries.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Bus } from '../../../src/actors/bus/bus.js';
import { BUS_METHODS, BUS_NAME } from '../../../src/protocol/dbus/daemon.js';
import { SYSTEMD_METHODS, SYSTEMD_NAME } from '../../../src/protocol/dbus/systemd.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { NotingOwner } from './noting-owner.js';
import { errorReply, reply, type Script, scriptedBus, signal } from './scripted-bus.js';

/** Enough time for a bus that answers, even on a busy processor. */
const DEADLINE_MS = 1_000;
/** The longest time that a timer of Node can have. */
const NEVER_MS = 2 ** 31 - 1;

type Options = ConstructorParameters<typeof Bus<'units'>>[1];

function optionsFor(...paths: readonly string[]) {
  return {
    paths: () => ({ ok: true, value: paths }) as const,
    backoffMs: (attempt: number) => (attempt === 0 ? 0 : 20),
    connectDeadlineMs: DEADLINE_MS,
    callDeadlineMs: DEADLINE_MS,
  };
}

/** Creates an object of the class Bus. The object keeps trying to connect until the test ends. */
function startBus(t: TestContext, options: Options) {
  const owner = new NotingOwner();
  const link = new Bus('units', options, owner);
  t.after(() => link.stop());
  return { owner, link };
}

/** Starts a scripted bus, and connects an object of the class Bus to it. Resolves after the note `up`. */
async function startConnectedBus(
  t: TestContext,
  scriptOf: (connection: number) => Script,
  moreOptions: Partial<Options> = {},
) {
  const bus = await scriptedBus(scriptOf, t);
  const { owner, link } = startBus(t, { ...optionsFor(bus.path), ...moreOptions });
  await owner.waitForNote(/^up/);
  return { bus, owner, link };
}

const callGetNameOwner = (link: Bus<'units'>) => link.call(BUS_METHODS.getNameOwner, ['a.b']);
/** The owner of every name on a scripted bus. */
const NAME_OWNER = ':1.9';
const ANSWER = { ok: true, value: NAME_OWNER };
const CLOSED = { ok: false, error: { kind: 'closed' } };
const ownerReply = (serial: number) => reply(serial, 's', NAME_OWNER);

/** A bus that answers GetNameOwner with `NAME_OWNER`, and everything else with an empty reply. */
const HONEST: Script = {
  call: (socket, { serial, text }) => {
    socket.write(text.includes('GetNameOwner') ? ownerReply(serial) : reply(serial));
  },
};

/** Buses that never complete the greeting. */
const FAILING_GREETINGS: readonly (readonly [what: string, script: Script, reason: RegExp])[] = [
  ['accepts the connection and never answers', { greet: () => undefined }, /no greeting within/],
  ['closes the connection during the handshake', { greet: (socket) => socket.destroy() }, /the bus closed/],
  ['rejects the user', { greet: (socket) => socket.write('REJECTED\r\n') }, /No authentication methods/],
  ['sends no line end', { greet: (socket) => socket.write('x'.repeat(9000)) }, /no greeting within/],
  ['never answers Hello', { hello: () => undefined }, /no greeting within/],
  ['closes the connection at Hello', { hello: (socket) => socket.destroy() }, /the bus closed/],
  ['refuses Hello', { hello: (socket, serial) => socket.write(errorReply(serial, 'a.No')) }, /refused .*No/],
];

for (const [what, script, reason] of FAILING_GREETINGS) {
  test(`if a bus ${what}, the reason is reported, and another connection is made`, async (t) => {
    const bus = await scriptedBus((connection) => (connection === 1 ? script : HONEST), t);
    const { owner, link } = startBus(t, optionsFor(bus.path));

    const downIndex = await owner.waitForNote(/^down/);
    assert.match(owner.notes[downIndex] ?? '', reason);

    await owner.waitForNote(/^up/, downIndex);
    assert.deepEqual(await callGetNameOwner(link), ANSWER);
  });
}

test('a missing socket is reported as the reason only one time, although the attempts go on', async (t) => {
  const attempts = new EventEmitter();
  const backoffMs = (attempt: number): number => {
    attempts.emit(`attempt ${attempt}`);
    return 1;
  };
  // The first attempt has the number 0, so five attempts have failed when attempt 5 is scheduled.
  const fiveFailures = once(attempts, 'attempt 5');

  const { owner, link } = startBus(t, { ...optionsFor(join(temporaryFolder(t), 'bus')), backoffMs });
  await owner.waitForNote(/^down: .*ENOENT/);
  await fiveFailures;

  assert.equal(owner.notes.length, 1);
  assert.deepEqual(await callGetNameOwner(link), CLOSED);
});

const SIGNATURE_DETAIL = "GetNameOwner answered with the signature 'g'";
/** The bus's answer to the first call, and the error of that call. */
const FAILING_ANSWERS: readonly (readonly [
  what: string,
  answer: (serial: number) => Buffer,
  expected: object,
])[] = [
  ['nothing', () => Buffer.alloc(0), { kind: 'timeout' }],
  ['an invalid error name', (serial) => errorReply(serial, 'no dots, no name'), { kind: 'timeout' }],
  ['a reply to another call', (serial) => reply(serial + 1000), { kind: 'timeout' }],
  ['an error', (serial) => errorReply(serial, 'a.B', 'no'), { kind: 'dbus', name: 'a.B', text: 'no' }],
  ['an error without text', (serial) => errorReply(serial, 'a.B'), { kind: 'dbus', name: 'a.B', text: '' }],
  ['another signature', (serial) => reply(serial, 'g', 's'), { kind: 'local', detail: SIGNATURE_DETAIL }],
];

for (const [what, answer, expected] of FAILING_ANSWERS) {
  test(`a call that is answered with ${what} ends, and the next call works on the same connection`, async (t) => {
    let calls = 0;
    const { bus, link } = await startConnectedBus(t, () => ({
      call: (socket, received) => {
        calls += 1;
        if (calls === 1) socket.write(answer(received.serial));
        else HONEST.call?.(socket, received);
      },
    }));

    assert.deepEqual(await callGetNameOwner(link), { ok: false, error: expected });
    assert.deepEqual(await callGetNameOwner(link), ANSWER);
    assert.equal(bus.connections(), 1);
  });
}

/** Where a message stops, and how many bytes arrive. A negative number counts the bytes that are missing. */
const STOPS = {
  'within its first 16 bytes': 7,
  'after its first 16 bytes': 16,
  'within its header fields': 30,
  'within its body': -2,
};
for (const [where, bytes] of Object.entries(STOPS)) {
  test(`if a message stops ${where}, the connection and its pending calls end, and the next connection works`, async (t) => {
    const incomplete: Script = {
      call: (socket, { serial }) => socket.write(ownerReply(serial).subarray(0, bytes)),
    };
    const deadlines = { callDeadlineMs: NEVER_MS, messageDeadlineMs: DEADLINE_MS };
    const { owner, link } = await startConnectedBus(
      t,
      (connection) => (connection === 1 ? incomplete : HONEST),
      deadlines,
    );

    assert.deepEqual(await callGetNameOwner(link), CLOSED);
    const downIndex = await owner.waitForNote(/^down: a message did not end within 1000 ms/);
    await owner.waitForNote(/^up/, downIndex);
    assert.deepEqual(await callGetNameOwner(link), ANSWER);
  });
}

test('a connection on which a message pauses, but is completed, stays open', async (t) => {
  const firstPartBytes = 20;
  let complete: () => void = () => assert.fail('no message was begun');
  const pausing: Script = {
    call: (socket, { serial }) => {
      const message = ownerReply(serial);
      socket.write(message.subarray(0, firstPartBytes));
      complete = () => socket.write(message.subarray(firstPartBytes));
    },
  };

  const { bus, owner, link } = await startConnectedBus(t, () => pausing, { callDeadlineMs: NEVER_MS });
  for (let count = 0; count < 3; count += 1) {
    const answer = callGetNameOwner(link);
    await until('the bus has got the call', () => bus.received.length > count);
    complete();
    assert.deepEqual(await answer, ANSWER);
  }
  assert.deepEqual(owner.notes, ['up']);
});

test('a message that makes dbus-next throw does not delay the answer behind it, even if no more bytes come', async (t) => {
  const { owner, link } = await startConnectedBus(t, () => ({
    call: (socket, { serial }) => {
      // The type `h` is a file descriptor. dbus-next throws at a message that has one (stream-guard.ts).
      socket.write(Buffer.concat([signal(':1.66', 'a.b', 'C', 'h', 0), ownerReply(serial)]));
    },
  }));

  assert.deepEqual(await callGetNameOwner(link), ANSWER);
  assert.deepEqual(owner.notes, ['up']);
});

test('on the system bus, the compiler and the class Bus refuse a method that changes something, and nothing is sent', async (t) => {
  const bus = await scriptedBus(() => HONEST, t);
  const owner = new NotingOwner();
  const effectsOnSystem = 'none';
  const link = new Bus(effectsOnSystem, optionsFor(bus.path), owner);
  t.after(() => link.stop());
  await owner.waitForNote(/^up/);

  // @ts-expect-error The compiler must refuse the next line.
  const outcome = await link.call(SYSTEMD_METHODS.startUnit, ['x.service', 'replace']);
  assert.deepEqual(outcome, { ok: false, error: { kind: 'local', detail: 'StartUnit is not for this bus' } });
  assert.equal(bus.received.length, 0);
});

test('if the method up of an actor fails, the connection is closed, and another one is made', async (t) => {
  const bus = await scriptedBus(() => HONEST, t);
  const { owner } = startBus(t, optionsFor(bus.path));
  owner.onUp = () => {
    owner.onUp = () => Promise.resolve();
    return Promise.reject(new Error('the first read failed'));
  };

  const downIndex = await owner.waitForNote(/^down: the first read failed/);
  await owner.waitForNote(/^up/, downIndex);
  assert.equal(bus.connections(), 2);
});

test('each loss of a connection that was in use is reported, even if the reason is always the same', async (t) => {
  const bus = await scriptedBus(() => HONEST, t);
  const { owner } = startBus(t, optionsFor(bus.path));
  let connections = 0;
  owner.onUp = () => {
    connections += 1;
    return connections <= 2 ? Promise.reject(new Error('the first read failed')) : Promise.resolve();
  };

  await owner.waitForNote(/^up/);
  assert.deepEqual(owner.notes, ['down: the first read failed', 'down: the first read failed', 'up']);
});

test('a signal whose handler throws ends the connection, but not the thread', async (t) => {
  const { owner, link } = await startConnectedBus(t, () => ({
    call: (socket, received) => {
      HONEST.call?.(socket, received);
      const addsMatchRule = received.text.includes('Bad');
      if (addsMatchRule) socket.write(signal(NAME_OWNER, 'a.b', 'Bad'));
    },
  }));

  owner.onSignal = () => {
    throw new Error('a bug');
  };

  await link.watch({ sender: SYSTEMD_NAME, member: 'Bad' });
  const downIndex = await owner.waitForNote(/^down: a signal could not be handled: a bug/);
  await owner.waitForNote(/^up/, downIndex);
});

test('signals of a watched name arrive only from its owner, also when the owner changes', async (t) => {
  const NEW_OWNER = ':1.10';
  const STRANGER = ':1.66';
  const { owner, link } = await startConnectedBus(t, () => ({
    call: (socket, received) => {
      HONEST.call?.(socket, received);
      const addsMatchRule = received.text.includes('member=');
      const isAboutOwner = received.text.includes('NameOwnerChanged');
      // The signals follow the match rule for `Genuine`, not the earlier match rule for NameOwnerChanged.
      if (!addsMatchRule || isAboutOwner) return;
      socket.write(signal(STRANGER, 'a.b', 'Forged'));
      socket.write(signal(NAME_OWNER, 'a.b', 'Genuine'));
      const change = [SYSTEMD_NAME, NAME_OWNER, NEW_OWNER] as const;
      socket.write(signal(BUS_NAME, BUS_NAME, 'NameOwnerChanged', 'sss', ...change));
      socket.write(signal(NAME_OWNER, 'a.b', 'Late'));
      socket.write(signal(NEW_OWNER, 'a.b', 'New'));
    },
  }));

  await link.watch({ sender: SYSTEMD_NAME, member: 'Genuine' });
  await owner.waitForNote(/New/);

  // The first note is `up`. The bus's own signals are passed on, too.
  assert.deepEqual(owner.notes.slice(1), [
    'signal: Genuine',
    `owner of ${SYSTEMD_NAME}: true`,
    'signal: NameOwnerChanged',
    'signal: New',
  ]);
});

test('an object of the class Bus that is stopped before it is connected reports nothing', async (t) => {
  const bus = await scriptedBus(() => ({ greet: () => undefined }), t);
  const { owner, link } = startBus(t, optionsFor(bus.path));
  while (bus.connections() === 0) await new Promise((resolve) => setImmediate(resolve));

  link.stop();
  assert.deepEqual(await callGetNameOwner(link), CLOSED);
  assert.deepEqual(owner.notes, []);
});

/** The bound is that of src/actors/bus/connection.ts. */
const PENDING_MAX_CALLS = 256;
const REFUSED_CALLS = 44;

test('at most 256 calls wait for an answer, and further calls are refused', async (t) => {
  const { link } = await startConnectedBus(t, () => ({ call: () => undefined }));

  const calls = Array.from({ length: PENDING_MAX_CALLS + REFUSED_CALLS }, () => callGetNameOwner(link));
  const kinds = (await Promise.all(calls)).map((outcome) => (outcome.ok ? 'ok' : outcome.error.kind));

  assert.equal(kinds.filter((kind) => kind === 'timeout').length, PENDING_MAX_CALLS);
  assert.equal(kinds.filter((kind) => kind === 'local').length, REFUSED_CALLS);
});

test('the second of two addresses is tried when the first has no socket', async (t) => {
  const bus = await scriptedBus(() => HONEST, t);
  const { owner } = startBus(t, optionsFor(`${bus.path}-absent`, bus.path));
  await owner.waitForNote(/^up/);
  assert.deepEqual(owner.notes, ['up']);
});
