// The browser on a bus that behaves as neither a bus nor avahi-daemon should.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Browser } from '../../../src/actors/discovery/browser.js';
import type { Sighting } from '../../../src/actors/discovery/sighting.js';
import { systemClock } from '../../../src/clock.js';
import { AVAHI_BROWSER, AVAHI_RESOLVER, IS_LOCAL } from '../../../src/protocol/dbus/avahi.js';
import { until } from '../../until.js';
import { errorReply, type Heard, reply, type ScriptedBus, scriptedBus, signal } from '../bus/scripted-bus.js';

const AVAHI = ':1.9';
/** The path of every scripted signal, so only one resolver can find something at a time. */
const FOUND_AT = '/some/where';

function browse(t: TestContext, bus: ScriptedBus) {
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] = `unix:path=${bus.path}`;
  const [found, logged]: [(readonly Sighting[])[], string[]] = [[], []];
  const browser = new Browser({
    clock: systemClock,
    log: (_level, message) => void logged.push(message),
    found: (sightings) => void found.push(sightings),
  });
  t.after(() => browser.stop());
  return { found, logged };
}

const itemNew = (name: string): Buffer =>
  signal(AVAHI, AVAHI_BROWSER, 'ItemNew', 'iisssu', 2, 0, name, '_http._tcp', 'local', 0);

function foundAs(name: string, ...txt: readonly string[]): Buffer {
  const pairs = txt.map((pair) => [...Buffer.from(pair)]);
  const service = [2, 0, name, '_http._tcp', 'local', `${name}.local`, 0, '192.0.2.7', 80, pairs, IS_LOCAL];
  return signal(AVAHI, AVAHI_RESOLVER, 'Found', 'iissssisqaayu', ...service);
}

/** Answers like an avahi-daemon; what `special` returns true for, it has answered. */
const answers =
  (special: (socket: Socket, heard: Heard) => boolean) =>
  (socket: Socket, heard: Heard): void => {
    const { serial, text: said } = heard;
    if (special(socket, heard)) return;
    if (said.includes('GetNameOwner')) socket.write(reply(serial, 's', AVAHI));
    else if (said.includes('ServiceBrowserNew')) socket.write(reply(serial, 'o', '/browser'));
    else if (said.includes('ServiceResolverNew')) socket.write(reply(serial, 'o', `/resolver/${serial}`));
    else socket.write(reply(serial));
  };

test('a service that is no node makes room for one that was left out, and a lost bus empties the list', async (t) => {
  let peer: Socket | undefined;
  const avahi = answers((socket, { serial, text: said }) => {
    peer = socket;
    const isFirst =
      said.includes('ServiceResolverNew') && (said.includes('printer') || said.includes('attic'));
    if (isFirst) socket.write(reply(serial, 'o', FOUND_AT));
    return isFirst;
  });
  const bus = await scriptedBus(() => ({ call: avahi }));
  t.after(() => bus.close());
  const { found } = browse(t, bus);
  const isAsked = (member: string, name = '') =>
    bus.heard.some(({ text: said }) => said.includes(member) && said.includes(name));
  await until('the browser is made', () => isAsked('ServiceBrowserNew'));
  peer?.write(itemNew('printer'));
  for (let n = 1; n < 256; n += 1) {
    peer?.write(itemNew(`other ${n}`));
    // A call without an answer for 4 s ends the connection, so a busy machine gets a few at a time.
    if (n % 16 === 0) await until('these are resolved', () => isAsked('ServiceResolverNew', `other ${n}`));
  }
  peer?.write(itemNew('attic'));
  await until('there is no room', () => isAsked('ServiceResolverNew', 'other 255'));
  assert.ok(!isAsked('ServiceResolverNew', 'attic'));
  peer?.write(foundAs('printer', 'txtvers=1'));
  await until('there is room', () => isAsked('ServiceResolverNew', 'attic'));
  assert.ok(isAsked('Free', FOUND_AT));
  peer?.write(foundAs('attic', 'api=tonearm'));
  await until('the attic is found', () => found.at(-1)?.[0]?.name === 'attic');
  peer?.destroy();
  await until('the list is empty', () => found.at(-1)?.length === 0);
});

test('a resolver with a strange path makes the bus reconnect, a refused resolver does not', async (t) => {
  const avahi = answers((socket, { serial, text: said }) => {
    if (said.includes('ServiceBrowserNew')) {
      socket.write(reply(serial, 'o', '/browser'));
      for (const name of ['refused', 'strange']) socket.write(itemNew(name));
      return true;
    }
    if (!said.includes('ServiceResolverNew')) return false;
    if (said.includes('refused'))
      socket.write(errorReply(serial, 'org.freedesktop.Avahi.InvalidServiceNameError'));
    else socket.write(reply(serial, 's', 'what'));
    return true;
  });
  const bus = await scriptedBus((connection) => ({ call: connection === 1 ? avahi : answers(() => false) }));
  t.after(() => bus.close());
  const { logged } = browse(t, bus);
  const browsers = () => bus.heard.filter(({ text: said }) => said.includes('ServiceBrowserNew'));
  await until('it browses again', () => browsers().length === 2);
  assert.deepEqual(logged, ['cannot look for other nodes']);
});
