// Tests the discovery bridge when something fails, for instance when avahi-daemon refuses a call or answers
// late. The bus and its avahi-daemon are scripted.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Discovery } from '../../../src/actors/discovery/bridge.js';
import type { NetworkInterfaces } from '../../../src/actors/discovery/places.js';
import { systemClock } from '../../../src/host/clock.js';
import { AVAHI_BROWSER, AVAHI_RESOLVER, LOCAL_FLAG, PROTOCOLS } from '../../../src/protocol/dbus/avahi.js';
import { put } from '../../gateway/scripted-backends.js';
import { ManualClock } from '../../manual-clock.js';
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
/** The path that `signal` of scripted-bus.ts gives to every signal. */
const SIGNAL_PATH = '/some/where';
/** The state of an avahi-daemon that can announce services. */
const RUNNING = 2;
const ADDRESS = { address: '192.0.2.1', family: 'IPv4' } as const;
const ETH0_INDEX = 2;
const INTERFACES: NetworkInterfaces = [{ name: 'eth0', index: ETH0_INDEX, addresses: [ADDRESS] }];
const EVERY_IPV4 = '0.0.0.0';
/** A node that is served only at this address announces nothing, but finds other nodes. */
const LOOPBACK = '127.0.0.1';

type SpecialAnswer = (socket: Socket, received: ReceivedCall) => boolean;

/** A bus with an avahi-daemon. A call for which `answerSpecially` returns true gets no ordinary answer. */
function startAvahi(t: TestContext, answerSpecially: SpecialAnswer = () => false): Promise<ScriptedBus> {
  const call = (socket: Socket, received: ReceivedCall): void => {
    const { serial, text } = received;
    if (answerSpecially(socket, received)) return;
    if (text.includes('GetNameOwner')) socket.write(reply(serial, 's', AVAHI));
    else if (text.includes('GetState')) socket.write(reply(serial, 'i', RUNNING));
    else if (text.includes('ServiceResolverNew')) socket.write(reply(serial, 'o', `/resolver/${serial}`));
    else if (/EntryGroupNew|ServiceBrowserNew/.test(text)) socket.write(reply(serial, 'o', '/object'));
    else if (text.includes('GetAlternative')) socket.write(reply(serial, 's', `Kitchen #${serial}`));
    else socket.write(reply(serial));
  };
  return scriptedBus(() => ({ call }), t);
}

/** Starts the bridge of a node that is served at `address`. `recorder` has what the bridge publishes. */
function startDiscovery(t: TestContext, bus: ScriptedBus, address: string, interfaces = () => INTERFACES) {
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] = `unix:path=${bus.path}`;
  const recorder = Object.assign(new Recorder(), { ask: () => assert.fail('an operation is requested') });
  const settings = { enabled: true, name: 'Kitchen', nodes: [], trust: true };
  const bridge = new Discovery(settings, recorder, { interfaces, clock: systemClock });
  t.after(() => bridge.stop());
  /**
   * Reports where the node is served. Each report begins another round (announcer.ts), even if nothing has
   * changed.
   */
  const reportServed = (): void => {
    const served = put('served', '', { port: 8018, addresses: [address] });
    bridge.applyChanges({ isWhole: true, changes: [served] });
  };
  reportServed();
  return { recorder, reportServed };
}

const NO_FLAGS = 0;
const serviceOf = (name: string) => [ETH0_INDEX, PROTOCOLS.IPv4, name, '_http._tcp', 'local'];

const itemNewSignal = (name: string): Buffer =>
  signal(AVAHI, AVAHI_BROWSER, 'ItemNew', 'iisssu', ...serviceOf(name), NO_FLAGS);

/**
 * `txt` has the pairs of the TXT record, such as `api=tonearm`. The service belongs to another node on the
 * bridge's machine (`LOCAL_FLAG`).
 */
function foundSignal(name: string, ...txt: readonly string[]): Buffer {
  const pairs = txt.map((pair) => [...Buffer.from(pair)]);
  const values = [...serviceOf(name), `${name}.local`, PROTOCOLS.IPv4, '192.0.2.7', 80, pairs, LOCAL_FLAG];
  return signal(AVAHI, AVAHI_RESOLVER, 'Found', 'iissssisqaayu', ...values);
}

test('if avahi-daemon refuses every name for the service of a node, the bridge tries 32 names before it gives up for a while', async (t) => {
  let triedNames = 0;
  const bus = await startAvahi(t, (socket, { serial, text }) => {
    if (!text.includes('AddService')) return false;
    triedNames += 1;
    socket.write(errorReply(serial, 'org.freedesktop.Avahi.CollisionError', 'taken'));
    return true;
  });
  const { recorder } = startDiscovery(t, bus, EVERY_IPV4);
  await until('the bridge has given up once', () => recorder.state !== '');

  assert.match(recorder.state, /^connecting: avahi-daemon: .*32 names are all in use/);
  assert.equal(triedNames, 32);
  assert.equal(recorder.logs.length, 31, 'the log has a line for each name after the first');
});

test('the bridge is up and finds nodes while avahi-daemon permits no announcement, and announces its own node when avahi-daemon permits this', async (t) => {
  let mayAnnounce = false;
  let refusals = 0;
  let browserCount = 0;
  const bus = await startAvahi(t, (socket, { serial, text }) => {
    if (text.includes('ServiceBrowserNew')) {
      browserCount += 1;
      socket.write(Buffer.concat([reply(serial, 'o', '/browser'), itemNewSignal('attic')]));
      return true;
    }
    if (text.includes('ServiceResolverNew')) {
      // The bridge gets the signal `Found` before the path of the resolver.
      socket.write(Buffer.concat([foundSignal('attic', 'api=tonearm'), reply(serial, 'o', SIGNAL_PATH)]));
      return true;
    }
    if (mayAnnounce || !text.includes('EntryGroupNew')) return false;
    refusals += 1;
    socket.write(errorReply(serial, 'org.freedesktop.Avahi.NotPermittedError', 'Not permitted'));
    return true;
  });
  const { recorder, reportServed } = startDiscovery(t, bus, EVERY_IPV4);
  await until('the attic is published', () => recorder.newest('nodes', 'attic'));
  await until('the refusal is reported', () =>
    recorder.state.startsWith('up: not announced: avahi-daemon.conf'),
  );
  reportServed();
  await until('the announcement is refused again', () => refusals === 2);

  mayAnnounce = true;
  reportServed();
  await until('the service is announced', () => bus.received.some(({ text }) => text.includes('Commit')));
  assert.equal(browserCount, 1, 'the connection to the bus was never replaced');
});

/** The first call of `refusedMember` gets no answer from avahi-daemon until `refuse` refuses the call. */
async function startRefusingOnce(t: TestContext, refusedMember: string) {
  // The list is empty until the first call of `refusedMember`. Then it has this one call.
  const firstCalls: { readonly socket: Socket; readonly serial: number }[] = [];
  const bus = await startAvahi(t, (socket, { serial, text }) => {
    const isFirst = firstCalls.length === 0 && text.includes(refusedMember);
    if (isFirst) firstCalls.push({ socket, serial });
    return isFirst;
  });
  const refuse = (): void => {
    for (const { socket, serial } of firstCalls)
      socket.write(errorReply(serial, 'org.freedesktop.Avahi.NotSupportedError', 'not now'));
  };
  const countCalls = (member: string) => bus.received.filter(({ text }) => text.includes(member)).length;
  return { bus, countCalls, refuse };
}

test('if a change comes while a step of an announcement fails, the announcement is made again', async (t) => {
  const { bus, countCalls, refuse } = await startRefusingOnce(t, 'AddService');
  const { reportServed } = startDiscovery(t, bus, EVERY_IPV4);
  await until('the service is being added', () => countCalls('AddService') === 1);

  reportServed();
  refuse();
  await until('the service is announced', () => countCalls('Commit') === 1);
  assert.equal(countCalls('AddService'), 2);
  assert.equal(countCalls('Free'), 1, 'the entry group without a service is freed');
});

test('if a change comes while the withdrawal of an announcement fails, the next round withdraws the announcement', async (t) => {
  const { bus, countCalls, refuse } = await startRefusingOnce(t, 'Free');
  let interfaces = INTERFACES;
  const { recorder, reportServed } = startDiscovery(t, bus, ADDRESS.address, () => interfaces);
  await until('the service is announced', () => countCalls('Commit') === 1);

  interfaces = [];
  reportServed();
  await until('the announcement is being withdrawn', () => countCalls('Free') === 1);
  reportServed();
  refuse();
  await until('the announcement is withdrawn', () => recorder.state.startsWith('up: nothing to announce'));
  assert.equal(countCalls('Free'), 2);
});

test('if the network interfaces cannot be read, the bridge tries again in each round, but logs only the first failure', async (t) => {
  const bus = await startAvahi(t);
  let hasFreeDescriptor = false;
  let attempts = 0;
  const { recorder, reportServed } = startDiscovery(t, bus, EVERY_IPV4, () => {
    attempts += 1;
    // Node.js throws this error if the process has no free file descriptor.
    if (!hasFreeDescriptor) throw new Error('EMFILE');
    return INTERFACES;
  });
  for (const expectedAttempts of [1, 2, 3]) {
    reportServed();
    await until('the bridge has tried to read the interfaces', () => attempts >= expectedAttempts);
  }

  hasFreeDescriptor = true;
  reportServed();
  await until('the service is announced', () => bus.received.some(({ text }) => text.includes('Commit')));
  assert.deepEqual(recorder.logs, ['warn: the network interfaces cannot be read']);
});

/** The deadline of a call to avahi-daemon (CALL_DEADLINE_MS in discovery/bridge.ts). */
const CALL_DEADLINE_MS = 20_000;
/** Longer than the wait before the bridge dials the bus again, and shorter than the deadline of a dial. */
const RECONNECTED_AFTER_MS = 1_000;

/**
 * Starts the bridge. After the announcement, avahi-daemon does not answer `GetState` until the test calls
 * `answerLate`. The timers of the process, such as the deadline of a call, fire when the test moves `clock`.
 */
async function startSlowAvahi(t: TestContext) {
  const clock = new ManualClock();
  t.mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number) => clock.after(ms, callback));
  t.mock.method(globalThis, 'clearTimeout', (cancel?: () => void) => cancel?.());
  let isSlow = false;
  const lateAnswers: (() => void)[] = [];
  const bus = await startAvahi(t, (socket, { serial, text }) => {
    const mustWait = isSlow && text.includes('GetState');
    if (mustWait) lateAnswers.push(() => socket.write(reply(serial, 'i', RUNNING)));
    return mustWait;
  });
  const { recorder, reportServed } = startDiscovery(t, bus, EVERY_IPV4);
  // The bus is dialled in a timer of 0 ms.
  clock.advance(0);
  const countCalls = (member: string) => bus.received.filter(({ text }) => text.includes(member)).length;
  await until('the service is announced', () => countCalls('Commit') === 1);

  isSlow = true;
  reportServed();
  await until('a call waits for its answer', () => lateAnswers.length === 1);
  const answerLate = (): void => {
    isSlow = false;
    for (const answer of lateAnswers) answer();
  };
  return { bus, clock, recorder, reportServed, countCalls, answerLate };
}

test('an announcement stays if avahi-daemon takes almost 20 s for one answer', async (t) => {
  const { bus, clock, reportServed, countCalls, answerLate } = await startSlowAvahi(t);
  clock.advance(CALL_DEADLINE_MS - 1);
  answerLate();
  // A timer has requested another round meanwhile (`ROUND_EVERY_MS` of announcer.ts), and each round calls
  // `GetState` once. A round begins only after the end of the round before.
  const callsBefore = countCalls('GetState');
  await until('the next round has begun', () => countCalls('GetState') > callsBefore);
  reportServed();
  await until(
    'one more round has begun, so the round before has ended',
    () => countCalls('GetState') > callsBefore + 1,
  );
  assert.equal(countCalls('Free'), 0, 'nothing is withdrawn');
  assert.equal(bus.connections(), 1);
});

test('if avahi-daemon does not answer a call within 20 s, the bridge reports this, and announces the node over a new connection', async (t) => {
  const { bus, clock, recorder, countCalls, answerLate } = await startSlowAvahi(t);
  clock.advance(CALL_DEADLINE_MS);
  await until('the bridge is connecting', () => recorder.state.startsWith('connecting'));
  assert.equal(recorder.state, 'connecting: avahi-daemon: no answer in time');

  answerLate();
  clock.advance(RECONNECTED_AFTER_MS);
  await until('the service is announced again', () => countCalls('Commit') === 2);
  assert.equal(bus.connections(), 2);
});

/** The number of services that may be resolved at the same time (RESOLVERS_MAX in discovery/browser.ts). */
const SERVICES_MAX = 256;

test('the bridge resolves 256 services at most, frees the place of a service that is no node, and drops its nodes when the bus is lost', async (t) => {
  let peer: Socket | undefined;
  const bus = await startAvahi(t, (socket, { serial, text }) => {
    peer = socket;
    const isAttic = text.includes('ServiceResolverNew') && text.includes('attic');
    if (!isAttic) return false;
    // The bridge gets the signal `Found` before the path of the resolver. All scripted signals have this
    // path, so the signal `Failure` below comes from this resolver.
    socket.write(Buffer.concat([foundSignal('attic', 'api=tonearm'), reply(serial, 'o', SIGNAL_PATH)]));
    return true;
  });
  const { recorder } = startDiscovery(t, bus, LOOPBACK);
  const isCalled = (member: string, name = '') =>
    bus.received.some(({ text }) => text.includes(member) && text.includes(name));
  await until('the browser is made', () => isCalled('ServiceBrowserNew'));
  for (let service = 1; service <= SERVICES_MAX; service += 1) {
    peer?.write(itemNewSignal(`other ${service}`));
    // The bridge ends the connection if a call gets no answer for 20 s. The machine may be busy, so the
    // bridge gets only a few services at a time.
    if (service % 16 === 0)
      await until('these services are resolved', () => isCalled('ServiceResolverNew', `other ${service}`));
  }
  for (const name of ['cellar', 'loft']) peer?.write(itemNewSignal(name));
  await until('a service is left out', () => recorder.logs.length > 0);
  assert.deepEqual(recorder.logs, ['warn: too many services on the network: some are left out']);

  // This TXT record has no `api`, so the service is no node.
  peer?.write(foundSignal('other 1', 'txtvers=1'));
  await until('the resolver is freed', () => isCalled('Free', '/resolver'));
  peer?.write(itemNewSignal('attic'));
  await until('the attic is published', () => recorder.newest('nodes', 'attic'));

  peer?.write(signal(AVAHI, AVAHI_RESOLVER, 'Failure', 's', 'no answer'));
  await until('the attic is dropped', () => recorder.newest('nodes', 'attic') === undefined);
  peer?.write(foundSignal('attic', 'api=tonearm'));
  await until('the attic is published again', () => recorder.newest('nodes', 'attic'));
  assert.ok(!isCalled('ServiceResolverNew', 'cellar'), 'the cellar is left out');
  assert.ok(!isCalled('ServiceResolverNew', 'loft'), 'the loft is left out');

  peer?.destroy();
  const drops = () => recorder.published.filter((line) => line === 'drop nodes attic');
  // The signal `Failure` above has caused the first drop.
  await until('the list is empty', () => drops().length === 2);
});

test('the bridge reconnects if the path of a resolver is invalid, but not if avahi-daemon refuses to make a resolver', async (t) => {
  let hasSentInvalidPath = false;
  const bus = await startAvahi(t, (socket, { serial, text }) => {
    if (text.includes('ServiceBrowserNew')) {
      socket.write(reply(serial, 'o', '/browser'));
      const names = hasSentInvalidPath ? [] : ['refused', 'invalid'];
      for (const name of names) socket.write(itemNewSignal(name));
      return true;
    }
    if (!text.includes('ServiceResolverNew')) return false;
    if (text.includes('refused')) {
      socket.write(errorReply(serial, 'a.InvalidServiceName'));
    } else {
      hasSentInvalidPath = true;
      // The reply has a text (`s`) in the place of a path (`o`).
      socket.write(reply(serial, 's', 'no path'));
    }
    return true;
  });
  const { recorder } = startDiscovery(t, bus, LOOPBACK);
  const browserCalls = () => bus.received.filter(({ text }) => text.includes('ServiceBrowserNew'));
  await until('the bridge browses again', () => browserCalls().length === 2);
  assert.equal(recorder.published.filter((line) => line.startsWith('connecting')).length, 1);
});
