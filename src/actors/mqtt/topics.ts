// Decides which names the node and its records have in topics, which client id the node has, and how JSON
// from a broker is read. Pure, except that it reads the machine's id.

import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { clipped } from '../../printable.js';
import { PLAYER_NAME_PREFIX } from '../../protocol/dbus/mpris.js';

/**
 * Characters that a level of a topic must not have. `/ + #` have a meaning in topics, and `%` begins an
 * escape. For the others a broker may end the connection (MQTT 5, section 1.5.4), as mosquitto does.
 */
const UNFIT_IN_LEVEL = /[/+#%\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** Wildcards, and characters for which a broker may end the connection. */
const UNFIT_IN_TOPIC = /[+#\p{Cc}\p{Noncharacter_Code_Point}]/u;

/** True if the topic can be published. A command's sender may name any text as its response topic. */
export function isPublishable(topic: string): boolean {
  return topic !== '' && !UNFIT_IN_TOPIC.test(topic);
}

/**
 * Bounds of a text from a broker (docs/home-assistant.md, "Commands"). A body over HTTP has the same bound
 * of bytes, but none of levels (gateway/body.ts).
 */
export const JSON_MAX_BYTES = 65_536;
const JSON_LEVELS_MAX = 32;

/** A player's bus name without MPRIS' prefix. All players have the prefix, so topics and routes omit it. */
export function playerName(busName: string): string {
  return busName.startsWith(PLAYER_NAME_PREFIX) ? busName.slice(PLAYER_NAME_PREFIX.length) : busName;
}

/**
 * Each byte of an unfit character becomes `%XX`. Two different names give two different levels, except for
 * names with half of an emoji, because such a half is replaced.
 */
export function topicLevel(name: string): string {
  // UTF-8 has no form for one half of a character that has two UTF-16 units. The buffer replaces such a half.
  const wholeCharacters = Buffer.from(name).toString();
  return wholeCharacters.replace(UNFIT_IN_LEVEL, percentEncoded);
}

function percentEncoded(character: string): string {
  const hexDigits = Buffer.from(character).toString('hex').toUpperCase();
  return hexDigits.replace(/../g, '%$&');
}

/** True if the text has more bytes than a body over HTTP may have. */
export function isTooLongForBody(text: string): boolean {
  return Buffer.byteLength(text) > JSON_MAX_BYTES;
}

/**
 * Undefined if the text is no JSON, or beyond the bounds. A value with thousands of levels could not be
 * turned into JSON again, because `JSON.stringify` would throw.
 */
export function boundedJson(text: string): unknown {
  if (isTooLongForBody(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return hasAtMostLevels(value, JSON_LEVELS_MAX) ? value : undefined;
  } catch {
    return undefined;
  }
}

function hasAtMostLevels(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => hasAtMostLevels(inner, levels - 1));
}

/**
 * The machine's id is confidential, so the identifier is a hash of it. Other services make hashes of the id,
 * too. This text makes our hash differ from theirs. So nobody can find out that the hashes are of the same
 * machine (machine-id(5)).
 */
const HASH_PURPOSE = 'tonearm: node identifier';

const IDENTIFIER_CHARS = 16;
const IDENTIFIER = /^[0-9a-f]{16}$/;
const TOPIC_HASH_CHARS = 6;
const NAME_MAX_CHARACTERS = 64;

/**
 * Hexadecimal digits, which stay the same when the node's name or address changes. Each user of a machine is
 * a node, because each has a sound server, units and a configuration of its own.
 */
export function identifierOf(machineId: string, userId: number): string {
  const hash = createHmac('sha256', machineId).update(`${HASH_PURPOSE} ${userId}`);
  return hash.digest('hex').slice(0, IDENTIFIER_CHARS);
}

/** True if a node may have this identifier. A broker may retain any text at the topic `node`. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** The identifier of this machine's user; undefined while the machine has no id. */
export function readIdentifier(userId: number, file = '/etc/machine-id'): string | undefined {
  try {
    const id = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f]{32}$/.test(id) ? identifierOf(id, userId) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A broker ends the connection of a client when another client with the same id comes. One user may run two
 * services, which have different branches, so the topic is in the id.
 */
export function clientIdOf(identifier: string, topic: string): string {
  const topicHash = createHash('sha256').update(topic).digest('hex').slice(0, TOPIC_HASH_CHARS);
  return `tonearm-${identifier}-${topicHash}`;
}

/**
 * For people: which other node owns this node's branch. `owner` is the identifier that the other node has
 * published. `identifier` is this node's own.
 */
export function ownerText(owner: string, identifier: string): string {
  if (owner === identifier)
    return 'this branch belongs to another tonearm on this machine, or on a clone of it: their /etc/machine-id is the same';
  return `this branch belongs to another node, ${clipped(owner, NAME_MAX_CHARACTERS)}: set mqtt.topic to a different value`;
}

/** For people: why Home Assistant has no device of this node. `branch`: the branch of the other owner. */
export function cloneText(branch: string): string {
  const other = clipped(branch, NAME_MAX_CHARACTERS);
  return `Home Assistant shows the node of the branch ${other}, whose /etc/machine-id is the same: give this machine an id of its own`;
}
