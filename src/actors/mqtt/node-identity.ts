// The node's identity towards a broker: an identifier that outlives its name and address. Pure, except for reading the machine's id.

import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { clipped } from '../text.js';

const MACHINE_ID = '/etc/machine-id';

/** Used for nothing else, so that nobody can link it to another service's hash of the confidential machine id (machine-id(5)). */
const APPLICATION = 'tonearm: node identifier';

const IDENTIFIER_CHARS = 16;
const TOPIC_CHARS = 6;
const NAME_CHARS_MAX = 64;

/** Letters and digits. Two users of one machine are two nodes: each has its own sound server, units and configuration. */
export function identifierOf(machineId: string, userId: number): string {
  const hash = createHmac('sha256', machineId).update(`${APPLICATION} ${userId}`);
  return hash.digest('hex').slice(0, IDENTIFIER_CHARS);
}

/** Undefined if the machine has no id (yet). */
export function readIdentifier(userId: number, file = MACHINE_ID): string | undefined {
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
  if (node === identifier) return 'this branch belongs to another tonearm on this machine';
  return `this branch belongs to another node, ${clipped(node, NAME_CHARS_MAX)}: set mqtt.topic to a different value`;
}
