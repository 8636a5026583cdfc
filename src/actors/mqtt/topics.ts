// How names become levels of topics and levels of topics names, and which topics brokers refuse. Pure.

import { PLAYER_NAMES } from '../../protocol/dbus/mpris.js';

/** Topics and routes do without what all bus names of players begin with. */
export function playerName(busName: string): string {
  return busName.startsWith(PLAYER_NAMES) ? busName.slice(PLAYER_NAMES.length) : busName;
}

/**
 * What a level must not hold: `/ + #` have a meaning, `%` begins an escape, and a broker throws out whoever sends control characters
 * or noncharacters (MQTT 5, section 1.5.4: it may; mosquitto does).
 */
const UNFIT = /[/+#%\p{Cc}\p{Noncharacter_Code_Point}]/gu;

/** A topic is at most 65 535 bytes long (MQTT 5, section 1.5.4); the rest is room for what stands around a name. */
const TOPIC_BYTES_MAX = 65_000;

/** The name as one level: what a level must not hold is written as the bytes of its UTF-8, each `%XX`. Different names never meet. */
export function topicLevel(name: string): string {
  return Buffer.from(name).toString().replace(UNFIT, escaped);
}

function escaped(char: string): string {
  return [...Buffer.from(char)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** The name that a level stands for, out of whatever hands; undefined: its escapes are those of no text. */
export function nameOf(level: string): string | undefined {
  try {
    return decodeURIComponent(level);
  } catch {
    return undefined;
  }
}

export function isTooLong(topic: string): boolean {
  return Buffer.byteLength(topic) > TOPIC_BYTES_MAX;
}
