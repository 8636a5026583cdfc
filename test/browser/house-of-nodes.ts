// Runs several gateways with the built page. Each gateway has an address of its own, and knows the others as
// if discovery had found them. They need the network of `inOwnNetwork`.

import { trustedOrigins } from '../../src/actors/discovery/trusted-origins.js';
import type { NodeRecord } from '../../src/protocol/actor/schemas.js';
import { drop, put } from '../gateway/scripted-backends.js';
import { ip } from '../tools/own-network.js';
import { NodeWithPage, output, player } from './node-with-page.js';

/** `nodes.origins` has the trusted origins, `nodes.policy` the origins to which the page may connect. */
const ORIGIN_COLLECTIONS = ['nodes.origins', 'nodes.policy'] as const;

export const addressOf = (roomIndex: number): string => `10.9.0.${roomIndex + 1}`;

/**
 * Gives the machine an address for each room. Call this once. One end of a virtual cable, `house0`, has all
 * the addresses. It works only while the other end, `wall0`, is up, too.
 */
export function makeHouse(roomCount: number): void {
  ip('link', 'add', 'house0', 'type', 'veth', 'peer', 'name', 'wall0');
  ip('link', 'set', 'wall0', 'up');
  ip('link', 'set', 'house0', 'up');
  for (let room = 0; room < roomCount; room += 1) ip('addr', 'add', `${addressOf(room)}/24`, 'dev', 'house0');
}

export class HouseOfNodes {
  /** The node of each room, by the room's name. */
  readonly rooms = new Map<string, NodeWithPage>();
  readonly #records = new Map<string, NodeRecord>();
  /** The records that each node knows. */
  readonly #known = new Map<NodeWithPage, readonly NodeRecord[]>();

  constructor(...names: readonly string[]) {
    for (const [index, name] of names.entries()) this.open(name, addressOf(index));
    this.announce();
  }

  room(name: string): NodeWithPage {
    const node = this.rooms.get(name);
    if (node === undefined) throw new Error(`There is no ${name}`);
    return node;
  }

  /**
   * Adds a node with a player and one output. The output has the name of the room. The other nodes learn
   * about the new node at the next `announce`.
   */
  open(name: string, address: string): NodeWithPage {
    const defaultPage = undefined;
    const node = new NodeWithPage({}, defaultPage, address);
    node.hostname = name.toLowerCase();
    node.up({
      audio: [output(0, { description: name, default: true, volume: 0.4 })],
      players: [player('mpd')],
      systemd: [],
      bluetooth: [],
    });
    node.gateway.listener.health('discovery', { state: 'up', since: 0, restarts: 0 });
    this.rooms.set(name, node);
    const host = `${name.toLowerCase().replaceAll(' ', '-')}.local`;
    this.#records.set(name, {
      name: `tonearm on ${name.toLowerCase()}`,
      host,
      addresses: [address],
      port: node.port,
      path: '/ui',
      api: 'tonearm',
      version: '1.2.3',
      self: false,
    });
    return node;
  }

  /** Ends the node. The other nodes know it until the next `announce`. */
  async close(name: string): Promise<void> {
    const node = this.room(name);
    this.rooms.delete(name);
    this.#records.delete(name);
    await node.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.rooms.values()].map((node) => node.close()));
  }

  /**
   * Changes the node's hostname, the label of its output, and its announced name, but not its announced
   * `host`. Then announces all nodes again.
   */
  rename(name: string, newName: string): void {
    const node = this.room(name);
    const record = this.#records.get(name);
    if (record === undefined) throw new Error(`There is no ${name}`);
    node.change(output(0, { description: newName, default: true, volume: 0.4 }));
    node.hostname = newName.toLowerCase();
    for (const map of [this.rooms, this.#records]) map.delete(name);
    this.rooms.set(newName, node);
    this.#records.set(newName, { ...record, name: `tonearm on ${newName.toLowerCase()}` });
    this.announce();
  }

  /** Puts the address in front of the node's other addresses. Then announces all nodes again. */
  addAddress(name: string, address: string): void {
    const record = this.#records.get(name);
    if (record === undefined) throw new Error(`There is no ${name}`);
    this.#records.set(name, { ...record, addresses: [address, ...record.addresses] });
    this.announce();
  }

  /** Makes the node of `forgetfulRoom` forget the node of `forgottenRoom`. */
  forget(forgottenRoom: string, forgetfulRoom: string): void {
    const node = this.room(forgetfulRoom);
    const entries = [...this.#records].filter(([name]) => name !== forgottenRoom);
    const records = entries.map(([name, record]) => ({ ...record, self: name === forgetfulRoom }));
    this.#teach(node, records);
  }

  /** Each node learns all nodes of the house. The first node also learns `strangers`. */
  announce(...strangers: readonly NodeRecord[]): void {
    const [firstNode] = this.rooms.values();
    for (const [roomName, node] of this.rooms) {
      const records = [...this.#records].map(([name, record]) => ({ ...record, self: name === roomName }));
      if (node === firstNode) records.push(...strangers);
      this.#teach(node, records);
    }
  }

  /** Makes a node know these records and no others. */
  #teach(node: NodeWithPage, records: readonly NodeRecord[]): void {
    const origins = new Set(records.flatMap(trustedOrigins));
    const names = new Set(records.map(({ name }) => name));
    const knownBefore = this.#known.get(node) ?? [];
    const forgottenRecords = knownBefore.filter(({ name }) => !names.has(name));
    const forgottenOrigins = knownBefore.flatMap(trustedOrigins).filter((origin) => !origins.has(origin));
    this.#known.set(node, records);
    node.change(
      ...forgottenRecords.map(({ name }) => drop('nodes', name)),
      ...ORIGIN_COLLECTIONS.flatMap((collection) =>
        forgottenOrigins.map((origin) => drop(collection, origin)),
      ),
      ...records.map((record) => put('nodes', record.name, record)),
      // The gateway uses only the keys of these records, not their text `a node`.
      ...ORIGIN_COLLECTIONS.flatMap((collection) =>
        [...origins].map((origin) => put(collection, origin, 'a node')),
      ),
    );
  }
}
