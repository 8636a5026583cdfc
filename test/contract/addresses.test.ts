// Tests at which addresses the built daemon listens while real interfaces and addresses appear and vanish
// (docs/configuration.md, "Addresses"), and which address it names first. The tests have a network of their
// own.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../broker/mosquitto.js';
import { startSpy } from '../broker/spy.js';
import { send } from '../tools/http.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon, ENTRY, NO_BACKENDS } from './daemon.js';

/**
 * The documentation promises 10 s for an address that appears or disappears. The rest is a reserve for a
 * busy machine.
 */
const SOON_MS = 25_000;
/** A Host header that the daemon trusts at each of its addresses. */
const TRUSTED_HOST = { Host: '127.0.0.1' };

/** Starts a daemon with this `bind`, and with the keys of the configuration in `more`. */
async function startBound(t: TestContext, bind: string, more = '') {
  const daemon = await Daemon.start({ config: `${NO_BACKENDS}bind: ${bind}\n${more}` }, t);
  type Addresses = Readonly<Record<'listening' | 'waiting', readonly string[]>>;
  /** Waits until `/health` shows these addresses. */
  const untilHealthShows = async ({ listening, waiting }: Addresses): Promise<void> => {
    const assertAddresses = async (): Promise<boolean> => {
      const health = await daemon.read<Addresses>('/health');
      assert.deepEqual([health.listening.toSorted(), health.waiting], [listening.toSorted(), waiting]);
      return true;
    };
    await until('/health has these addresses', assertAddresses, SOON_MS);
  };
  /** Demands that the daemon answers at this address. */
  const assertServed = async (host: string): Promise<void> =>
    assert.equal((await send(daemon.port, { path: '/server', host, headers: TRUSTED_HOST })).status, 200);
  return { daemon, untilHealthShows, assertServed };
}

const LO = ['127.0.0.1', '::1'];

/** Adds the interface of a container network, and then the interface of the house's network. */
function addInterfaces(t: TestContext): void {
  for (const [name, peer, address] of [
    ['docker0', 'peer0', '172.17.0.1/16'],
    ['lan5', 'peer5', '10.5.0.2/24'],
  ] as const) {
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', peer);
    ip('link', 'set', peer, 'up');
    ip('link', 'set', name, 'up');
    ip('addr', 'add', address, 'dev', name);
    t.after(() => ip('link', 'del', name));
  }
}

/** Returns the last line that `--check-config` prints. */
function lastLineOfCheckConfig(daemon: Daemon): string | undefined {
  const args = [ENTRY, '--check-config', '--config', join(daemon.directory, 'config.yaml')];
  return String(execFileSync(process.execPath, args)).trimEnd().split('\n').at(-1);
}

inOwnNetwork(import.meta.url, () => {
  test('the daemon follows an interface that appears, changes its addresses and goes, while a stream on lo continues', async (t) => {
    const { daemon, untilHealthShows, assertServed } = await startBound(t, '[lo, wlan7]');
    await untilHealthShows({ listening: LO, waiting: ['wlan7'] });
    const stream = await daemon.events();
    ip('link', 'add', 'wlan7', 'type', 'veth', 'peer', 'name', 'air7');
    ip('link', 'set', 'air7', 'up');
    ip('link', 'set', 'wlan7', 'up');
    ip('addr', 'add', 'fd00:7::2/64', 'dev', 'wlan7');
    await untilHealthShows({ listening: [...LO, 'fd00:7::2'], waiting: [] });
    await assertServed('fd00:7::2');
    ip('addr', 'add', '10.7.0.2/24', 'dev', 'wlan7');
    await untilHealthShows({ listening: [...LO, 'fd00:7::2', '10.7.0.2'], waiting: [] });
    await assertServed('10.7.0.2');
    ip('addr', 'del', '10.7.0.2/24', 'dev', 'wlan7');
    ip('addr', 'add', '10.7.0.3/24', 'dev', 'wlan7');
    await untilHealthShows({ listening: [...LO, 'fd00:7::2', '10.7.0.3'], waiting: [] });
    await assertServed('10.7.0.3');
    ip('link', 'del', 'wlan7');
    await untilHealthShows({ listening: LO, waiting: ['wlan7'] });
    assert.equal(stream.ended, false);
    // The log names the missing interface at the start, and again after the interface has gone.
    assert.equal(daemon.log.match(/does not exist yet/g)?.length, 2, daemon.log);
  });

  test('an address with a label is served like the other addresses of its interface', async (t) => {
    ip('link', 'add', 'acc0', 'type', 'veth', 'peer', 'name', 'air0');
    ip('link', 'set', 'air0', 'up');
    ip('link', 'set', 'acc0', 'up', 'addrgenmode', 'none');
    ip('addr', 'add', '10.6.0.2/24', 'dev', 'acc0');
    ip('addr', 'add', '10.6.0.3/24', 'dev', 'acc0', 'label', 'acc0:1');
    t.after(() => ip('link', 'del', 'acc0'));
    const { untilHealthShows, assertServed } = await startBound(t, '[lo, acc0]');
    await untilHealthShows({ listening: [...LO, '10.6.0.2', '10.6.0.3'], waiting: [] });
    await assertServed('10.6.0.3');
  });

  test('the address of the default route comes first in --check-config and in the page for an unknown host, although the interface of the container network is older', async (t) => {
    addInterfaces(t);
    ip('route', 'add', 'default', 'via', '10.5.0.1');
    const { daemon } = await startBound(t, 'all');
    const request = { path: '/ui', headers: { Host: 'music.example.org', Accept: 'text/html' } };
    assert.match((await send(daemon.port, request)).text, /http:\/\/10\.5\.0\.2:/);
    const open = `http://10.5.0.2:${daemon.port}/ (lan5) or http://172.17.0.1:${daemon.port}/ (docker0)`;
    assert.equal(lastLineOfCheckConfig(daemon), `# open ${open}`);
  });

  test('Home Assistant gets a link to the page at the address of the default route', {
    skip: skipReason({ programs: ['mosquitto'] }),
  }, async (t) => {
    addInterfaces(t);
    ip('route', 'add', 'default', 'via', '10.5.0.1');
    const broker = await startBroker();
    t.after(() => broker.stop());
    const spy = await startSpy(broker.url, 'homeassistant/#');
    t.after(() => spy.end());
    const { daemon } = await startBound(t, 'all', `mqtt: {enabled: true, url: "${broker.url}"}\n`);
    const device = await until('the device is announced', () => spy.received[0]?.text);
    assert.ok(device.includes(`"configuration_url":"http://10.5.0.2:${daemon.port}/ui"`), device);
  });

  test('without a default route, --check-config names the address of a hardware interface before the address of an interface that software has made', async (t) => {
    addInterfaces(t);
    const { daemon } = await startBound(t, 'all');
    // The kernel has a folder `device` only for hardware. No interface of this test is hardware, so the test
    // makes the folder for `lan5`.
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/sys/class/net']);
    t.after(() => execFileSync('umount', ['/sys/class/net']));
    mkdirSync('/sys/class/net/lan5/device', { recursive: true });
    assert.match(lastLineOfCheckConfig(daemon) ?? '', /^# open http:\/\/10\.5\.0\.2:\d+\/ \(lan5\) or /);
  });

  test('the daemon logs once that another program uses the port at an address, and serves the address as soon as the port is free', async (t) => {
    const { daemon, untilHealthShows, assertServed } = await startBound(t, '[127.0.0.1, 10.8.0.2]');
    await untilHealthShows({ listening: ['127.0.0.1'], waiting: ['10.8.0.2'] });
    // With this setting another program can occupy an address before the address exists.
    writeFileSync('/proc/sys/net/ipv4/ip_nonlocal_bind', '1');
    const otherProgram = createServer();
    await new Promise<void>((resolve) => otherProgram.listen(daemon.port, '10.8.0.2', resolve));
    ip('addr', 'add', '10.8.0.2/24', 'dev', 'lo');
    await until('the log names the address', () => daemon.log.includes('cannot listen yet'), SOON_MS);
    await untilHealthShows({ listening: ['127.0.0.1'], waiting: ['10.8.0.2'] });
    await new Promise((resolve) => otherProgram.close(resolve));
    await untilHealthShows({ listening: ['127.0.0.1', '10.8.0.2'], waiting: [] });
    await assertServed('10.8.0.2');
    assert.equal(daemon.log.match(/cannot listen yet/g)?.length, 1, daemon.log);
  });
});
