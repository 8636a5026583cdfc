// Finds the program that listens on a port of this machine, for the message that the port is taken.

import { readdirSync, readlinkSync } from 'node:fs';
import { textIfThere } from '../host/text-if-there.js';
import { printable } from '../printable.js';

/** The state of a listening socket in /proc/net/tcp (the kernel's `tcp_states.h`). */
const LISTENING = '0A';

/** The numbers of the columns in /proc/net/tcp (proc(5)), counted from 0. */
const COLUMN = { localAddress: 1, state: 3, uid: 7, inode: 9 } as const;

interface ListeningRow {
  readonly uid: string;
  readonly inode: string;
}

/**
 * Returns a text such as `nginx (process 812)`. If the process cannot be found, the text names only its user.
 * The result is undefined if no program listens on the port any more.
 */
export function portHolder(port: number): string | undefined {
  const [row] = [...listeningRows('/proc/net/tcp', port), ...listeningRows('/proc/net/tcp6', port)];
  if (row === undefined) return undefined;
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasSocket(name, row.inode));
  if (pid === undefined) return `a program of the user with the id ${row.uid}`;
  return `${printable(textIfThere(`/proc/${pid}/comm`).trim())} (process ${pid})`;
}

function listeningRows(table: string, port: number): readonly ListeningRow[] {
  // The table has ports in hexadecimal: 8018 is `1F52`.
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const [, ...lines] = textIfThere(table).split('\n');
  const rows = lines.map((line) => line.trim().split(/\s+/));
  const found = rows.filter(
    (row) => row[COLUMN.state] === LISTENING && row[COLUMN.localAddress]?.endsWith(ending) === true,
  );
  return found.map((row) => ({ uid: row[COLUMN.uid] ?? '', inode: row[COLUMN.inode] ?? '' }));
}

/**
 * Returns false also for a process that has ended, and for a process of another user, because their files
 * cannot be read.
 */
function hasSocket(pid: string, inode: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => readlinkSync(`${folder}/${fd}`) === `socket:[${inode}]`);
  } catch {
    return false;
  }
}
