// Home Assistant's device message: the whole node as one device, in the format of its MQTT discovery (tested
// with 2026.6). Pure. The entities are defined in entities.ts; this file builds the message and decides how
// entities are removed.

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
 * The entities of the message to publish while the broker holds one with the `retained` ones. An entity is
 * removed by a message that has only its platform; only the next message may use its key for another one, so
 * this is called again until nothing changes. `isKnown`: true if `entities` is complete for this owner; else
 * the owner's entities in the retained message are kept.
 */
export function entitiesToPublish(
  entities: Entities,
  retained: Entities,
  isKnown: (owner: Backend | undefined) => boolean,
): Entities {
  const found = new Map(entities);
  for (const [key, component] of retained) {
    const desired = found.get(key);
    const isLeaving = Object.keys(component).length === 1;
    if (desired === undefined && !isKnown(ownerOf(key))) found.set(key, component);
    else if (desired?.platform !== component.platform && !isLeaving)
      found.set(key, { platform: component.platform });
  }
  return found;
}

/** The entities of a message from any source; other content at that topic is overwritten. */
export function entitiesIn(text: string): Entities {
  const { components } = (boundedJson(text) ?? {}) as { readonly components?: unknown };
  const entries = Object.entries(typeof components === 'object' ? (components ?? {}) : {});
  return new Map(
    entries.filter((entry): entry is [string, Component] => typeof entry[1]?.platform === 'string'),
  );
}

/**
 * Each entity is unavailable while its node's status is offline: that topic names the branch, in messages of
 * all versions.
 */
const STATUS_OF_ENTITY = /"availability":\[\{"topic":("(?:[^"\\]|\\.)*")/;
const STATUS_LEVEL = '/status';

/** The branch of the node that has published this device message; undefined if it names none. */
export function branchOfDevice(text: string): string | undefined {
  const [, quoted] = STATUS_OF_ENTITY.exec(text) ?? [];
  if (quoted === undefined) return undefined;
  try {
    const topic = String(JSON.parse(quoted));
    return topic.endsWith(STATUS_LEVEL) ? topic.slice(0, -STATUS_LEVEL.length) : undefined;
  } catch {
    return undefined;
  }
}

/** The interface of a tunnel has this address. */
const NO_MAC = '00:00:00:00:00:00';

/** Such an address means that no router has given one. */
const UNROUTED = /^169\.254\./;

/**
 * The URL for people: with an IP address, which works without mDNS, or else with the node's name. `addresses`
 * are those of `/health`, on which the node listens; the best of `interfaces` stands first.
 */
export function nodeUrl(
  hostname: string,
  { port, addresses }: ServedRecord,
  interfaces: InterfaceAddresses,
): string {
  const own = reachableAt(addresses, interfaces).map(({ info }) => info.address);
  const address = own.find((each) => !UNROUTED.test(each));
  const host = address ?? (hostname.includes('.') ? hostname : `${hostname}.local`);
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/**
 * The hardware address of the first interface that has one: the best one stands first, and leads to the
 * house's network.
 */
export function macOf(interfaces: InterfaceAddresses): string | undefined {
  const infos = Object.values(interfaces).flatMap((each = []) => each);
  return infos.find(({ internal, mac }) => !internal && mac !== NO_MAC && mac !== '')?.mac;
}
