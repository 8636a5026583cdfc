// Rows of the table (row.ts) about discovery, on a scripted avahi-daemon, and about covers from the web.
// The rows need a network of their own, in which the node has an address of a home network and reaches a
// public address.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { NodeRecord, PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import {
  AVAHI_BROWSER,
  AVAHI_ENTRY_GROUP,
  AVAHI_NAME,
  AVAHI_RESOLVER,
  GROUP_STATES,
  SERVER_RUNNING,
} from '../../../src/protocol/dbus/avahi.js';
import { privateBus } from '../../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../../actors/players/scripted-player.js';
import { COVER } from '../../players/tones.js';
import { ip } from '../../tools/own-network.js';
import { until } from '../../until.js';
import { type Ending, NO_BACKENDS } from '../daemon.js';
import { BusService } from './bus-service.js';
import { Driver } from './driver.js';
import type { DrivenNode, Row } from './row.js';

const GROUP = '/group';
const BROWSER = '/browser';
const RESOLVER = '/resolver';
const NAME = 'Kitchen radio';
/**
 * The address of the web server. A route makes this address local, but no interface has it. So the daemon
 * counts it as public.
 */
const PUBLIC_ADDRESS = '93.184.215.14';
const HTTP_PORT = 80;
/** The address of this machine in its home network. */
const OWN_ADDRESS = '10.9.0.1';
const NO_FLAGS = 0;

export interface NetworkNode extends DrivenNode {
  readonly house: Driver;
  /** A node without any of the keys that these rows drive. */
  readonly plain: Driver;
  /**
   * A node that knows `plain`, as `house` does, but does not trust the pages of other nodes. It has no
   * Avahi, so it knows `plain` only by its configuration.
   */
  readonly wary: Driver;
  readonly avahi: BusService;
  /** The host and path of each request that the web server has received. */
  readonly fetched: readonly string[];
}

function startAvahi(t: Ending, address: string): Promise<BusService> {
  return BusService.start(t, address, AVAHI_NAME, {
    GetState: () => ['i', SERVER_RUNNING],
    EntryGroupNew: () => ['o', GROUP],
    AddService: () => [''],
    Commit: () => [''],
    Free: () => [''],
    ServiceBrowserNew: () => ['o', BROWSER],
    ServiceResolverNew: () => ['o', RESOLVER],
  });
}

async function startWeb(t: Ending): Promise<readonly string[]> {
  ip('route', 'add', 'local', `${PUBLIC_ADDRESS}/32`, 'dev', 'lo');
  const fetched: string[] = [];
  const server = createServer((request, response) => {
    fetched.push(`${request.headers.host}${request.url}`);
    response.end(COVER);
  });
  await new Promise<void>((resolve) => server.listen(HTTP_PORT, PUBLIC_ADDRESS, () => resolve()));
  t.after(async () => {
    server.close();
  });
  return fetched;
}

/** Needs the network of `inOwnNetwork`. */
export async function startNetworkNode(t: Ending): Promise<NetworkNode> {
  ip('link', 'add', 'house0', 'type', 'veth', 'peer', 'name', 'house1');
  ip('link', 'set', 'house1', 'up');
  ip('address', 'add', `${OWN_ADDRESS}/24`, 'dev', 'house0');
  ip('link', 'set', 'house0', 'up');
  const fetched = await startWeb(t);
  const [userBus, systemBus] = await Promise.all([privateBus(t), privateBus(t)]);
  const avahi = await startAvahi(t, systemBus.address);
  const artUrl = `http://${PUBLIC_ADDRESS}/cover.png`;
  await ScriptedPlayer.start(t, userBus, 'one', { Metadata: metadata({ 'mpris:artUrl': artUrl }) });
  const env = { DBUS_SESSION_BUS_ADDRESS: userBus.address, DBUS_SYSTEM_BUS_ADDRESS: systemBus.address };
  const plainConfig = `bind: [lo, house0]\nplayers: {enabled: true}\n${NO_BACKENDS}`;
  const plain = await Driver.start(t, { env, config: plainConfig });
  const nodesKey = `nodes: ["http://${OWN_ADDRESS}:${plain.daemon.port}"]`;
  const houseConfig = `
bind: [lo, house0]
discovery: {enabled: true, name: "${NAME}", ${nodesKey}}
players: {enabled: true, fetchCovers: true}
`;
  const eventsQuery = '?snapshot=1';
  const house = await Driver.start(t, { env, config: houseConfig + NO_BACKENDS }, eventsQuery);
  const waryConfig = `discovery: {enabled: true, ${nodesKey}, trust: false}\n`;
  // `wary` takes the user's bus for the system bus. No Avahi is on the user's bus.
  const envWithoutAvahi = { DBUS_SYSTEM_BUS_ADDRESS: userBus.address };
  const wary = await Driver.start(t, { env: envWithoutAvahi, config: waryConfig + NO_BACKENDS });
  for (const driver of [house, plain])
    await driver.untilRead<readonly PlayerRecord[]>('/players', ({ length }) => length === 1);
  return { house, plain, wary, drivers: [house, plain, wary], avahi, fetched };
}

/** Avahi announces another node with these values: interface, protocol, name, type and domain. */
const ITEM = [2, 0, 'attic', '_http._tcp', 'local'] as const;

export const NETWORK_ROWS: readonly Row<NetworkNode>[] = [
  {
    drives: ['key discovery.enabled', 'key discovery.name'],
    title: 'the node is announced under discovery.name',
    run: async ({ house, avahi }) => {
      // An example is `AddService 2 0 0 Kitchen radio _http._tcp   80 path=/ui`. Domain and host are empty.
      const announced = new RegExp(`^AddService .*${NAME} _http\\._tcp.* ${house.daemon.port} `);
      await until('the service is added', () => avahi.calls.some((call) => announced.test(call)));
      await until('the group is committed', () => avahi.calls.includes('Commit'));
      avahi.emit(GROUP, AVAHI_ENTRY_GROUP, 'StateChanged', 'is', GROUP_STATES.established, '');
      await house.daemon.untilBackend('discovery', 'up', new RegExp(NAME));
    },
  },
  {
    drives: ['operation nodes', 'event node.updated', 'event node.removed'],
    title: 'another node is published, and events announce that it comes and goes',
    run: async ({ house, plain, avahi }) => {
      await until('the daemon browses for nodes', () =>
        avahi.calls.some((call) => call.startsWith('ServiceBrowserNew')),
      );
      avahi.emit(BROWSER, AVAHI_BROWSER, 'ItemNew', 'iisssu', ...ITEM, NO_FLAGS);
      await until('the daemon resolves the node', () =>
        avahi.calls.some((call) => call.startsWith('ServiceResolverNew')),
      );
      const txt = [Buffer.from('api=tonearm'), Buffer.from('path=/ui')];
      // The host, the protocol of its address, the address, the port, the TXT record and flags.
      const resolved = ['attic.local', 0, '10.9.0.7', 8018, txt, NO_FLAGS];
      avahi.emit(RESOLVER, AVAHI_RESOLVER, 'Found', 'iissssisqaayu', ...ITEM, ...resolved);
      await house.untilEvent('node.updated', (data) => data.includes('"attic"'));
      const nodes = await house.read<readonly NodeRecord[]>('/nodes');
      assert.ok(nodes.some(({ name, port }) => name === 'attic' && port === 8018));
      avahi.emit(BROWSER, AVAHI_BROWSER, 'ItemRemove', 'iisssu', ...ITEM, NO_FLAGS);
      await house.untilEvent('node.removed', (data) => data.includes('"attic"'));
      assert.equal(await plain.statusOf('/nodes'), 404);
    },
  },
  {
    drives: ['key discovery.nodes'],
    title: 'a node that the configuration names is listed as reachable, with a version, also without Avahi',
    run: async ({ house, plain, wary }) => {
      const haveReachablePlain = (nodes: readonly NodeRecord[]) =>
        nodes.some(
          ({ port, configured, reachable, version }) =>
            port === plain.daemon.port && configured && reachable && version !== undefined,
        );
      for (const driver of [house, wary])
        await driver.untilRead<readonly NodeRecord[]>('/nodes', haveReachablePlain);
      await wary.daemon.untilBackend('discovery', 'up', /only the nodes of discovery\.nodes/);
    },
  },
  {
    drives: ['key discovery.trust'],
    title: 'the page of a known node may control the players, but not if discovery.trust is false',
    run: async ({ house, plain, wary }) => {
      const knownOrigin = `http://${OWN_ADDRESS}:${plain.daemon.port}`;
      const accessOf = async (driver: Driver, origin: string) => {
        const noBody = undefined;
        const headers = { Origin: origin };
        const command = await driver.send('POST', '/players/one/pause', noBody, headers);
        const read = await driver.send('GET', '/server', noBody, headers);
        const page = await driver.send('GET', '/ui');
        const policy = String(page.headers['content-security-policy']);
        return {
          status: command.status,
          commandOrigin: command.headers['access-control-allow-origin'],
          readOrigin: read.headers['access-control-allow-origin'],
          // This is the other direction: the page of `driver` may connect to `plain`.
          mayConnect: policy.includes(`connect-src 'self' ${knownOrigin};`),
        };
      };
      const refused = { status: 403, commandOrigin: undefined, readOrigin: undefined };
      assert.deepEqual(await accessOf(house, knownOrigin), {
        status: 202,
        commandOrigin: knownOrigin,
        readOrigin: knownOrigin,
        mayConnect: true,
      });
      // An origin without the port is not the origin of the known node. The page of `house` may still
      // connect to the known node.
      const originWithoutPort = `http://${OWN_ADDRESS}`;
      assert.deepEqual(await accessOf(house, originWithoutPort), { ...refused, mayConnect: true });
      // `discovery.trust` is only about the pages of other nodes, so the page of `wary` may still connect to
      // the known node.
      assert.deepEqual(await accessOf(wary, knownOrigin), { ...refused, mayConnect: true });
    },
  },
  {
    drives: ['key players.fetchCovers'],
    title:
      'with players.fetchCovers the node fetches the cover, and without it the node redirects clients to the cover',
    run: async ({ house, plain, fetched }) => {
      const redirect = await plain.send('GET', '/players/one/cover');
      assert.deepEqual([redirect.status, fetched], [307, []]);
      const { status, headers, text } = await house.send('GET', '/players/one/cover');
      assert.deepEqual([status, headers['content-type']], [200, 'image/png'], text);
      assert.deepEqual(fetched, [`${PUBLIC_ADDRESS}/cover.png`]);
    },
  },
];
