// The bus connection on a real private dbus-daemon: calls, errors, signals, the bus's death and its return.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Bus } from '../../../src/actors/bus/bus.js';
import { BOUNDS, connectBus } from '../../../src/actors/bus/connection.js';
import { BUS_METHODS, BUS_NAME, getAll, NAME_OWNER_CHANGED } from '../../../src/protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../../src/protocol/dbus/method.js';
import { SYSTEMD_METHODS } from '../../../src/protocol/dbus/systemd.js';
import { testsNeeding } from '../../tools/requirements.js';
import { NotingOwner } from './noting-owner.js';
import { privateBus } from './private-bus.js';
import { messageBytes } from './scripted-bus.js';

const run = promisify(execFile);
const test = testsNeeding({ programs: ['dbus-daemon', 'busctl'] });

async function startConnectedBus(t: TestContext) {
  const bus = await privateBus(t);
  const owner = new NotingOwner();
  const link = new Bus('units', { paths: bus.paths, backoffMs: () => 20, callDeadlineMs: 5_000 }, owner);
  t.after(() => link.stop());
  await owner.waitForNote(/^up/);
  const busctl = (...args: readonly string[]) => run('busctl', [`--address=${bus.address}`, ...args]);
  return { bus, busctl, owner, link, ask: () => link.call(BUS_METHODS.getNameOwner, [BUS_NAME]) };
}

test('a call answers with plain values', async (t) => {
  const { link, ask } = await startConnectedBus(t);
  assert.deepEqual(await ask(), { ok: true, value: BUS_NAME });
  const all = await link.call(getAll(BUS_NAME), [BUS_NAME], { path: '/org/freedesktop/DBus' });
  assert.ok(all.ok);
  const { Features: features, Interfaces: interfaces } = all.value;
  assert.ok(Array.isArray(features) && features.every((one) => typeof one === 'string'));
  assert.ok(Array.isArray(interfaces) && interfaces.length > 0);
});

test('an error of the peer is returned, not thrown', async (t) => {
  const { link } = await startConnectedBus(t);
  const outcome = await link.call(BUS_METHODS.getNameOwner, ['no.such.name']);
  assert.ok(!outcome.ok && outcome.error.kind === 'dbus');
  assert.equal(outcome.error.name, 'org.freedesktop.DBus.Error.NameHasNoOwner');
  const absent = await link.call(SYSTEMD_METHODS.startUnit, ['x.service', 'replace']);
  assert.ok(!absent.ok && absent.error.kind === 'dbus', 'there is no systemd on this bus');
  const rule = await link.watch({ sender: BUS_NAME, path: 'no path' });
  assert.ok(!rule.ok && rule.error.kind === 'dbus');
  assert.equal(rule.error.name, 'org.freedesktop.DBus.Error.MatchRuleInvalid');
});

test('watched signals arrive, others do not', async (t) => {
  const { busctl, owner, link } = await startConnectedBus(t);
  await busctl('status');
  assert.deepEqual(owner.signals, []);
  const watched = await link.watch({ sender: BUS_NAME, member: 'NameOwnerChanged' });
  assert.deepEqual(watched, { ok: true, value: undefined });
  await busctl('status');
  await owner.waitForNote(/^signal: NameOwnerChanged/);
  const [first] = owner.signals;
  assert.ok(first !== undefined);
  const [name = '', before, after] = signalValues(NAME_OWNER_CHANGED, first) ?? [];
  assert.match(name, /^:1\.\d+$/);
  assert.deepEqual([before, after], ['', name]);
});

for (const how of ['SIGKILL', 'SIGTERM'] as const) {
  test(`the bus ends by ${how}: calls are settled, and its return is noticed`, async (t) => {
    const { bus, owner, ask } = await startConnectedBus(t);
    bus.signal('SIGSTOP');
    const pending = ask();
    const dead = bus.kill(how);
    bus.signal('SIGCONT');
    const outcome = await pending;
    await dead;
    const down = await owner.waitForNote(/^down/);
    // With SIGTERM the bus may still answer the call.
    assert.ok(outcome.ok || outcome.error.kind === 'closed');
    if (how === 'SIGKILL') assert.equal(outcome.ok, false);
    assert.deepEqual(await ask(), { ok: false, error: { kind: 'closed' } });
    // A bus that was killed leaves the file of its socket behind.
    rmSync(bus.path, { force: true });
    await bus.start();
    await owner.waitForNote(/^up/, down);
    assert.equal((await ask()).ok, true);
  });
}

/** Messages that a bus forwards between any two peers: signature and body. */
const TOO_MUCH: readonly (readonly [what: string, signature: string, body: Buffer])[] = [
  ['a file descriptor that is not there', 'h', Buffer.alloc(4)],
  ['such a descriptor in a variant', 'v', Buffer.from([1, 0x68, 0, 0, 0, 0, 0, 0])],
  ['5 MiB', 'ay', Buffer.concat([Buffer.from([0, 0, 0x50, 0]), Buffer.alloc(5 << 20)])],
];

for (const [what, signature, body] of TOO_MUCH) {
  test(`a signal of another peer with ${what} is dropped, and nothing else is`, async (t) => {
    const bus = await privateBus(t);
    const owner = new NotingOwner();
    const bounds = { ...BOUNDS, connectDeadlineMs: 5_000 };
    const signal = (each: Signal) => owner.signal(each);
    const lost = (reason: string) => owner.down(reason);
    const reached = await connectBus(bus.path, bounds, { signal, called: () => undefined, lost });
    assert.ok(reached.ok);
    t.after(() => reached.value.lose('the test is over'));
    await owner.waitForNote(/^signal: NameAcquired/);
    const ours = String(owner.signals[0]?.values[0]);
    const to = (path: string, member: string, name: string) =>
      [
        [1, 'o', path],
        [3, 's', member],
        [6, 's', name],
      ] as const;
    const forged = (member: string, type: string, bytes: Buffer): Buffer =>
      messageBytes(4, [...to('/', member, ours), [2, 's', 'a.b'], [8, 'g', type]], bytes);
    const hello = messageBytes(1, to('/org/freedesktop/DBus', 'Hello', BUS_NAME));
    const stranger = connect(bus.path).resume();
    t.after(() => stranger.destroy());
    stranger.write('\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n');
    stranger.write(
      Buffer.concat([hello, forged('Bad', signature, body), forged('Fine', 'u', Buffer.alloc(4))]),
    );
    await owner.waitForNote(/^signal: Fine/);
    assert.deepEqual(owner.notes, ['signal: NameAcquired', 'signal: Fine']);
  });
}

test('another program that calls the daemon over the bus gets no answer', async (t) => {
  const { busctl, ask } = await startConnectedBus(t);
  const { stdout: names } = await busctl('list', '--unique', '--no-legend');
  const [ours = ''] = names.split('\n').filter((line) => line.split(/\s+/)[1] === String(process.pid));
  assert.match(ours, /^:1\.\d+ /, names);
  const call = ['call', ours.split(' ')[0] ?? '', '/', 'org.freedesktop.DBus.Peer', 'GetMachineId'];
  await assert.rejects(busctl('--timeout=1', ...call), /timed out/i);
  assert.equal((await ask()).ok, true);
});
