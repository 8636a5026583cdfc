// The announcer on a bus that behaves as neither a bus nor avahi-daemon should.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Announcer } from '../../../src/actors/discovery/announcer.js';
import type { Interfaces } from '../../../src/actors/discovery/places.js';
import { systemClock } from '../../../src/clock.js';
import { put } from '../../gateway/scripted-backends.js';
import { until } from '../../until.js';
import { errorReply, type Heard, reply, type ScriptedBus, scriptedBus } from '../bus/scripted-bus.js';

const INTERFACES: Interfaces = [
  { name: 'eth0', index: 2, addresses: [{ address: '192.0.2.1', family: 'IPv4' }] },
];

/** Answers like an avahi-daemon, except for `member`. */
const answers =
  (member: string, otherwise: (socket: Socket, heard: Heard) => void) =>
  (socket: Socket, heard: Heard): void => {
    const { serial, text: said } = heard;
    if (said.includes(member)) otherwise(socket, heard);
    else if (said.includes('GetNameOwner')) socket.write(reply(serial, 's', ':1.9'));
    else if (said.includes('GetState')) socket.write(reply(serial, 'i', 2));
    else if (said.includes('EntryGroupNew')) socket.write(reply(serial, 'o', '/some/where'));
    else if (said.includes('GetAlternativeServiceName'))
      socket.write(reply(serial, 's', `Kitchen #${serial}`));
    else socket.write(reply(serial));
  };

function announce(t: TestContext, bus: ScriptedBus, interfaces = () => INTERFACES) {
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] = `unix:path=${bus.path}`;
  const [told, logged]: [string[], string[]] = [[], []];
  const announcer = new Announcer(
    { enabled: true, name: 'Kitchen' },
    {
      status: (state, detail) => void told.push(`${state}: ${detail}`),
      log: (_level, message) => void logged.push(message),
    },
    { interfaces, clock: systemClock },
  );
  t.after(() => announcer.stop());
  const serve = (): void =>
    announcer.applyChanges({
      isWhole: true,
      changes: [put('served', '', { port: 8018, addresses: ['0.0.0.0'] })],
    });
  serve();
  return { announcer, told, logged, serve };
}

test('a service whose names avahi-daemon all refuses is tried 32 times, then given up for a while', async (t) => {
  const taken = answers('AddService', (socket, { serial }) =>
    socket.write(errorReply(serial, 'org.freedesktop.Avahi.CollisionError', 'taken')),
  );
  const bus = await scriptedBus(() => ({ call: taken }));
  t.after(() => bus.close());
  const { told, logged } = announce(t, bus);
  await until('it has given up once', () => told.length > 0);
  assert.match(told[0] ?? '', /^connecting: avahi-daemon: .*32 names are all in use/);
  assert.equal(logged.length, 32);
});

test('interfaces that cannot be read, as without a free descriptor, are read again, and logged once', async (t) => {
  const bus = await scriptedBus(() => ({ call: answers('nothing', () => undefined) }));
  t.after(() => bus.close());
  let [hasDescriptors, looks] = [false, 0];
  const { told, logged, serve } = announce(t, bus, () => {
    looks += 1;
    if (!hasDescriptors) throw new Error('EMFILE');
    return INTERFACES;
  });
  for (const times of [1, 2, 3]) {
    serve();
    await until('the interfaces have been read', () => looks >= times);
  }
  const failed = 'the network interfaces cannot be read';
  assert.deepEqual([told, logged], [[], [failed]]);
  hasDescriptors = true;
  serve();
  await until('the service is announced', () => bus.heard.some(({ text: said }) => said.includes('Commit')));
  assert.deepEqual(logged, [failed, 'the network interfaces can be read again']);
});
