// Scenarios of discovery (docs/configuration.md, "Finding nodes"). avahi-browse shows where the daemon's
// service is announced, and `GET /nodes` shows which nodes the daemon has found. The daemon, the node's
// network and both avahi-daemons are real: one runs on the node, the other on a neighbour on the same link.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { NodeRecord } from '../../../src/protocol/actor/schemas.js';
import { SpawnedText } from '../../tools/spawned.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { DaemonOnNode } from './daemon-on-node.js';

const LAN_ADDRESS = '192.168.77.5';
const NEIGHBOUR_ADDRESS = '192.168.77.9';
/** The address of the interface that `plugIn` adds. */
const PLUGGED_IN_ADDRESS = '192.168.78.5';
const STOP_AVAHI = 'systemctl stop avahi-daemon.socket avahi-daemon';

const byName = (one: NodeRecord, other: NodeRecord): number => (one.name < other.name ? -1 : 1);

/** One line of `avahi-browse --resolve`. */
interface FoundService {
  /** The interface and the protocol, such as `lan0 IPv4`. */
  readonly at: string;
  readonly name: string;
  readonly port: string;
  readonly txt: readonly string[];
}

/**
 * Reads a line of avahi-browse. The following is the line of a found service, in which `\032` is a space.
 *
 * =;lan0;IPv4;a\032name;_http._tcp;local;tonearm-node.local;192.168.77.5;8018;"path=/ui" "api=tonearm"
 */
function parseFoundLine(line: string) {
  const [
    kind,
    networkInterface = '',
    protocol,
    name = '',
    _type,
    _domain,
    host,
    _address,
    port = '',
    txt = '',
  ] = line.split(';');
  const service: FoundService = {
    at: `${networkInterface} ${protocol}`,
    name: name.replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number(code))),
    port,
    txt: [...txt.matchAll(/"([^"]*)"/g)].map(([, pair = '']) => pair).sort(),
  };
  return { kind, host, service };
}

/**
 * Runs in the neighbour, a network namespace that stands for another host. Starts the neighbour's own
 * avahi-daemon, which announces a service. `$1` is the service's name, `$2` the service's TXT records as XML.
 */
const NEIGHBOUR = `
mount -t tmpfs tmpfs /run/avahi-daemon
mount -t tmpfs tmpfs /etc/avahi/services
cat > /etc/avahi/services/taken.service <<END
<?xml version="1.0" standalone='no'?><!DOCTYPE service-group SYSTEM "avahi-service.dtd">
<service-group><name>$1</name><service><type>_http._tcp</type><port>80</port>$2</service></service-group>
END
printf "[server]\\nhost-name=neighbour\\nenable-dbus=no\\n" > /run/avahi-daemon/conf
chmod 755 /run/avahi-daemon
exec avahi-daemon -f /run/avahi-daemon/conf --no-rlimits
`;

class DiscoveryDaemon extends DaemonOnNode {
  /**
   * Copies the program to the node, makes an interface `lan0` whose other end is the neighbour's, and starts
   * avahi-daemon.
   */
  async prepare(): Promise<void> {
    await this.install();
    await this.node.shell(`ip netns add neighbour
      ip link add lan0 type veth peer name far0 netns neighbour
      ip netns exec neighbour sh -c 'ip addr add ${NEIGHBOUR_ADDRESS}/24 dev far0; ip link set far0 up'
      ip addr add ${LAN_ADDRESS}/24 dev lan0; ip link set lan0 up
      systemctl start avahi-daemon`);
  }

  async clear(): Promise<void> {
    await this.end();
    await this.node.shell(`${STOP_AVAHI}; ip link del lan0; ip netns del neighbour`);
  }

  /** Adds an interface `lan1` with an address. */
  async plugIn(): Promise<void> {
    await this.node.shell(`ip link add lan1 type veth peer name far1 netns neighbour
      ip netns exec neighbour ip link set far1 up
      ip addr add ${PLUGGED_IN_ADDRESS}/24 dev lan1; ip link set lan1 up`);
  }

  async unplug(): Promise<void> {
    await this.node.shell('ip link del lan1');
  }

  /** Starts the daemon anew. `bind` and `name` are YAML. */
  begin(bind: string, name?: string): Promise<void> {
    const discovery = `discovery: {enabled: true${name === undefined ? '' : `, name: ${name}`}}`;
    const disabled = 'pulseaudio: {enabled: false}\nsystemd: {enabled: false}';
    return this.launch(`bind: ${bind}\n${discovery}\n${disabled}\n`);
  }

  /**
   * Resolves with the services that this node announces, without the neighbour's. The script has a deadline,
   * because avahi-browse waits for ever if a service goes while avahi-browse resolves this service.
   */
  async findServices(): Promise<readonly FoundService[]> {
    const lines = (await this.node.shell('timeout 5 avahi-browse -rptk _http._tcp')).split('\n');
    return lines
      .map(parseFoundLine)
      .filter(({ kind, host }) => kind === '=' && host === 'tonearm-node.local')
      .map(({ service }) => service);
  }

  /**
   * Waits until the service is announced at these places and nowhere else. Resolves with the service as
   * avahi-browse finds it at one of them. Without an argument, it waits until the service is announced
   * nowhere.
   */
  async untilFoundAt(...places: readonly string[]): Promise<FoundService | undefined> {
    const [first] = await until(`the service is announced at ${places.join(', ') || 'none'}`, async () => {
      const found = await this.findServices();
      assert.deepEqual(found.map(({ at }) => at).sort(), [...places].sort(), JSON.stringify(found));
      return found;
    });
    return first;
  }

  /** Waits until `GET /nodes` answers with these nodes, in any order. */
  async nodesAre(...nodes: readonly NodeRecord[]): Promise<void> {
    await until(`the nodes are ${nodes.map(({ name }) => name).join()}`, async () => {
      const found = await this.node.read<NodeRecord[]>('/nodes');
      assert.deepEqual(found.sort(byName), [...nodes].sort(byName));
      return true;
    });
  }

  /**
   * Makes the neighbour announce a service with this name and these TXT records. Resolves with a function
   * that ends all processes of the neighbour.
   */
  async startNeighbour(name: string, ...txt: readonly string[]): Promise<() => Promise<void>> {
    const records = txt.map((record) => `<txt-record>${record}</txt-record>`).join('');
    const inside = ['ip', 'netns', 'exec', 'neighbour', 'sh', '-ec', NEIGHBOUR, 'sh', name, records] as const;
    const child = this.node.spawnRoot(...inside);
    const gone = new Promise((resolve) => child.once('close', resolve));
    const output = new SpawnedText(child.stderr);
    await until('the neighbour has announced its service', () =>
      /Service "[^"]*" .*successfully established/.test(output.text),
    ).catch((cause: unknown) => assert.fail(`${String(cause)}; its output: ${output.text}`));
    return async () => {
      // The namespace has several processes. When one of them ends, others may end with it before `kill`
      // reaches them. Then `kill` fails. `gone` shows that all have ended.
      await this.node.shell('kill $(ip netns pids neighbour) || true');
      await gone;
    };
  }
}

const SERVICE_NAME = 'tonearm on tonearm-node';

const ATTIC: NodeRecord = {
  name: 'attic',
  host: 'neighbour.local',
  addresses: [NEIGHBOUR_ADDRESS],
  port: 80,
  path: '/',
  api: 'odio-api',
  self: false,
};

export function discoveryScenarios(node: () => Node): void {
  const daemon = new DiscoveryDaemon(node);
  const version = async (): Promise<string> =>
    (await node().read<{ readonly version: string }>('/health')).version;
  const ownNode = async (...otherAddresses: readonly string[]): Promise<NodeRecord> => ({
    name: 'kitchen',
    host: 'tonearm-node.local',
    addresses: [LAN_ADDRESS, ...otherAddresses],
    port: 8018,
    path: '/ui',
    api: 'tonearm',
    self: true,
    version: await version(),
  });
  before(() => daemon.prepare());
  after(() => daemon.clear());

  test('with `bind: [lo, lan0]` the service is announced with name, port and TXT only on lan0, until the daemon ends', async () => {
    await daemon.begin('[lo, lan0]');
    const found = await daemon.untilFoundAt('lan0 IPv4');
    const txt = ['api=tonearm', 'path=/ui', `version=${await version()}`];
    assert.deepEqual(found, { at: 'lan0 IPv4', name: SERVICE_NAME, port: '8018', txt });
    await daemon.untilUp('discovery', new RegExp(`^announced as ${SERVICE_NAME} on lan0$`));
    const { backends } = await node().read<{ backends: { zeroconf: boolean } }>('/server');
    const { zeroconf: isDiscoveryEnabled } = backends;
    assert.equal(isDiscoveryEnabled, true);
    await daemon.end('TERM');
    await daemon.untilFoundAt();
  });

  test('with `bind: all` the service is announced on each interface, also on a new one, until the daemon is killed', async () => {
    await daemon.begin('all');
    // `all` includes loopback (docs/configuration.md, "Finding nodes"), and the link-local address of IPv6.
    // The daemon leaves both out if `bind` names the interfaces, as in the test above (places.ts and
    // bind.ts).
    await daemon.untilFoundAt('lan0 IPv4', 'lan0 IPv6', 'lo IPv4');
    await daemon.plugIn();
    await daemon.untilFoundAt('lan0 IPv4', 'lan0 IPv6', 'lan1 IPv4', 'lan1 IPv6', 'lo IPv4');
    await daemon.end('KILL');
    await daemon.untilFoundAt();
    await daemon.unplug();
  });

  test('the announcements follow addresses and interfaces that are added, removed and added again', async () => {
    await daemon.begin('[lo, lan0, lan1]');
    await daemon.untilFoundAt('lan0 IPv4');
    await daemon.plugIn();
    await node().shell('ip addr add fd00:77::5/64 dev lan0 nodad');
    await daemon.untilFoundAt('lan0 IPv4', 'lan0 IPv6', 'lan1 IPv4');
    await daemon.unplug();
    await daemon.plugIn();
    await daemon.untilFoundAt('lan0 IPv4', 'lan0 IPv6', 'lan1 IPv4');
    await node().shell('ip addr del fd00:77::5/64 dev lan0');
    await daemon.unplug();
    await daemon.untilFoundAt('lan0 IPv4');
  });

  test('an interface without multicast has no announcement, and discovery reports none there', async () => {
    await node().shell(
      'ip link add quiet0 type veth peer name quiet1 && ip link set quiet1 up && ip link set quiet0 multicast off up',
    );
    await node().shell('ip addr add 10.7.7.1/24 dev quiet0');
    await daemon.begin('[lo, quiet0]');
    await daemon.untilUp('discovery', /^nothing to announce: .* no interface that has multicast$/);
    await daemon.begin('[lo, lan0, quiet0]');
    await daemon.untilUp('discovery', new RegExp(`^announced as ${SERVICE_NAME} on lan0$`));
    await daemon.untilFoundAt('lan0 IPv4');
    await node().shell('ip link del quiet0');
  });

  test('the daemon adds a number to a service name that another host already has', async () => {
    await daemon.end();
    const endNeighbour = await daemon.startNeighbour(SERVICE_NAME);
    await daemon.begin('[lo, lan0]');
    await until('the found name has a number', async () => {
      assert.equal((await daemon.untilFoundAt('lan0 IPv4'))?.name, `${SERVICE_NAME} #2`);
      return true;
    });
    await daemon.untilUp('discovery', new RegExp(`^announced as ${SERVICE_NAME} #2 on lan0$`));
    await endNeighbour();
  });

  test('this node and others are listed as they come and go, but a printer is not', async () => {
    await daemon.begin('all', 'kitchen');
    await daemon.untilUp('discovery', /^announced as kitchen on (.*, )?lan0\b/);
    await daemon.nodesAre(await ownNode());
    const received = await daemon.listen('?types=node.updated,node.removed');
    // The printer has the text `api=tonearm` only in its TXT record `note`, and has no record `api`.
    const endPrinter = await daemon.startNeighbour('printer', 'path=/ui', 'note=api=tonearm');
    await until('the printer is resolved', async () =>
      /^=.*;printer;/m.test(await node().shell('timeout 5 avahi-browse -rptk _http._tcp || true')),
    );
    await endPrinter();
    const endAttic = await daemon.startNeighbour('attic', 'path=/ui', 'api=odio-api', 'version=2.1');
    const attic = { ...ATTIC, path: '/ui', version: '2.1' };
    await daemon.nodesAre(await ownNode(), attic);
    await daemon.plugIn();
    await daemon.nodesAre(await ownNode(PLUGGED_IN_ADDRESS), attic);
    await daemon.unplug();
    await daemon.nodesAre(await ownNode(), attic);
    await endAttic();
    await daemon.nodesAre(await ownNode());
    // The stream and the answers have a connection each, so an answer may come before the event.
    await until('the removal has come', () => received.some(({ type }) => type === 'node.removed'));
    const atticEvents = received.filter(({ data }) => data.includes('attic'));
    assert.deepEqual(
      atticEvents.map(({ type, data }) => [type, JSON.parse(data)]),
      [
        ['node.updated', attic],
        ['node.removed', { name: 'attic' }],
      ],
    );
    assert.deepEqual(
      received.filter(({ data }) => data.includes('printer')),
      [],
    );
  });

  test('the nodes leave when avahi-daemon stops, and come back when it starts', async () => {
    await daemon.begin('[lo, lan0]', 'kitchen');
    await daemon.untilUp('discovery', /^announced as kitchen on lan0$/);
    const endAttic = await daemon.startNeighbour('attic', 'api=odio-api');
    await daemon.nodesAre(await ownNode(), ATTIC);
    const received = await daemon.listen('?types=node.updated,node.removed&snapshot=1');
    await node().shell(STOP_AVAHI);
    await until('both nodes left', () => received.filter(({ type }) => type === 'node.removed').length === 2);
    assert.equal((await daemon.ask('GET', '/nodes')).status, 503);
    await node().shell('systemctl start avahi-daemon');
    await daemon.nodesAre(await ownNode(), ATTIC);
    await endAttic();
  });
}
