// Builds Home Assistant's device message, which has the whole node as one device, in the format of its MQTT
// discovery (tested with 2026.6), and decides how entities are removed from it. The entities themselves are
// decided in entities.ts. Pure.

import { isIP } from 'node:net';
import { type InterfaceAddresses, reachableAt } from '../../host/own-addresses.js';
import type { Backend } from '../../protocol/actor/backends.js';
import type { ServedRecord } from '../../protocol/actor/messages.js';
import type { ServerRecord } from '../../protocol/actor/schemas.js';
import { VERSION } from '../../version.js';
import { type Component, type Entities, ownerOf } from './entities.js';
import { boundedJson } from './topics.js';

export function deviceText(
  identifier: string,
  { hostname, os_platform: platform }: ServerRecord,
  url: string,
  mac: string | undefined,
  entities: Entities,
): string {
  return JSON.stringify({
    device: {
      identifiers: [`tonearm_${identifier}`],
      ...(mac !== undefined && { connections: [['mac', mac]] }),
      name: hostname,
      manufacturer: 'tonearm',
      model: 'Audio node',
      sw_version: VERSION,
      hw_version: platform,
      configuration_url: `${url}/ui`,
    },
    origin: { name: 'tonearm', sw_version: VERSION },
    availability_mode: 'all',
    qos: 1,
    components: Object.fromEntries([...entities].sort(([a], [b]) => (a < b ? -1 : 1))),
  });
}

/**
 * The entities of the next message while the broker retains a message with the entities `retained`. Home
 * Assistant removes an entity when a message has only its platform, and only a later message may use the key
 * for an entity of another platform. So this is called again after each message until nothing changes.
 * `isComplete`: false if `present` may lack entities of this owner, whose retained entities are kept then.
 */
export function entitiesToPublish(
  present: Entities,
  retained: Entities,
  isComplete: (owner: Backend | undefined) => boolean,
): Entities {
  const next = new Map(present);
  for (const [key, component] of retained) {
    const desired = present.get(key);
    const isRemovedAlready = Object.keys(component).length === 1;
    if (desired === undefined && !isComplete(ownerOf(key))) next.set(key, component);
    else if (desired?.platform !== component.platform && !isRemovedAlready)
      next.set(key, { platform: component.platform });
  }
  return next;
}

/** The entities of a message that anybody may have written; empty if the text is no device message. */
export function entitiesIn(text: string): Entities {
  const { components } = (boundedJson(text) ?? {}) as { readonly components?: unknown };
  const entries = Object.entries(typeof components === 'object' ? (components ?? {}) : {});
  return new Map(
    entries.filter((entry): entry is [string, Component] => typeof entry[1]?.platform === 'string'),
  );
}

/**
 * The first availability topic of an entity, which is the status of its node. It names the node's branch in
 * the messages of all versions of tonearm.
 */
const STATUS_TOPIC = /"availability":\[\{"topic":("(?:[^"\\]|\\.)*")/;
const STATUS_LEVEL = '/status';

/** The branch of the node that has published this device message; undefined if it names none. */
export function branchOfDevice(text: string): string | undefined {
  const [, quotedTopic] = STATUS_TOPIC.exec(text) ?? [];
  if (quotedTopic === undefined) return undefined;
  try {
    const topic = String(JSON.parse(quotedTopic));
    return topic.endsWith(STATUS_LEVEL) ? topic.slice(0, -STATUS_LEVEL.length) : undefined;
  } catch {
    return undefined;
  }
}

/** The hardware address of an interface that has none, such as a tunnel. */
const NO_MAC = '00:00:00:00:00:00';

/** Link-local: the machine has chosen such an address itself, because no router has given it one. */
const LINK_LOCAL = /^169\.254\./;

/**
 * The URL for people. It has an IP address, because that works without mDNS, or the node's name if there is
 * no address. `addresses` are those of `/health`, on which the node listens. The best of `interfaces` is the
 * first.
 */
export function nodeUrl(
  hostname: string,
  { port, addresses }: ServedRecord,
  interfaces: InterfaceAddresses,
): string {
  const ownAddresses = reachableAt(addresses, interfaces).map(({ info }) => info.address);
  const bestAddress = ownAddresses.find((address) => !LINK_LOCAL.test(address));
  const fullName = hostname.includes('.') ? hostname : `${hostname}.local`;
  const host = bestAddress ?? fullName;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/**
 * The hardware address of the first interface that has one. The best of `interfaces`, which leads to the
 * house's network, is the first.
 */
export function macOf(interfaces: InterfaceAddresses): string | undefined {
  const addresses = Object.values(interfaces).flatMap((ofInterface = []) => ofInterface);
  return addresses.find(({ internal, mac }) => !internal && mac !== NO_MAC && mac !== '')?.mac;
}
