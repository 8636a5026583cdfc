// A logind on a scripted bus: says what no real one can be made to say at will. Texts only; the real one is asked by the
// scenarios of the real node.

import { errorReply, type Heard, reply, type ScriptedBus, scriptedBus, signal, text } from '../bus-script.js';

/** An error's name and text; no answer at all; the bus goes away. */
export type Trouble =
  | { readonly error: string; readonly text?: string }
  | { readonly silent: true }
  | { readonly gone: true };

export type LockRow = readonly [what: string, who: string, why: string, mode: string];

export interface LogindScript {
  readonly can?: string | Trouble;
  readonly locks?: readonly LockRow[] | Trouble;
  readonly order?: 'accepted' | 'going down, then the bus ends' | Trouble;
}

/** The unique name of logind on this bus. */
const LOGIND = ':1.7';
const USER_ID = 1000;
const PROCESS_ID = 42;

function aligned(bytes: Buffer, to: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((to - (bytes.length % to)) % to)]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Marshals `a(ssssuu)`. */
function lockBytes(rows: readonly LockRow[]): Buffer {
  let elements: Buffer = Buffer.alloc(0);
  for (const row of rows) {
    elements = aligned(elements, 8);
    for (const one of row) elements = Buffer.concat([aligned(elements, 4), text(one)]);
    elements = Buffer.concat([aligned(elements, 4), word(USER_ID), word(PROCESS_ID)]);
  }
  // The array's length, and padding to its first element, which is not part of it.
  return Buffer.concat([word(elements.length), Buffer.alloc(4), elements]);
}

function isTrouble(value: unknown): value is Trouble {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined: nothing is answered. */
function answerBytes({ serial, text: call }: Heard, script: LogindScript): Buffer | Trouble {
  if (call.includes('AddMatch')) return reply(serial);
  const { can = 'yes', locks = [], order = 'accepted' } = script;
  if (/CanReboot|CanPowerOff/.test(call)) return isTrouble(can) ? can : reply(serial, 's', text(can));
  if (call.includes('ListInhibitors')) {
    return isTrouble(locks) ? locks : reply(serial, 'a(ssssuu)', lockBytes(locks));
  }
  if (order === 'going down, then the bus ends') return goesDown();
  return isTrouble(order) ? order : reply(serial);
}

/** PrepareForShutdown(true), as logind sends it. */
function goesDown(): Buffer {
  return signal(LOGIND, 'org.freedesktop.login1.Manager', 'PrepareForShutdown', 'b', word(1));
}

export function scriptedLogind(script: () => LogindScript): Promise<ScriptedBus> {
  return scriptedBus(() => ({
    call: (socket, heard) => {
      const answer = heard.text.includes('GetNameOwner')
        ? reply(heard.serial, 's', text(LOGIND))
        : answerBytes(heard, script());
      if (Buffer.isBuffer(answer)) socket.write(answer);
      if (/PrepareForShutdown/.test(String(answer))) socket.end();
      if (Buffer.isBuffer(answer)) return;
      if ('error' in answer) socket.write(errorReply(heard.serial, answer.error, answer.text));
      else if ('gone' in answer) socket.destroy();
    },
  }));
}

/** Names of the methods that were called, in order. */
export function methodsCalled(bus: ScriptedBus): readonly string[] {
  return bus.heard.flatMap(({ text: call }) => {
    const method = /\b(CanReboot|CanPowerOff|ListInhibitors|Reboot|PowerOff)\b/.exec(call)?.[1];
    return method === undefined ? [] : [method];
  });
}
