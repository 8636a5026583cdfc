// The service on the network as avahi-browse finds it: announced where it is served, withdrawn, renamed, and back (docs/configuration.md,
// "Finding nodes").

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { NodeRecord } from '../../../src/protocol/actor/schemas.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { DiscoveryDaemon } from './discovery-daemon.js';

const NAME = 'tonearm on tonearm-node';

const ATTIC: NodeRecord = {
  ...{ name: 'attic', host: 'neighbour.local', addresses: ['192.168.77.9'], port: 80, path: '/' },
  ...{ api: 'odio-api', self: false },
};

export function discoveryScenarios(node: () => Node): void {
  const daemon = new DiscoveryDaemon(node);
  const version = async (): Promise<string> =>
    (await node().read<{ readonly version: string }>('/health')).version;
  const ownNode = async (...more: readonly string[]): Promise<NodeRecord> => ({
    ...{ name: 'kitchen', host: 'tonearm-node.local', addresses: ['192.168.77.5', ...more], port: 8018 },
    ...{ path: '/ui', api: 'tonearm', self: true },
    version: await version(),
  });
  before(() => daemon.prepare());
  after(() => daemon.clear());

  test('a daemon on loopback alone announces nothing', async () => {
    await daemon.begin('lo');
    await daemon.is(/^nothing to announce: the service listens on loopback only$/);
    await daemon.isFoundAt();
  });

  test('the service is found under its name, with port and TXT, where it is served and nowhere else, until its end', async () => {
    await daemon.begin('[lo, lan0]');
    const found = await daemon.isFoundAt('lan0 IPv4');
    const txt = ['api=tonearm', 'path=/ui', `version=${await version()}`];
    assert.deepEqual(found, { at: 'lan0 IPv4', name: NAME, port: '8018', txt });
    await daemon.is(new RegExp(`^announced as ${NAME}$`));
    const { backends } = await node().read<{ backends: { zeroconf: boolean } }>('/server');
    assert.equal(backends.zeroconf, true);
    await daemon.end('TERM');
    await daemon.isFoundAt();
  });

  test('the service is announced everywhere where the daemon listens everywhere, and withdrawn everywhere', async () => {
    await daemon.begin('all');
    await daemon.isFoundAt('lan0 IPv4', 'lan0 IPv6', 'lo IPv4');
    await daemon.plugIn();
    await daemon.isFoundAt('lan0 IPv4', 'lan0 IPv6', 'lan1 IPv4', 'lan1 IPv6', 'lo IPv4');
    await daemon.end('KILL');
    await daemon.isFoundAt();
    await daemon.unplug();
  });

  test('a new address is announced, also on an interface in place of another, and a removed one is not', async () => {
    await daemon.begin('[lo, lan0, lan1]');
    await daemon.isFoundAt('lan0 IPv4');
    await daemon.plugIn();
    await daemon.root('ip addr add fd00:77::5/64 dev lan0 nodad');
    await daemon.isFoundAt('lan0 IPv4', 'lan0 IPv6', 'lan1 IPv4');
    await daemon.unplug();
    await daemon.plugIn();
    await daemon.isFoundAt('lan0 IPv4', 'lan0 IPv6', 'lan1 IPv4');
    await daemon.root('ip addr del fd00:77::5/64 dev lan0');
    await daemon.unplug();
    await daemon.isFoundAt('lan0 IPv4');
  });

  test('a name that another host has gets a number', async () => {
    await daemon.end();
    const leave = await daemon.neighbour(NAME);
    await daemon.begin('[lo, lan0]');
    assert.equal((await daemon.isFoundAt('lan0 IPv4'))?.name, `${NAME} #2`);
    await daemon.is(new RegExp(`^announced as ${NAME} #2$`));
    await leave();
  });

  test('the nodes of the network are listed as they come and go, with this one marked; a printer is not', async () => {
    await daemon.begin('all', 'kitchen');
    await daemon.is(/^announced as kitchen$/);
    await daemon.nodesAre(await ownNode());
    const heard = await daemon.listen('?types=node.updated,node.removed');
    const leave = await daemon.neighbour('attic', 'path=/ui', 'api=odio-api', 'version=2.1');
    const attic = { ...ATTIC, path: '/ui', version: '2.1' };
    await daemon.nodesAre(await ownNode(), attic);
    await daemon.plugIn();
    await daemon.nodesAre(await ownNode('192.168.78.5'), attic);
    await daemon.unplug();
    await daemon.nodesAre(await ownNode(), attic);
    await leave();
    await daemon.nodesAre(await ownNode());
    const told = heard.filter(({ data }) => data.includes('attic'));
    assert.deepEqual(
      told.map(({ type, data }) => [type, JSON.parse(data)]),
      [
        ['node.updated', attic],
        ['node.removed', { name: 'attic' }],
      ],
    );
    const printer = await daemon.neighbour('printer', 'path=/ui', 'note=api=tonearm');
    await daemon.nodesAre(await ownNode());
    await printer();
  });

  test('the nodes leave with avahi-daemon, and come back with it', async () => {
    await daemon.begin('[lo, lan0]', 'kitchen');
    await daemon.is(/^announced as kitchen$/);
    const leave = await daemon.neighbour('attic', 'api=odio-api');
    await daemon.nodesAre(await ownNode(), ATTIC);
    const heard = await daemon.listen('?types=node.updated,node.removed&snapshot=1');
    await daemon.root('systemctl stop avahi-daemon.socket avahi-daemon');
    await until('both nodes left', () => heard.filter(({ type }) => type === 'node.removed').length === 2);
    assert.equal((await daemon.ask('GET', '/nodes')).status, 503);
    await daemon.root('systemctl start avahi-daemon');
    await daemon.nodesAre(await ownNode(), ATTIC);
    await leave();
  });
}
