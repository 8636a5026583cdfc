// The bus connection on a real private dbus-daemon: calls, errors, signals, the bus's death and its return.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { sessionBus } from 'dbus-next';
import { Bus } from '../../../src/actors/bus/bus.js';
import { BOUNDS, connectBus } from '../../../src/actors/bus/connection.js';
import { BUS_METHODS, BUS_NAME, getAll, NAME_OWNER_CHANGED } from '../../../src/protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../../src/protocol/dbus/method.js';
import { PLAYER_INTERFACE, PLAYER_NAME_PREFIX, PLAYER_PATH } from '../../../src/protocol/dbus/mpris.js';
import { SYSTEMD_METHODS } from '../../../src/protocol/dbus/systemd.js';
import { testsNeeding } from '../../tools/requirements.js';
import { ScriptedPlayer } from '../players/scripted-player.js';
import { NotingOwner } from './noting-owner.js';
import { privateBus } from './private-bus.js';
import { HEADER_FIELD, METHOD_CALL, messageBytes, SIGNAL } from './scripted-bus.js';

const execute = promisify(execFile);
const test = testsNeeding({ programs: ['dbus-daemon', 'busctl'] });

async function startConnectedBus(t: TestContext) {
  const bus = await privateBus(t);
  const owner = new NotingOwner();
  const link = new Bus('units', { paths: bus.paths, backoffMs: () => 20, callDeadlineMs: 5_000 }, owner);
  t.after(() => link.stop());
  await owner.waitForNote(/^up/);
  const busctl = (...args: readonly string[]) => execute('busctl', [`--address=${bus.address}`, ...args]);
  const askNameOwner = () => link.call(BUS_METHODS.getNameOwner, [BUS_NAME]);
  return { bus, busctl, owner, link, askNameOwner };
}

test('a call returns plain values', async (t) => {
  const { link, askNameOwner } = await startConnectedBus(t);
  assert.deepEqual(await askNameOwner(), { ok: true, value: BUS_NAME });

  const properties = await link.call(getAll(BUS_NAME), [BUS_NAME], { path: '/org/freedesktop/DBus' });
  assert.ok(properties.ok);
  const { Features: features, Interfaces: interfaces } = properties.value;
  assert.ok(Array.isArray(features) && features.every((feature) => typeof feature === 'string'));
  assert.ok(Array.isArray(interfaces) && interfaces.length > 0);
});

test('an error of the peer is returned, not thrown', async (t) => {
  const { link } = await startConnectedBus(t);
  const nameOwner = await link.call(BUS_METHODS.getNameOwner, ['no.such.name']);
  assert.ok(!nameOwner.ok && nameOwner.error.kind === 'dbus');
  assert.equal(nameOwner.error.name, 'org.freedesktop.DBus.Error.NameHasNoOwner');

  const started = await link.call(SYSTEMD_METHODS.startUnit, ['x.service', 'replace']);
  assert.ok(!started.ok && started.error.kind === 'dbus', 'without a systemd on this bus, the call fails');

  const watched = await link.watch({ sender: BUS_NAME, path: 'no path' });
  assert.ok(!watched.ok && watched.error.kind === 'dbus');
  assert.equal(watched.error.name, 'org.freedesktop.DBus.Error.MatchRuleInvalid');
});

test('watched signals arrive, others do not', async (t) => {
  const { busctl, owner, link, askNameOwner } = await startConnectedBus(t);
  // Each busctl connects to the bus, and the bus then sends the signal NameOwnerChanged.
  await busctl('status');
  // When this call is answered, all earlier signals of the bus have arrived.
  assert.equal((await askNameOwner()).ok, true);
  assert.deepEqual(owner.signals, []);

  const watched = await link.watch({ sender: BUS_NAME, member: 'NameOwnerChanged' });
  assert.deepEqual(watched, { ok: true, value: undefined });
  await busctl('status');
  await owner.waitForNote(/^signal: NameOwnerChanged/);

  const [signal] = owner.signals;
  assert.ok(signal !== undefined);
  const [name = '', oldOwner, newOwner] = signalValues(NAME_OWNER_CHANGED, signal) ?? [];
  assert.match(name, /^:1\.\d+$/);
  assert.deepEqual([oldOwner, newOwner], ['', name]);
});

for (const killSignal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`pending calls end when the bus ends by ${killSignal}, and a new connection is made when the bus returns`, async (t) => {
    const { bus, owner, askNameOwner } = await startConnectedBus(t);
    // A stopped bus does not answer, so the call is pending when the bus gets the signal to end. SIGTERM
    // takes effect only after SIGCONT.
    bus.signal('SIGSTOP');
    const pending = askNameOwner();
    const killed = bus.kill(killSignal);
    bus.signal('SIGCONT');

    const outcome = await pending;
    await killed;
    const downIndex = await owner.waitForNote(/^down/);
    // With SIGTERM the bus may still answer the call.
    assert.ok(outcome.ok || outcome.error.kind === 'closed');
    if (killSignal === 'SIGKILL') assert.equal(outcome.ok, false);
    assert.deepEqual(await askNameOwner(), { ok: false, error: { kind: 'closed' } });

    // A bus that was killed leaves the file of its socket behind.
    rmSync(bus.path, { force: true });
    await bus.start();
    await owner.waitForNote(/^up/, downIndex);
    assert.equal((await askNameOwner()).ok, true);
  });
}

const LENGTH_OF_5_MIB = Buffer.from([0, 0, 0x50, 0]);
/**
 * Signals that a bus forwards between any two programs, although our daemon cannot read them. 5 MiB is more
 * than `messageMaxBytes` of `BOUNDS`.
 */
const UNREADABLE: readonly (readonly [what: string, signature: string, body: Buffer])[] = [
  ['a file descriptor that is not there', 'h', Buffer.alloc(4)],
  // These bytes are the signature `h` with its length and its end, a byte of padding, and the number 0.
  ['a variant with a file descriptor that is not there', 'v', Buffer.from([1, 0x68, 0, 0, 0, 0, 0, 0])],
  ['5 MiB', 'ay', Buffer.concat([LENGTH_OF_5_MIB, Buffer.alloc(5 << 20)])],
];

for (const [what, signature, body] of UNREADABLE) {
  test(`a signal with ${what} from another program is dropped, and the next signal arrives`, async (t) => {
    const bus = await privateBus(t);
    const owner = new NotingOwner();
    const bounds = { ...BOUNDS, connectDeadlineMs: 5_000 };
    const connected = await connectBus(bus.path, bounds, {
      signal: (signal: Signal) => owner.signal(signal),
      called: () => undefined,
      lost: (reason: string) => owner.down(reason),
    });
    assert.ok(connected.ok);
    t.after(() => connected.value.lose('the test is over'));
    await owner.waitForNote(/^signal: NameAcquired/);
    const ourName = String(owner.signals[0]?.values[0]);

    const addressFields = (path: string, member: string, destination: string) =>
      [
        [HEADER_FIELD.path, 'o', path],
        [HEADER_FIELD.member, 's', member],
        [HEADER_FIELD.destination, 's', destination],
      ] as const;
    const signalBytes = (member: string, bodySignature: string, bytes: Buffer): Buffer =>
      messageBytes(
        SIGNAL,
        [
          ...addressFields('/', member, ourName),
          [HEADER_FIELD.interface, 's', 'a.b'],
          [HEADER_FIELD.signature, 'g', bodySignature],
        ],
        bytes,
      );
    const hello = messageBytes(METHOD_CALL, addressFields('/org/freedesktop/DBus', 'Hello', BUS_NAME));

    const stranger = connect(bus.path).resume();
    t.after(() => stranger.destroy());
    // The empty DATA leaves the user's id to the bus, which gets it from the socket.
    stranger.write('\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n');
    stranger.write(
      Buffer.concat([hello, signalBytes('Bad', signature, body), signalBytes('Fine', 'u', Buffer.alloc(4))]),
    );

    await owner.waitForNote(/^signal: Fine/);
    assert.deepEqual(owner.notes, ['signal: NameAcquired', 'signal: Fine']);
  });
}

test('a connection remembers neither names that were called nor names whose owners have changed', async (t) => {
  const { address } = await privateBus(t);
  // dbus-next does not export the class of its connections, so the test gets the class from this probe.
  const probe = sessionBus({ busAddress: address });
  t.after(() => probe.disconnect());
  const { mock } = t.mock.method(Object.getPrototypeOf(probe) as typeof probe, 'call');
  const { bus, owner, link } = await startConnectedBus(t);
  // The constructor of the probe called Hello before `call` was mocked, so the first call is Hello on the
  // connection of `link`.
  const connection = Object(mock.calls[0]?.this);

  await link.watch({ sender: BUS_NAME, member: 'NameOwnerChanged' });
  for (const name of ['one', 'two', 'three']) {
    const player = await ScriptedPlayer.start(t, bus, name);
    const fullName = PLAYER_NAME_PREFIX + name;
    const uniqueName = await link.call(BUS_METHODS.getNameOwner, [fullName]);
    for (const destination of [fullName, uniqueName.ok ? uniqueName.value : ''])
      assert.ok((await link.call(getAll(destination), [PLAYER_INTERFACE], { path: PLAYER_PATH })).ok);
    const notesBefore = owner.notes.length;
    player.leave();
    await owner.waitForNote(/^signal: NameOwnerChanged/, notesBefore);
  }
  // dbus-next remembers the owners of names in `_nameOwners`.
  assert.equal(typeof connection._nameOwners, 'object');
  assert.deepEqual(Object.keys(connection._nameOwners), []);
});

test('a program that an actor does not watch gets no answer when it calls the actor over the bus', async (t) => {
  const { busctl, askNameOwner } = await startConnectedBus(t);
  const { stdout: names } = await busctl('list', '--unique', '--no-legend');
  const rows = names.split('\n').map((line) => line.split(/\s+/));
  const [ourName = ''] = rows.find(([, processId]) => processId === String(process.pid)) ?? [];
  assert.match(ourName, /^:1\.\d+$/, names);

  const callArgs = ['call', ourName, '/', 'org.freedesktop.DBus.Peer', 'GetMachineId'];
  await assert.rejects(busctl('--timeout=1', ...callArgs), /timed out/i);
  assert.equal((await askNameOwner()).ok, true);
});
