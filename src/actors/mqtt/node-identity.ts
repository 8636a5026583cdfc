// The node's identity towards a broker: an identifier that outlives its name and address, and the owner of a branch that two nodes want.
// Pure, except for reading the machine's id.

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

/** The texts of `T/node` and `T/status`, '' for none, and the process that published the status. */
export interface BranchClaim {
  readonly node: string;
  readonly status: string;
  readonly instance: string | undefined;
}

/**
 * Names another claimant of the branch, for people; undefined if there is none. The claim may be a leftover of a node that lost its power,
 * or from before a broker was cut off, so its owner is asked (branch-reader.ts).
 */
export function otherClaimant(
  { node, status, instance }: BranchClaim,
  own: { readonly identifier: string; readonly instance: string },
): string | undefined {
  if (status !== 'online' || node === '') return undefined;
  if (node !== own.identifier) {
    const name = clipped(node, NAME_CHARS_MAX);
    return `this branch belongs to another node, ${name}: set mqtt.topic to a different value`;
  }
  return instance === own.instance ? undefined : 'this branch belongs to another tonearm on this machine';
}
