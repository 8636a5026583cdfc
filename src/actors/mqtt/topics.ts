// Converts names to topic levels and back, and knows which topics brokers refuse. Pure.

import { PLAYER_NAMES } from '../../protocol/dbus/mpris.js';

/** A player's name without the prefix of all bus names; topics and routes do not need it. */
export function playerName(busName: string): string {
  return busName.startsWith(PLAYER_NAMES) ? busName.slice(PLAYER_NAMES.length) : busName;
}

/**
 * Characters that a level must not contain: `/ + #` have a meaning, `%` begins an escape, and a broker disconnects clients that send
 * control characters or noncharacters (MQTT 5, section 1.5.4 allows that; mosquitto does it).
 */
const UNFIT = /[/+#%\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** A topic has at most 65 535 bytes (MQTT 5, section 1.5.4); the rest is for what surrounds a name. */
const TOPIC_BYTES_MAX = 65_000;

/** The name as one level: unfit characters become their UTF-8 bytes as `%XX`. Different names give different levels. */
export function topicLevel(name: string): string {
  return Buffer.from(name).toString().replace(UNFIT, percentEncoded);
}

function percentEncoded(char: string): string {
  return [...Buffer.from(char)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
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
