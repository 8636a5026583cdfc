// Names as topic levels and back, the topics that brokers refuse, and texts from a broker as JSON. Pure.

import { PLAYER_NAMES } from '../../protocol/dbus/mpris.js';

/**
 * Characters that a level must not contain: `/ + #` have a meaning, `%` begins an escape, and a broker disconnects clients that send
 * control characters or noncharacters (MQTT 5, section 1.5.4 allows that; mosquitto does it).
 */
const UNFIT = /[/+#%\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** A topic has at most 65 535 bytes (MQTT 5, section 1.5.4); the rest is for what surrounds a name. */
const TOPIC_BYTES_MAX = 65_000;

/** Bounds of a retained text, and of a command as of a route's body (docs/home-assistant.md, "Commands"). */
const JSON_BYTES_MAX = 65_536;
const JSON_LEVELS_MAX = 32;

/** A player's name without the prefix of all bus names; topics and routes do not need it. */
export function playerName(busName: string): string {
  return busName.startsWith(PLAYER_NAMES) ? busName.slice(PLAYER_NAMES.length) : busName;
}

/** The name as one level: unfit characters become their UTF-8 bytes as `%XX`. Different names give different levels. */
export function topicLevel(name: string): string {
  return Buffer.from(name)
    .toString()
    .replace(UNFIT, (char) => Buffer.from(char).toString('hex').toUpperCase().replace(/../g, '%$&'));
}

/** The name in a level from any source; undefined if its escapes are not valid UTF-8. */
export function decodeLevel(level: string): string | undefined {
  try {
    return decodeURIComponent(level);
  } catch {
    return undefined;
  }
}

export function isTooLong(topic: string): boolean {
  return Buffer.byteLength(topic) > TOPIC_BYTES_MAX;
}

/** Undefined for what is no JSON, or beyond the bounds: a value that is nested too deeply could not be written again. */
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
