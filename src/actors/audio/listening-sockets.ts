// Finds the TCP sockets on which the sound server's process listens, in the kernel's tables: PipeWire names
// its own to no client. It reads only, and does not decide which of them play (network-doors.ts does).

import { readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { readSmallFile } from '../small-file.js';

export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
}

/** The kernel's tables of sockets. A line has 150 bytes, so this is a machine of 28 000 sockets. */
const TABLE_MAX_BYTES = 4 * 1024 * 1024;

/** States of a socket in the kernel's tables: of a Unix one that is connected, of a TCP one that listens. */
const CONNECTED = '03';
const LISTENS = '0A';

const PROCESS = /^\d+$/;
const SOCKET_LINK = /^socket:\[(\d+)\]$/;

/**
 * The sockets of the process to which we are connected by the Unix socket at `path`. Undefined if that
 * process cannot be read: it is another user's, or outside of this container.
 */
export async function listeningSockets(
  path: string,
  proc = '/proc',
): Promise<readonly ListeningSocket[] | undefined> {
  const paths = [path, await realpath(path).catch(() => path)];
  const ours = connectedAt(paths, await readTable(join(proc, 'net/unix')));
  const own = await socketsOfHolder(proc, ours);
  if (own === undefined) return undefined;
  const tables = await Promise.all(['net/tcp', 'net/tcp6'].map((name) => readTable(join(proc, name))));
  return tables.flatMap((table) => listeningIn(table, own));
}

/** '' if it cannot be read: a kernel without IPv6 has no table of it. */
async function readTable(path: string): Promise<string> {
  const read = await readSmallFile(path, TABLE_MAX_BYTES);
  return read.ok ? Buffer.from(read.value.bytes).toString() : '';
}

/**
 * The inodes of the server's ends of connections by the socket at one of these paths. The socket that waits
 * for them would not do: systemd holds it, too.
 */
function connectedAt(paths: readonly string[], table: string): ReadonlySet<string> {
  const rows = table.split('\n').map((line) => /^\S+ \S+ \S+ \S+ \S+ (\S+) +(\d+) (.*)$/.exec(line) ?? []);
  return new Set(
    rows.flatMap(([, state, inode = '', at = '']) =>
      state === CONNECTED && paths.includes(at) ? [inode] : [],
    ),
  );
}

/** The inodes of all sockets of the first process that holds one of these. */
async function socketsOfHolder(
  proc: string,
  connected: ReadonlySet<string>,
): Promise<ReadonlySet<string> | undefined> {
  if (connected.size === 0) return undefined;
  const processes = (await readdir(proc)).filter((name) => PROCESS.test(name));
  for (const process of processes) {
    const own = await socketsOf(join(proc, process, 'fd'));
    if ([...connected].some((inode) => own.has(inode))) return own;
  }
  return undefined;
}

/** Empty for a process of another user, and for one that has ended meanwhile. */
async function socketsOf(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(folder).catch((): string[] => []);
  const links = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
  return new Set(links.flatMap((link) => SOCKET_LINK.exec(link)?.[1] ?? []));
}

/** Exported for its test, which has tables of other machines. */
export function listeningIn(table: string, own: ReadonlySet<string>): readonly ListeningSocket[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    if (state !== LISTENS || !own.has(inode)) return [];
    const [address = '', port = ''] = local.split(':');
    return [{ address: addressOf(address), port: Number.parseInt(port, 16) }];
  });
}

/** The kernel writes an address as words of 32 bits in the order of the machine, which is little-endian. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
