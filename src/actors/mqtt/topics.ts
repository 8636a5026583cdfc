// Decides which names records have in topics, which identifier and client id the node has, and how JSON from
// a broker is read. Makes the texts that report another owner of the branch, or of the device in Home
// Assistant. Pure, except that it reads the machine's id.

import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { clipped } from '../../printable.js';
import { PLAYER_NAME_PREFIX } from '../../protocol/dbus/mpris.js';

/**
 * Characters that a level of a topic, the text between two `/`, must not have. `/ + #` have a meaning in
 * topics, and `%` begins an escape. A broker may end the connection for control characters and for Unicode's
 * noncharacters (MQTT 5, section 1.5.4), and mosquitto does so.
 */
const UNFIT_IN_LEVEL = /[/+#%\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** Wildcards, and characters for which a broker may end the connection. */
const UNFIT_IN_TOPIC = /[+#\p{Cc}\p{Noncharacter_Code_Point}]/u;

/** True if a message can have this topic. The sender of a command may name any text as response topic. */
export function isPublishable(topic: string): boolean {
  return topic !== '' && !UNFIT_IN_TOPIC.test(topic);
}

/**
 * The most bytes of a JSON text from a broker (docs/home-assistant.md, "Commands"). A body over HTTP has the
 * same bound (gateway/body.ts).
 */
export const JSON_MAX_BYTES = 65_536;
/**
 * The deepest nesting of arrays and objects in a JSON text from a broker. A value that is nested thousands of
 * times could not become JSON again, because `JSON.stringify` would throw.
 */
const JSON_NESTING_MAX = 32;

/** A player's bus name without MPRIS' prefix. All players have the prefix, so topics and routes omit it. */
export function playerName(busName: string): string {
  return busName.startsWith(PLAYER_NAME_PREFIX) ? busName.slice(PLAYER_NAME_PREFIX.length) : busName;
}

/**
 * Returns the name as one level of a topic. Each byte of an unfit character becomes `%XX`. Different names
 * give different levels, with one exception. Most emoji have two UTF-16 units. If a name has only one of the
 * two, this half is replaced, so names that differ only in such halves give the same level.
 */
export function topicLevel(name: string): string {
  // UTF-8 cannot have half of a character, so the buffer replaces the half.
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

/** Returns the value of the JSON text; undefined if the text is no JSON, or exceeds one of the two bounds. */
export function boundedJson(text: string): unknown {
  if (isTooLongForBody(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isNestedAtMost(value, JSON_NESTING_MAX) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isNestedAtMost(value: unknown, nestingMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return nestingMax > 0 && Object.values(value).every((inner) => isNestedAtMost(inner, nestingMax - 1));
}

/**
 * The machine's id is confidential (machine-id(5)), so the node's identifier is a hash of this id. Other
 * services make hashes of the id, too. This text makes our hash differ from theirs. So nobody can find out
 * that the hashes are of the same machine.
 */
const HASH_PURPOSE = 'tonearm: node identifier';

const IDENTIFIER_CHARS = 16;
const IDENTIFIER = /^[0-9a-f]{16}$/;
const TOPIC_HASH_CHARS = 6;
const NAME_MAX_CHARACTERS = 64;

/**
 * Returns the node's identifier: hexadecimal digits that stay the same when the node's name or address
 * changes. The users of one machine have different nodes, because each user has a separate sound server,
 * separate units and a separate configuration.
 */
export function identifierOf(machineId: string, userId: number): string {
  const hash = createHmac('sha256', machineId).update(`${HASH_PURPOSE} ${userId}`);
  return hash.digest('hex').slice(0, IDENTIFIER_CHARS);
}

/** True if the text has the form of an identifier. A broker may retain any text at the topic `node`. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** Returns the identifier of the user's node on this machine; undefined if the machine has no valid id. */
export function readIdentifier(userId: number, file = '/etc/machine-id'): string | undefined {
  try {
    const id = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f]{32}$/.test(id) ? identifierOf(id, userId) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the node's client id. A broker ends a client's connection when another client with the same id
 * connects. One user may run two tonearm services with different branches, so the id contains a hash of the
 * node's topic.
 */
export function clientIdOf(identifier: string, topic: string): string {
  const topicHash = createHash('sha256').update(topic).digest('hex').slice(0, TOPIC_HASH_CHARS);
  return `tonearm-${identifier}-${topicHash}`;
}

/**
 * For people: which other node owns the branch that the configuration names. `ownersIdentifier` is the text
 * that the other node has published at the topic `node`.
 */
export function ownerText(ownersIdentifier: string, ownIdentifier: string): string {
  if (ownersIdentifier === ownIdentifier)
    return 'this branch belongs to another tonearm on this machine, or on a clone of it: their /etc/machine-id is the same';
  return `this branch belongs to another node, ${clipped(ownersIdentifier, NAME_MAX_CHARACTERS)}: set mqtt.topic to a different value`;
}

/**
 * For people: why Home Assistant has no device of this node. `otherBranch` is the branch of the node that has
 * the device instead.
 */
export function cloneText(otherBranch: string): string {
  const clippedBranch = clipped(otherBranch, NAME_MAX_CHARACTERS);
  return `Home Assistant shows the node of the branch ${clippedBranch}, whose /etc/machine-id is the same: give this machine an id of its own`;
}
