// A house of three booted nodes on one network. Each node has the installed daemon, PulseAudio and Avahi.
// The nodes find each other by Avahi. The test must run in the network namespace of `inOwnNetwork`
// (tools/own-network.ts). A program in this namespace, such as a browser, is one more machine of the house.

import assert from 'node:assert/strict';
import type { AudioRecord, NodeRecord, OutputRecord } from '../../src/protocol/actor/schemas.js';
import { ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { BootedNode, bootTogether, type Node } from './node.js';

/** Hostnames by the label of the output. */
const HOSTNAMES = { 'Living room': 'living', Kitchen: 'kitchen', Attic: 'attic' } as const;

export type Room = keyof typeof HOSTNAMES;
export const ROOMS = Object.keys(HOSTNAMES) as readonly Room[];

/** The options with which the package of all nodes is built. */
const PACKAGE_OPTIONS = ['--compress', 'none', '--version', '0.1.0-1'];
const PORT = 8018;
const SWITCH = 'house0';
/** The interface that connects a node with the house. */
const CABLE = 'eth0';
/** The address of this process in the house. */
export const OWN_ADDRESS = '10.9.0.254';
const ADDRESSES: Readonly<Record<Room, string>> = {
  'Living room': '10.9.0.1',
  Kitchen: '10.9.0.2',
  Attic: '10.9.0.3',
};

/** PulseAudio loads this file when it starts. */
const SINK_FILE = '/etc/pulse/default.pa.d/room.pa';
const sinkFileWith = (label: string): string =>
  `load-module module-null-sink sink_name=speakers sink_properties="device.description='${label}'"\n`;

export class BootedHouse {
  readonly #nodes = Object.fromEntries(
    ROOMS.map((room) => [room, new BootedNode('pulseaudio', HOSTNAMES[room])]),
  ) as Readonly<Record<Room, BootedNode>>;
  readonly #addresses: Record<Room, string> = { ...ADDRESSES };
  #cableCount = 0;

  node(room: Room): Node {
    return this.#nodes[room].node();
  }

  /** The address of the room's page and HTTP interface. */
  url(room: Room): string {
    return `http://${this.#addresses[room]}:${PORT}`;
  }

  async boot(): Promise<void> {
    // With `mcast_snooping` a bridge may keep packets of mDNS from some of its ports.
    ip('link', 'add', SWITCH, 'type', 'bridge', 'mcast_snooping', '0');
    ip('addr', 'add', `${OWN_ADDRESS}/24`, 'dev', SWITCH);
    ip('link', 'set', SWITCH, 'up');
    await bootTogether(Object.values(this.#nodes), PACKAGE_OPTIONS);
    await Promise.all(ROOMS.map((room) => this.#setUp(room)));
  }

  async #setUp(room: Room): Promise<void> {
    const node = this.node(room);
    await this.label(room, room);
    await this.plugIn(room, ADDRESSES[room]);
    // /etc/resolv.conf names the name server of the machine that runs the test. Avahi must not ask that
    // server.
    await node.shell('rm -f /etc/resolv.conf; systemctl --quiet enable --now avahi-daemon.service');
    await node.unpackPlain();
    await node.setUpPi('--bind', 'lo', '--bind', CABLE, '--discovery');
  }

  /** Connects a room's node with the house. A node loses its cable when it ends. */
  async plugIn(room: Room, address: string): Promise<void> {
    const node = this.node(room);
    // Each new cable gets a new name at the house's end. The kernel removes a node's old cable only some
    // time after the node has ended. Until then the old name is taken.
    this.#cableCount += 1;
    const bridgePort = `port${this.#cableCount}`;
    await node.connectHere(bridgePort, CABLE);
    ip('link', 'set', bridgePort, 'master', SWITCH, 'up');
    await node.shell(`ip addr add ${address}/24 dev ${CABLE}; ip link set ${CABLE} up`);
    this.#addresses[room] = address;
  }

  /** Gives the output another name for people. */
  async label(room: Room, label: string): Promise<void> {
    await this.node(room).writeFile(SINK_FILE, sinkFileWith(label));
    await this.node(room).systemctl('try-restart', 'pulseaudio.service');
  }

  /** The room's output as the node itself lists it. */
  async output(room: Room): Promise<OutputRecord> {
    const { outputs } = await this.node(room).read<AudioRecord>('/audio');
    return outputs.find(({ name }) => name === 'speakers') ?? assert.fail(`${room} has no output`);
  }

  /** Waits until `hasState` is true of the room's output. `state` says this in the error's words. */
  async outputIs(room: Room, state: string, hasState: (output: OutputRecord) => boolean): Promise<void> {
    await until(`${room}: ${state}`, async () => hasState(await this.output(room)));
  }

  /** The nodes that the room's node lists, itself included. */
  nodesKnownTo(room: Room): Promise<readonly NodeRecord[]> {
    return this.node(room).read('/nodes');
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#nodes).map((node) => node.close()));
  }
}
