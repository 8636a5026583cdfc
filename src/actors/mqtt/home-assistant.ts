// Builds the device message, which describes the node and its entities, by the rules of Home Assistant's MQTT
// discovery (2026.6). Decides how entities are removed from the message. The entities come from entities.ts.
// Pure.

import { isIP } from 'node:net';
import { type InterfaceAddresses, reachableAt } from '../../host/own-addresses.js';
import type { Backend } from '../../protocol/actor/backends.js';
import type { ServedRecord } from '../../protocol/actor/messages.js';
import type { ServerRecord } from '../../protocol/actor/schemas.js';
import { VERSION } from '../../version.js';
import { backendOf, type Component, type Entities } from './entities.js';
import { boundedJson } from './topics.js';

/** The whole node is one device. */
export function deviceText(
  identifier: string,
  server: ServerRecord,
  url: string,
  mac: string | undefined,
  entities: Entities,
): string {
  // The text must not depend on the order of the records, because a changed text is published again.
  const entitiesByKey = [...entities].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({
    device: {
      identifiers: [`tonearm_${identifier}`],
      connections: mac === undefined ? undefined : [['mac', mac]],
      name: server.hostname,
      manufacturer: 'tonearm',
      model: 'Audio node',
      sw_version: VERSION,
      hw_version: server.os_platform,
      configuration_url: `${url}/ui`,
    },
    origin: { name: 'tonearm', sw_version: VERSION },
    availability_mode: 'all',
    qos: 1,
    components: Object.fromEntries(entitiesByKey),
  });
}

/**
 * The entities of the next device message. `retained` has the entities of the message that the broker
 * retains.
 *
 * - Home Assistant removes an entity if a message has only the member `platform` for its key. If a key gets
 *   another platform, two messages are needed: the first removes the old entity, and the second adds the new
 *   one. So this function is called again after each message, until nothing changes.
 * - `isComplete` is false for a backend if `present` may lack some of the backend's entities. Then a retained
 *   entity of this backend stays if `present` lacks it.
 */
export function entitiesToPublish(
  present: Entities,
  retained: Entities,
  isComplete: (backend: Backend | undefined) => boolean,
): Entities {
  const next = new Map(present);
  for (const [key, earlier] of retained) {
    const presentEntity = present.get(key);
    const isGoneOrReplaced = presentEntity?.platform !== earlier.platform;
    const isRemovedAlready = Object.keys(earlier).length === 1;
    if (presentEntity === undefined && !isComplete(backendOf(key))) next.set(key, earlier);
    else if (isGoneOrReplaced && !isRemovedAlready) next.set(key, { platform: earlier.platform });
  }
  return next;
}

/**
 * The entities of a message that anybody may have written; empty if the text is no device message, or is
 * beyond the bounds of `boundedJson`.
 */
export function entitiesIn(text: string): Entities {
  const message = boundedJson(text) as { readonly components?: unknown } | null | undefined;
  const components = message?.components;
  if (typeof components !== 'object' || components === null) return new Map();
  const entries = Object.entries(components);
  return new Map(
    entries.filter((entry): entry is [string, Component] => typeof entry[1]?.platform === 'string'),
  );
}

/**
 * The first availability topic of a message, as in `"availability":[{"topic":"tonearm/living/status"`. It is
 * the status topic of the node's branch in all versions of tonearm. The group is the topic with its
 * quotation marks, and may have escapes of JSON such as `\"`.
 */
const FIRST_AVAILABILITY_TOPIC = /"availability":\[\{"topic":("(?:[^"\\]|\\.)*")/;
const STATUS_LEVEL = '/status';

/**
 * The branch of the node that has published this device message; undefined if the message names no branch.
 */
export function branchOfDevice(text: string): string | undefined {
  const [, quotedTopic] = FIRST_AVAILABILITY_TOPIC.exec(text) ?? [];
  if (quotedTopic === undefined) return undefined;
  try {
    const topic = String(JSON.parse(quotedTopic));
    return topic.endsWith(STATUS_LEVEL) ? topic.slice(0, -STATUS_LEVEL.length) : undefined;
  } catch {
    return undefined;
  }
}

/** Node.js reports this for an interface without a hardware address, such as a tunnel. */
const NO_MAC = '00:00:00:00:00:00';

/**
 * A machine chooses a link-local address by itself if no router assigns an address to the machine. This
 * pattern is only for IPv4, because `reachableAt` already leaves out the link-local addresses of IPv6.
 */
const LINK_LOCAL_IPV4 = /^169\.254\./;

/**
 * The URL for people, and for Home Assistant, which fetches covers there. An IP address works without mDNS.
 * So the URL has the node's name only if there is no address, or if all addresses are link-local.
 * `interfaces` begins with the best interface.
 */
export function configurationUrl(
  hostname: string,
  served: ServedRecord,
  interfaces: InterfaceAddresses,
): string {
  const ownAddresses = reachableAt(served.addresses, interfaces).map(({ info }) => info.address);
  const bestAddress = ownAddresses.find((address) => !LINK_LOCAL_IPV4.test(address));
  const fullName = hostname.includes('.') ? hostname : `${hostname}.local`;
  const host = bestAddress ?? fullName;
  const hostInUrl = isIP(host) === 6 ? `[${host}]` : host;
  return `http://${hostInUrl}:${served.port}`;
}

/**
 * The hardware address of the first interface that has one. `interfaces` begins with the best interface,
 * which leads to the local network.
 */
export function macOf(interfaces: InterfaceAddresses): string | undefined {
  const addresses = Object.values(interfaces).flatMap((interfaceAddresses = []) => interfaceAddresses);
  const isRealMac = (mac: string): boolean => mac !== NO_MAC && mac !== '';
  return addresses.find(({ internal, mac }) => !internal && isRealMac(mac))?.mac;
}
