// Decides with which texts the bridge itself refuses commands. Each refusal has the form of the gateway's
// problem documents. Pure.

import { clipped, printable } from '../../printable.js';
import type { BehindChoice } from './command-queues.js';
import { JSON_MAX_BYTES } from './topics.js';

/** A refusal quotes at most this many characters of an unknown word. */
const QUOTED_MAX_CHARACTERS = 64;

export const RETAINED_COMMAND = {
  type: 'urn:tonearm:problem:retained-command',
  title: 'A retained command is not carried out',
  status: 400,
  detail: 'It would be carried out again at each connection: publish commands without the retain flag',
};

/** The detail lists the words that the topic takes. */
export function unknownWord(payload: string, words: readonly string[]): object {
  const quoted = JSON.stringify(printable(clipped(payload, QUOTED_MAX_CHARACTERS)));
  return {
    type: 'urn:tonearm:problem:unknown-word',
    title: 'This topic does not take this word',
    status: 400,
    detail: `The words are ${words.join(', ')}; got ${quoted}`,
  };
}

/** The gateway refuses such a body in the same words (gateway/body.ts). */
export const BODY_TOO_LARGE = {
  type: 'urn:tonearm:problem:body-too-large',
  title: 'The body is too large',
  status: 413,
  detail: `The body is larger than ${JSON_MAX_BYTES} bytes`,
};

export const TOO_MANY_COMMANDS = {
  type: 'urn:tonearm:problem:too-many-commands',
  title: 'Too many commands are waiting',
  status: 503,
  detail: 'No further command can wait: publish it again later',
};

/**
 * A message may, for instance, choose an output and set the volume of this output. If the choice is refused,
 * the volume is refused, too, with this text.
 */
export function choiceRefused({ field, choice }: BehindChoice): object {
  return {
    type: 'urn:tonearm:problem:choice-refused',
    title: 'The choice on which it acts was refused',
    status: 409,
    detail: `Field ${field} was not carried out, because field ${choice} was refused`,
  };
}
