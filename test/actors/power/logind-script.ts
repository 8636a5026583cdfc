// A scripted logind, with answers that a real one cannot be made to give at will. The scenarios of test/node
// use a real logind.

import type { TestContext } from 'node:test';
import {
  errorReply,
  type ReceivedCall,
  reply,
  type Script,
  type ScriptedBus,
  scriptedBus,
  signal,
} from '../bus/scripted-bus.js';

/** An error, silence, or the end of the connection takes the place of an answer. */
export type Failure =
  | { readonly error: string; readonly text?: string }
  | { readonly silent: true }
  | { readonly gone: true };

export type LockRow = readonly [what: string, who: string, why: string, mode: string];

export interface LogindScript {
  /** The answer to CanReboot and CanPowerOff; `yes` by default. */
  readonly can?: string | Failure;
  /** The answer to ListInhibitors; by default there are no locks. */
  readonly locks?: readonly LockRow[] | Failure;
  /** After an order to reboot or power off, systemd begins to start this unit before logind answers. */
  readonly shutdownUnit?: string;
  /** The answer to Reboot and PowerOff; `accepted` by default. */
  readonly order?: 'accepted' | Failure;
}

/** The unique name of logind and systemd on this bus. */
const OWNER = ':1.7';
/** The bytes of a call have NULs around the method's name, so `Reboot` matches, and `CanReboot` does not. */
const ORDER = /\0(Reboot|PowerOff)\0/;
const USER_ID = 1000;
const PROCESS_ID = 42;

function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function answerBytes({ serial, text }: ReceivedCall, script: LogindScript): Buffer | Failure {
  if (text.includes('AddMatch')) return reply(serial);
  if (text.includes('GetNameOwner')) return reply(serial, 's', OWNER);
  const { can = 'yes', locks = [], order = 'accepted' } = script;
  if (/CanReboot|CanPowerOff/.test(text)) return isFailure(can) ? can : reply(serial, 's', can);
  if (text.includes('ListInhibitors')) {
    if (isFailure(locks)) return locks;
    const rows = locks.map((lock) => [...lock, USER_ID, PROCESS_ID]);
    return reply(serial, 'a(ssssuu)', rows);
  }
  return isFailure(order) ? order : reply(serial);
}

/** The signals of a shutdown that begins: the first is from logind, the second from systemd. */
function shutdownSignals(unit: string): Buffer {
  return Buffer.concat([
    signal(OWNER, 'org.freedesktop.login1.Manager', 'PrepareForShutdown', 'b', true),
    signal(OWNER, 'org.freedesktop.systemd1.Manager', 'JobNew', 'uos', 121, '/job/121', unit),
  ]);
}

export function scriptedLogind(t: TestContext, script: () => LogindScript) {
  const call: Script['call'] = (socket, received) => {
    const answer = answerBytes(received, script());
    const { shutdownUnit } = script();
    const shutdownBegins = shutdownUnit !== undefined && ORDER.test(received.text);
    if (shutdownBegins) socket.write(shutdownSignals(shutdownUnit));
    // A call whose answer is `silent` gets no answer.
    if (Buffer.isBuffer(answer)) socket.write(answer);
    else if ('error' in answer) socket.write(errorReply(received.serial, answer.error, answer.text));
    // The signals must still arrive: end() sends what was written before, and destroy() would drop it.
    else if ('gone' in answer) socket.end();
  };
  return scriptedBus(() => ({ call }), t);
}

/** The names of logind's methods that were called, in order. */
export function methodsCalled({ received }: Pick<ScriptedBus, 'received'>): readonly string[] {
  return received.flatMap(({ text }) => {
    const method = /\b(CanReboot|CanPowerOff|ListInhibitors|Reboot|PowerOff)\b/.exec(text)?.[1];
    return method === undefined ? [] : [method];
  });
}
