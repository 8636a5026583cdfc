// What a bus can do to us: each row is a way in which dbus-next by itself dies, hangs or forgets.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { SystemBus, UserBus } from '../../../src/actors/bus/bus.js';
import { BUS_METHODS, BUS_NAME } from '../../../src/protocol/dbus/daemon.js';
import { SYSTEMD_METHODS, SYSTEMD_NAME } from '../../../src/protocol/dbus/systemd.js';
import { until } from '../../until.js';
import { NotingOwner } from './noting-owner.js';
import {
  errorReply,
  reply,
  type Script,
  type ScriptedBus,
  scriptedBus,
  signal,
  tempDir,
} from './scripted-bus.js';

/** Enough for a bus that answers, also where the processor is short. */
const DEADLINE_MS = 1_000;
const NEVER_MS = 2 ** 31 - 1;

function options(path: string) {
  return {
    paths: () => ({ ok: true, paths: [path] }) as const,
    backoffMs: (attempt: number) => (attempt === 0 ? 0 : 20),
    connectDeadlineMs: DEADLINE_MS,
    callDeadlineMs: DEADLINE_MS,
  };
}

async function scripted(t: TestContext, scriptOf: (connection: number) => Script): Promise<ScriptedBus> {
  const bus = await scriptedBus(scriptOf);
  t.after(() => bus.close());
  return bus;
}

/** A UserBus that is up on this bus. */
async function up(t: TestContext, bus: ScriptedBus, callDeadlineMs = DEADLINE_MS) {
  const owner = new NotingOwner();
  const link = new UserBus({ ...options(bus.path), callDeadlineMs }, owner);
  t.after(() => link.stop());
  await owner.noted(/^up/);
  return { owner, link };
}

/** A bus that answers GetNameOwner with `:1.9`, and everything else with nothing. */
const HONEST: Script = {
  call: (socket, { serial, text: heard }) => {
    socket.write(heard.includes('GetNameOwner') ? reply(serial, 's', ':1.9') : reply(serial));
  },
};

const ENDS_CONNECTION: readonly (readonly [what: string, script: Script, reason: RegExp])[] = [
  ['accepts and never answers', { greet: () => undefined }, /no greeting within/],
  ['closes during the handshake', { greet: (socket) => socket.destroy() }, /the bus closed/],
  ['rejects the mechanism', { greet: (socket) => socket.write('REJECTED\r\n') }, /No authentication methods/],
  ['says no line end', { greet: (socket) => socket.write('x'.repeat(9000)) }, /no greeting within/],
  ['never answers Hello', { hello: () => undefined }, /no greeting within/],
  ['closes at Hello', { hello: (socket) => socket.destroy() }, /the bus closed/],
  [
    'refuses Hello',
    {
      hello: (socket, serial) =>
        socket.write(errorReply(serial, 'org.freedesktop.DBus.Error.LimitsExceeded')),
    },
    /refused the greeting: org.freedesktop.DBus.Error.LimitsExceeded/,
  ],
];

for (const [what, script, reason] of ENDS_CONNECTION) {
  test(`a bus that ${what} is left, and tried again`, async (t) => {
    const bus = await scripted(t, (connection) => (connection === 1 ? script : HONEST));
    const owner = new NotingOwner();
    const link = new UserBus(options(bus.path), owner);
    t.after(() => link.stop());
    const down = await owner.noted(/^down/);
    assert.match(owner.notes[down] ?? '', reason);
    await owner.noted(/^up/, down);
    assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), { ok: true, value: ':1.9' });
  });
}

test('no socket is a reason, told once, and no end', async (t) => {
  const dir = tempDir();
  t.after(() => rmSync(dir, { recursive: true }));
  const owner = new NotingOwner();
  const attempts = new EventEmitter();
  const backoffMs = (attempt: number): number => {
    attempts.emit(`attempt ${attempt}`);
    return 1;
  };
  const fifth = once(attempts, 'attempt 5');
  const link = new UserBus({ ...options(`${dir}/bus`), backoffMs }, owner);
  t.after(() => link.stop());
  await owner.noted(/^down: .*ENOENT/);
  await fifth;
  assert.equal(owner.notes.length, 1);
  assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), {
    ok: false,
    error: { kind: 'closed' },
  });
});

/** What a bus answers to the first call, and how that call ends. The next call works on the same connection. */
const ONE_CALL: readonly (readonly [what: string, answer: (serial: number) => Buffer, expected: object])[] = [
  ['nothing', () => Buffer.alloc(0), { kind: 'timeout' }],
  ['an invalid error name', (serial) => errorReply(serial, 'no dots, no name'), { kind: 'timeout' }],
  ['a reply to another call', (serial) => reply(serial + 1000), { kind: 'timeout' }],
  [
    'an error',
    (serial) => errorReply(serial, 'some.Error', 'because'),
    { kind: 'dbus', name: 'some.Error', text: 'because' },
  ],
  [
    'an error without text',
    (serial) => errorReply(serial, 'some.Error'),
    { kind: 'dbus', name: 'some.Error', text: '' },
  ],
  [
    'another signature',
    (serial) => reply(serial, 'g', 's'),
    { kind: 'local', detail: "GetNameOwner answered with the signature 'g'" },
  ],
];

for (const [what, answer, expected] of ONE_CALL) {
  test(`a call that is answered with ${what} ends, and only that call`, async (t) => {
    let calls = 0;
    const bus = await scripted(t, () => ({
      call: (socket, heard) => {
        calls += 1;
        if (calls === 1) socket.write(answer(heard.serial));
        else HONEST.call?.(socket, heard);
      },
    }));
    const { link } = await up(t, bus);
    assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), { ok: false, error: expected });
    assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), { ok: true, value: ':1.9' });
    assert.equal(bus.connections(), 1);
  });
}

for (const [what, from] of [
  ['its header', 7],
  ['its body', 30],
] as const) {
  test(`a bus that falls silent within ${what} is left, whoever waits is told, and the next one serves`, async (t) => {
    const answer = (serial: number): Buffer => reply(serial, 's', ':1.9');
    const bus = await scripted(t, (connection) =>
      connection === 1
        ? { call: (socket, { serial }) => socket.write(answer(serial).subarray(0, from)) }
        : HONEST,
    );
    const owner = new NotingOwner();
    const patience = { callDeadlineMs: NEVER_MS, messageDeadlineMs: DEADLINE_MS };
    const link = new UserBus({ ...options(bus.path), ...patience }, owner);
    t.after(() => link.stop());
    await owner.noted(/^up/);
    const lost = await link.call(BUS_METHODS.getNameOwner, ['a.b']);
    assert.deepEqual(lost, { ok: false, error: { kind: 'closed' } });
    const down = await owner.noted(/^down: a message did not end within 1000 ms/);
    await owner.noted(/^up/, down);
    assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), { ok: true, value: ':1.9' });
  });
}

test('a bus that pauses within a message and ends it is kept', async (t) => {
  let rest: () => void = () => assert.fail('nothing was begun');
  const bus = await scripted(t, () => ({
    call: (socket, { serial }) => {
      const whole = reply(serial, 's', ':1.9');
      socket.write(whole.subarray(0, 20));
      rest = () => socket.write(whole.subarray(20));
    },
  }));
  const { owner, link } = await up(t, bus, NEVER_MS);
  for (let count = 0; count < 3; count += 1) {
    const answer = link.call(BUS_METHODS.getNameOwner, ['a.b']);
    await until('it was asked', () => bus.heard.length > count);
    rest();
    assert.deepEqual(await answer, { ok: true, value: ':1.9' });
  }
  assert.deepEqual(owner.notes, ['up']);
});

test('an answer behind a message that dbus-next throws at is read, though nothing more arrives', async (t) => {
  const bus = await scripted(t, () => ({
    call: (socket, { serial }) => {
      const descriptor = signal(':1.66', 'a.b', 'C', 'h', 0);
      socket.write(Buffer.concat([descriptor, reply(serial, 's', ':1.9')]));
    },
  }));
  const { owner, link } = await up(t, bus);
  assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), { ok: true, value: ':1.9' });
  assert.deepEqual(owner.notes, ['up']);
});

test('arguments that are not of the signature are refused before anything is sent', async (t) => {
  const bus = await scripted(t, () => HONEST);
  const { link } = await up(t, bus);
  const wrong = [7] as unknown as readonly [string];
  const outcome = await link.call(BUS_METHODS.getNameOwner, wrong);
  assert.equal(outcome.ok ? '' : outcome.error.kind, 'local');
  assert.equal(bus.heard.length, 0);
  assert.equal((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok, true);
});

test('a method that mutates is refused on the system bus, by type and at run time, and nothing is sent', async (t) => {
  const bus = await scripted(t, () => HONEST);
  const owner = new NotingOwner();
  const link = new SystemBus(options(bus.path), owner);
  t.after(() => link.stop());
  await owner.noted(/^up/);
  // @ts-expect-error The compiler must refuse this line.
  const outcome = await link.call(SYSTEMD_METHODS.startUnit, ['x.service', 'replace']);
  assert.deepEqual(outcome, { ok: false, error: { kind: 'local', detail: 'StartUnit is not for this bus' } });
  assert.equal(bus.heard.length, 0);
});

test('an owner that cannot get up gives the connection up, and gets another', async (t) => {
  const bus = await scripted(t, () => HONEST);
  const owner = new NotingOwner();
  owner.onUp = () => {
    owner.onUp = () => Promise.resolve();
    return Promise.reject(new Error('the first read failed'));
  };
  const link = new UserBus(options(bus.path), owner);
  t.after(() => link.stop());
  await owner.noted(/^up/, await owner.noted(/^down: the first read failed/));
  assert.equal(bus.connections(), 2);
});

test('a signal that cannot be handled costs the connection, not the thread', async (t) => {
  const bus = await scripted(t, () => ({
    call: (socket, heard) => {
      HONEST.call?.(socket, heard);
      if (heard.text.includes('Bad')) socket.write(signal(':1.9', 'a.b', 'Bad'));
    },
  }));
  const { owner, link } = await up(t, bus);
  owner.onSignal = () => {
    throw new Error('a bug');
  };
  await link.watch({ sender: SYSTEMD_NAME, member: 'Bad' });
  await owner.noted(/^up/, await owner.noted(/^down: a signal could not be handled: a bug/));
});

test('only the owner of a watched name is heard, also when it changes', async (t) => {
  const bus = await scripted(t, () => ({
    call: (socket, heard) => {
      HONEST.call?.(socket, heard);
      if (!heard.text.includes('member=')) return;
      if (heard.text.includes('NameOwnerChanged')) return;
      socket.write(signal(':1.66', 'a.b', 'Forged'));
      socket.write(signal(':1.9', 'a.b', 'Genuine'));
      const changes = [SYSTEMD_NAME, ':1.9', ':1.10'] as const;
      socket.write(signal(BUS_NAME, BUS_NAME, 'NameOwnerChanged', 'sss', ...changes));
      socket.write(signal(':1.9', 'a.b', 'Late'));
      socket.write(signal(':1.10', 'a.b', 'New'));
    },
  }));
  const { owner, link } = await up(t, bus);
  await link.watch({ sender: SYSTEMD_NAME, member: 'Genuine' });
  await owner.noted(/New/);
  assert.deepEqual(owner.notes.slice(1), [
    'signal: Genuine',
    `owner of ${SYSTEMD_NAME}: true`,
    'signal: NameOwnerChanged',
    'signal: New',
  ]);
});

test('a bus is stopped before it is connected, and says nothing more', async (t) => {
  const bus = await scripted(t, () => ({ greet: () => undefined }));
  const owner = new NotingOwner();
  const link = new UserBus(options(bus.path), owner);
  t.after(() => link.stop());
  while (bus.connections() === 0) await new Promise((resolve) => setImmediate(resolve));
  link.stop();
  assert.deepEqual(await link.call(BUS_METHODS.getNameOwner, ['a.b']), {
    ok: false,
    error: { kind: 'closed' },
  });
  assert.deepEqual(owner.notes, []);
});

test('two that want the same signals wait for the same answer, and are refused together; the next asks again', async (t) => {
  const asked: string[] = [];
  let refuses = true;
  const bus = await scripted(t, () => ({
    call: (socket, { serial, text: heard }) => {
      if (!heard.includes('AddMatch')) return;
      asked.push(heard);
      socket.write(refuses ? errorReply(serial, 'org.freedesktop.DBus.Error.LimitsExceeded') : reply(serial));
    },
  }));
  const { link } = await up(t, bus, 10_000);
  const match = { sender: BUS_NAME, member: 'NameOwnerChanged' };
  const together = await Promise.all([link.watch(match), link.watch(match)]);
  assert.deepEqual(
    together.map(({ ok }) => ok),
    [false, false],
  );
  assert.equal(asked.length, 1);
  refuses = false;
  assert.equal((await link.watch(match)).ok, true);
  assert.equal((await link.watch(match)).ok, true);
  assert.equal(asked.length, 2);
});

test('calls without an answer are bounded', async (t) => {
  const bus = await scripted(t, () => ({ call: () => undefined }));
  const { link } = await up(t, bus);
  const calls = Array.from({ length: 300 }, () => link.call(BUS_METHODS.getNameOwner, ['a.b']));
  const kinds = (await Promise.all(calls)).map((outcome) => (outcome.ok ? 'ok' : outcome.error.kind));
  assert.equal(kinds.filter((kind) => kind === 'timeout').length, 256);
  assert.equal(kinds.filter((kind) => kind === 'local').length, 44);
});

test('the second of two addresses is tried when the first does not answer', async (t) => {
  const bus = await scripted(t, () => HONEST);
  const owner = new NotingOwner();
  const paths = () => ({ ok: true, paths: [`${bus.path}-absent`, bus.path] }) as const;
  const link = new UserBus({ ...options(''), paths }, owner);
  t.after(() => link.stop());
  await owner.noted(/^up/);
  assert.deepEqual(owner.notes, ['up']);
});
