// Who this node is to a broker: the identifier that outlives its name and address, and whose a branch is where two want it. Pure but for
// the reading of the machine's id.

import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { clipped } from '../text.js';

const MACHINE_ID = '/etc/machine-id';

/** Of no other use, so that nobody can tell the machine's id, which is confidential (machine-id(5)), by what another service makes of it. */
const APPLICATION = 'tonearm: node identifier';

const IDENTIFIER_CHARS = 16;
/** Of a topic's hash. */
const TOPIC_CHARS = 6;
/** Of another node's, in a message. */
const NAME_CHARS_MAX = 64;

/** Letters and digits. Two users of one machine are two nodes: each has a sound server, units and a configuration of its own. */
export function identifierOf(machineId: string, userId: number): string {
  const hash = createHmac('sha256', machineId).update(`${APPLICATION} ${userId}`);
  return hash.digest('hex').slice(0, IDENTIFIER_CHARS);
}

/** Undefined: the machine has no id (yet). */
export function readIdentifier(userId: number, file = MACHINE_ID): string | undefined {
  try {
    const id = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f]{32}$/.test(id) ? identifierOf(id, userId) : undefined;
  } catch {
    return undefined;
  }
}

/** One for each branch: two services of one user must not throw each other out. */
export function clientIdOf(identifier: string, topic: string): string {
  return `tonearm-${identifier}-${createHash('sha256').update(topic).digest('hex').slice(0, TOPIC_CHARS)}`;
}

/** What `T/node` and `T/status` hold, '' for nothing, and which process has said that. */
export interface BranchClaim {
  readonly node: string;
  readonly status: string;
  readonly instance: string | undefined;
}

/**
 * Who else claims the branch, in words for people; undefined: nobody. The claim may be a leftover: of a node that lost its power, or from
 * before a broker was cut off. So its owner is asked (look.ts).
 */
export function otherClaimant(
  { node, status, instance }: BranchClaim,
  own: { readonly identifier: string; readonly instance: string },
): string | undefined {
  if (status !== 'online' || node === '') return undefined;
  if (node !== own.identifier) {
    const name = clipped(node, NAME_CHARS_MAX);
    return `this branch is that of another node, ${name}: give mqtt.topic a value of its own`;
  }
  return instance === own.instance ? undefined : 'this branch is that of another tonearm on this machine';
}
