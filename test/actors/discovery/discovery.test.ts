// The bridge on a bus that behaves as neither a bus nor avahi-daemon should.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Discovery } from '../../../src/actors/discovery/bridge.js';
import type { Interfaces } from '../../../src/actors/discovery/places.js';
import { systemClock } from '../../../src/host/clock.js';
import { AVAHI_BROWSER, AVAHI_RESOLVER, LOCAL_FLAG } from '../../../src/protocol/dbus/avahi.js';
import { put } from '../../gateway/scripted-backends.js';
import { until } from '../../until.js';
import {
  errorReply,
  type ReceivedCall,
  reply,
  type ScriptedBus,
  scriptedBus,
  signal,
} from '../bus/scripted-bus.js';
import { Recorder } from '../recorder.js';

const AVAHI = ':1.9';
/** The path of every scripted signal. */
const SIGNALS_AT = '/some/where';
const ADDRESS = { address: '192.0.2.1', family: 'IPv4' } as const;
const INTERFACES: Interfaces = [{ name: 'eth0', index: 2, addresses: [ADDRESS] }];

type Special = (socket: Socket, received: ReceivedCall) => boolean;

/** A bus with an avahi-daemon; what `special` returns true for, it has answered. */
function avahi(t: TestContext, special: Special = () => false): Promise<ScriptedBus> {
  const call = (socket: Socket, received: ReceivedCall): void => {
    const { serial, text } = received;
    if (special(socket, received)) return;
    if (text.includes('GetNameOwner')) socket.write(reply(serial, 's', AVAHI));
    else if (text.includes('GetState')) socket.write(reply(serial, 'i', 2));
    else if (text.includes('ServiceResolverNew')) socket.write(reply(serial, 'o', `/resolver/${serial}`));
    else if (/EntryGroupNew|ServiceBrowserNew/.test(text)) socket.write(reply(serial, 'o', '/object'));
    else if (text.includes('GetAlternative')) socket.write(reply(serial, 's', `Kitchen #${serial}`));
    else socket.write(reply(serial));
  };
  return scriptedBus(() => ({ call }), t);
}

/** A node that is served at `address`, with what it has reported and published. */
function discover(t: TestContext, bus: ScriptedBus, address: string, interfaces = () => INTERFACES) {
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] = `unix:path=${bus.path}`;
  const node = Object.assign(new Recorder(), { ask: () => assert.fail('it asks nothing') });
  const settings = { enabled: true, name: 'Kitchen', nodes: [], trust: true };
  const bridge = new Discovery(settings, node, { interfaces, clock: systemClock });
  t.after(() => bridge.stop());
  const serve = (): void => {
    const served = put('served', '', { port: 8018, addresses: [address] });
    bridge.applyChanges({ isWhole: true, changes: [served] });
  };
  serve();
  return { node, serve };
}

test('if avahi-daemon refuses each name of a service, 32 names are tried, and then none for a while', async (t) => {
  let tried = 0;
  const bus = await avahi(t, (socket, { serial, text }) => {
    const isAdded = text.includes('AddService');
    if (isAdded) socket.write(errorReply(serial, 'org.freedesktop.Avahi.CollisionError', 'taken'));
    tried += Number(isAdded);
    return isAdded;
  });
  const { node } = discover(t, bus, '0.0.0.0');
  await until('it has given up once', () => node.state !== '');
  assert.match(node.state, /^connecting: avahi-daemon: .*32 names are all in use/);
  assert.equal(tried, 32);
  assert.equal(node.logs.length, 31, 'the log has each further name');
});

/** A bus whose avahi-daemon refuses the first call of `member`, once `refuse` is called. */
async function refusingOnce(t: TestContext, member: string) {
  const firstCalls: { readonly socket: Socket; readonly serial: number }[] = [];
  const bus = await avahi(t, (socket, { serial, text }) => {
    const isFirst = firstCalls.length === 0 && text.includes(member);
    if (isFirst) firstCalls.push({ socket, serial });
    return isFirst;
  });
  const refuse = (): void => {
    for (const { socket, serial } of firstCalls)
      socket.write(errorReply(serial, 'org.freedesktop.Avahi.NotSupportedError', 'not now'));
  };
  const times = (each: string) => bus.received.filter(({ text }) => text.includes(each)).length;
  return { bus, times, refuse };
}

test('a step that fails while a change comes is done again', async (t) => {
  const { bus, times, refuse } = await refusingOnce(t, 'AddService');
  const { serve } = discover(t, bus, '0.0.0.0');
  await until('the service is added', () => times('AddService') === 1);
  serve();
  refuse();
  await until('the service is announced', () => times('Commit') === 1);
  assert.equal(times('AddService'), 2);
  assert.equal(times('Free'), 1, 'the group without a service is gone');
});

test('an announcement that could not be withdrawn while a change came is withdrawn', async (t) => {
  const { bus, times, refuse } = await refusingOnce(t, 'Free');
  let interfaces = INTERFACES;
  const { node, serve } = discover(t, bus, '192.0.2.1', () => interfaces);
  await until('the service is announced', () => times('Commit') === 1);
  interfaces = [];
  serve();
  await until('it is being withdrawn', () => times('Free') === 1);
  serve();
  refuse();
  await until('it is withdrawn', () => node.state.startsWith('up: nothing to announce'));
  assert.equal(times('Free'), 2);
});

test('interfaces that cannot be read, as without a free descriptor, are read again, and logged once', async (t) => {
  const bus = await avahi(t);
  let hasDescriptors = false;
  let readings = 0;
  const { node, serve } = discover(t, bus, '0.0.0.0', () => {
    readings += 1;
    if (!hasDescriptors) throw new Error('EMFILE');
    return INTERFACES;
  });
  for (const times of [1, 2, 3]) {
    serve();
    await until('the interfaces have been read', () => readings >= times);
  }
  hasDescriptors = true;
  serve();
  await until('the service is announced', () => bus.received.some(({ text }) => text.includes('Commit')));
  assert.deepEqual(node.logs, ['warn: the network interfaces cannot be read']);
});

const itemNew = (name: string): Buffer =>
  signal(AVAHI, AVAHI_BROWSER, 'ItemNew', 'iisssu', 2, 0, name, '_http._tcp', 'local', 0);

function foundAs(name: string, ...txt: readonly string[]): Buffer {
  const pairs = txt.map((pair) => [...Buffer.from(pair)]);
  const service = [2, 0, name, '_http._tcp', 'local', `${name}.local`, 0, '192.0.2.7', 80, pairs, LOCAL_FLAG];
  return signal(AVAHI, AVAHI_RESOLVER, 'Found', 'iissssisqaayu', ...service);
}

test('a service that is no node takes no place in the list; a node too many is left out; a lost bus empties the list', async (t) => {
  let peer: Socket | undefined;
  const bus = await avahi(t, (socket, { serial, text }) => {
    peer = socket;
    const isAttic = text.includes('ServiceResolverNew') && text.includes('attic');
    // It is found before the resolver's path is known.
    const found = Buffer.concat([foundAs('attic', 'api=tonearm'), reply(serial, 'o', SIGNALS_AT)]);
    if (isAttic) socket.write(found);
    return isAttic;
  });
  const { node } = discover(t, bus, '127.0.0.1');
  const isCalled = (member: string, name = '') =>
    bus.received.some(({ text }) => text.includes(member) && text.includes(name));
  await until('the browser is made', () => isCalled('ServiceBrowserNew'));
  for (let n = 1; n <= 256; n += 1) {
    peer?.write(itemNew(`other ${n}`));
    // A call without an answer for 4 s ends the connection, so a busy machine gets a few at a time.
    if (n % 16 === 0) await until('these are resolved', () => isCalled('ServiceResolverNew', `other ${n}`));
  }
  for (const name of ['cellar', 'loft']) peer?.write(itemNew(name));
  await until('there is no room', () => node.logs.length > 0);
  assert.deepEqual(node.logs, ['warn: too many services on the network: some are left out']);
  peer?.write(foundAs('other 1', 'txtvers=1'));
  await until('the resolver is ended', () => isCalled('Free', '/resolver'));
  peer?.write(itemNew('attic'));
  await until('the attic is published', () => node.newest('nodes', 'attic'));
  peer?.write(signal(AVAHI, AVAHI_RESOLVER, 'Failure', 's', 'no answer'));
  await until('the attic has lost its power', () => node.newest('nodes', 'attic') === undefined);
  peer?.write(foundAs('attic', 'api=tonearm'));
  await until('the attic has power again', () => node.newest('nodes', 'attic'));
  assert.ok(!isCalled('ServiceResolverNew', 'cellar') && !isCalled('ServiceResolverNew', 'loft'));
  peer?.destroy();
  const drops = () => node.published.filter((line) => line === 'drop nodes attic');
  await until('the list is empty', () => drops().length === 2);
});

test('a resolver with a strange path makes the bus reconnect, a refused resolver does not', async (t) => {
  let isStrange = true;
  const bus = await avahi(t, (socket, { serial, text }) => {
    if (text.includes('ServiceBrowserNew')) {
      socket.write(reply(serial, 'o', '/browser'));
      if (isStrange) for (const name of ['refused', 'strange']) socket.write(itemNew(name));
      return true;
    }
    if (!text.includes('ServiceResolverNew')) return false;
    const isRefused = text.includes('refused');
    isStrange &&= isRefused;
    socket.write(isRefused ? errorReply(serial, 'a.InvalidServiceName') : reply(serial, 's', 'what'));
    return true;
  });
  const { node } = discover(t, bus, '127.0.0.1');
  const browsers = () => bus.received.filter(({ text }) => text.includes('ServiceBrowserNew'));
  await until('it browses again', () => browsers().length === 2);
  assert.equal(node.published.filter((each) => each.startsWith('connecting')).length, 1);
});
