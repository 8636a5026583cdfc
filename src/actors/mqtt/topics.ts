// Names towards a broker: the node's identifier, which outlives its name and address, and topic levels; and
// texts from a broker as JSON. Pure, except for reading the machine's id.

import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PLAYER_NAMES } from '../../protocol/dbus/mpris.js';
import { clipped } from '../text.js';

/**
 * `/ + #` have a meaning in a topic, `%` begins an escape, and for the others a broker may disconnect (MQTT
 * 5, 1.5.4; mosquitto does).
 */
const UNFIT = /[/+#%\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** Wildcards, and characters for which a broker may disconnect. */
const UNPUBLISHABLE = /[+#\p{Cc}\p{Noncharacter_Code_Point}]/u;

/** True for a topic from outside to which a message may go. */
export function isPublishable(topic: string): boolean {
  return topic !== '' && !UNPUBLISHABLE.test(topic);
}

/** Bounds of a retained text, and of a command as of a route's body (docs/home-assistant.md, "Commands"). */
const JSON_BYTES_MAX = 65_536;
const JSON_LEVELS_MAX = 32;

/** A player's name without the prefix of all bus names; topics and routes do not need it. */
export function playerName(busName: string): string {
  return busName.startsWith(PLAYER_NAMES) ? busName.slice(PLAYER_NAMES.length) : busName;
}

/**
 * The name as one level: unfit characters become their UTF-8 bytes as `%XX`. Different names give different
 * levels.
 */
export function topicLevel(name: string): string {
  return Buffer.from(name)
    .toString()
    .replace(UNFIT, (char) => Buffer.from(char).toString('hex').toUpperCase().replace(/../g, '%$&'));
}

/**
 * Undefined for what is no JSON, or beyond the bounds: a value that is nested too deeply could not be written
 * again.
 */
export function boundedJson(text: string): unknown {
  if (Buffer.byteLength(text) > JSON_BYTES_MAX) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isWithin(value, JSON_LEVELS_MAX) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isWithin(each, levels - 1));
}

/**
 * Used for nothing else, so that nobody can link it to another service's hash of the confidential machine id
 * (machine-id(5)).
 */
const APPLICATION = 'tonearm: node identifier';

const IDENTIFIER_CHARS = 16;
const TOPIC_CHARS = 6;
const NAME_CHARS_MAX = 64;

/**
 * Letters and digits. Two users of one machine are two nodes: each has its own sound server, units and
 * configuration.
 */
export function identifierOf(machineId: string, userId: number): string {
  const hash = createHmac('sha256', machineId).update(`${APPLICATION} ${userId}`);
  return hash.digest('hex').slice(0, IDENTIFIER_CHARS);
}

/** Undefined if the machine has no id (yet). */
export function readIdentifier(userId: number, file = '/etc/machine-id'): string | undefined {
  try {
    const id = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f]{32}$/.test(id) ? identifierOf(id, userId) : undefined;
  } catch {
    return undefined;
  }
}

/** One id per branch: two services of one user must not disconnect each other. */
export function clientIdOf(identifier: string, topic: string): string {
  return `tonearm-${identifier}-${createHash('sha256').update(topic).digest('hex').slice(0, TOPIC_CHARS)}`;
}

/** For people: whose branch it is, where the owner is alive. `node` is the text of `T/node`. */
export function ownerText(node: string, identifier: string): string {
  if (node === identifier)
    return 'this branch belongs to another tonearm on this machine, or on a clone of it: their /etc/machine-id is the same';
  return `this branch belongs to another node, ${clipped(node, NAME_CHARS_MAX)}: set mqtt.topic to a different value`;
}

/** For people: why Home Assistant has no device of this node. `branch` is that of the node that it shows. */
export function cloneText(branch: string): string {
  const other = clipped(branch, NAME_CHARS_MAX);
  return `Home Assistant shows the node of the branch ${other}, whose /etc/machine-id is the same: give this machine an id of its own`;
}
