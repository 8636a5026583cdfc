// Names the program that listens on a port of this machine, for the message that the port is taken. It reads
// /proc.

import { readdirSync, readlinkSync } from 'node:fs';
import { textIfThere } from '../host/text-if-there.js';
import { printable } from '../printable.js';

/** The state of a listening socket in /proc/net/tcp (the kernel's `tcp_states.h`). */
const LISTENING = '0A';

interface Row {
  readonly uid: string;
  readonly inode: string;
}

/** Undefined if nobody listens there any more. */
export function portHolder(port: number): string | undefined {
  const row = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => rowsOf(table, port))[0];
  if (row === undefined) return undefined;
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasSocket(name, row.inode));
  if (pid === undefined) return `a program of the user with the id ${row.uid}`;
  return `${printable(textIfThere(`/proc/${pid}/comm`).trim())} (process ${pid})`;
}

function rowsOf(table: string, port: number): readonly Row[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const [, ...lines] = textIfThere(table).split('\n');
  return lines.flatMap((line) => {
    // The columns are those of proc(5).
    const [, local = '', , state, , , , uid = '', , inode = ''] = line.trim().split(/\s+/);
    return state === LISTENING && local.endsWith(ending) ? [{ uid, inode }] : [];
  });
}

/** False also for a process of another user, whose files cannot be read. */
function hasSocket(pid: string, inode: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => readlinkSync(`${folder}/${fd}`) === `socket:[${inode}]`);
  } catch {
    return false;
  }
}
