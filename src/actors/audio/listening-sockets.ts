// Finds the TCP sockets on which the sound server's process listens. It reads the kernel's tables, because
// PipeWire tells no client about these sockets.

import { readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { readSmallFile } from '../small-file.js';

export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
}

/** A longer table of the kernel is not read. A line of net/tcp has 150 bytes, so 28 000 lines fit. */
const TABLE_MAX_BYTES = 4 * 1024 * 1024;

/**
 * Matches a line of the table of Unix sockets:
 * `ffff8c01: 00000003 00000000 00000000 0001 03 41522 /run/user/1000/pulse/native`
 */
const UNIX_LINE = /^\S+ \S+ \S+ \S+ \S+ (?<state>\S+) +(?<inode>\d+) (?<path>.*)$/;
/** The state of a connected socket in the table of Unix sockets. */
const UNIX_CONNECTED = '03';
/** The state of a listening socket in the tables of TCP sockets. */
const TCP_LISTENING = '0A';
/** The positions of columns in the tables of TCP sockets, from 0. */
const TCP_COLUMNS = { local: 1, state: 3, inode: 9 } as const;

/** Matches the name of a process's folder in /proc, such as `1234`. */
const PROCESS_FOLDER_NAME = /^\d+$/;
/** Matches the target of a link in a folder `fd` of /proc: `socket:[41522]`, where 41522 is the inode. */
const SOCKET_LINK = /^socket:\[(\d+)\]$/;

/**
 * Finds the listening TCP sockets of the sound server to which the Unix socket at `path` leads. Undefined if
 * the server's process cannot be found or read, for example because it is another user's, or outside of this
 * container.
 */
export async function listeningSockets(
  path: string,
  proc = '/proc',
): Promise<readonly ListeningSocket[] | undefined> {
  // The table has the path at which the server has made its socket. `path` may be a link to that path.
  const paths = [path, await realpath(path).catch(() => path)];
  const connectedInodes = connectedSocketInodes(paths, await readTable(join(proc, 'net/unix')));
  const inodes = await inodesOfServer(proc, connectedInodes);
  if (inodes === undefined) return undefined;
  const tables = await Promise.all(['net/tcp', 'net/tcp6'].map((name) => readTable(join(proc, name))));
  return tables.flatMap((table) => listeningSocketsIn(table, inodes));
}

/** Empty if the table cannot be read. A kernel without IPv6, for example, has no table net/tcp6. */
async function readTable(path: string): Promise<string> {
  const table = await readSmallFile(path, TABLE_MAX_BYTES);
  return table.ok ? Buffer.from(table.value.bytes).toString() : '';
}

/**
 * Each connection of a client at one of these paths has two sockets: the server's has the path in the table,
 * the client's has no path. Returns the inodes of the server's sockets. The listening socket does not show
 * which process is the server, because systemd has that socket, too.
 */
function connectedSocketInodes(paths: readonly string[], table: string): ReadonlySet<string> {
  const inodes = new Set<string>();
  for (const line of table.split('\n')) {
    const { state, inode = '', path = '' } = UNIX_LINE.exec(line)?.groups ?? {};
    if (state === UNIX_CONNECTED && paths.includes(path)) inodes.add(inode);
  }
  return inodes;
}

/**
 * Returns the inodes of all the server's sockets. The server is the first process that has one of the
 * connected sockets.
 */
async function inodesOfServer(
  proc: string,
  connectedInodes: ReadonlySet<string>,
): Promise<ReadonlySet<string> | undefined> {
  if (connectedInodes.size === 0) return undefined;
  const names = await readdir(proc).catch((): string[] => []);
  for (const pid of names.filter((name) => PROCESS_FOLDER_NAME.test(name))) {
    const inodes = await socketInodesIn(join(proc, pid, 'fd'));
    if ([...connectedInodes].some((inode) => inodes.has(inode))) return inodes;
  }
  return undefined;
}

/** Empty for a process of another user, and for one that has ended meanwhile. */
async function socketInodesIn(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(folder).catch((): string[] => []);
  const links = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
  const inodes = links.map((link) => SOCKET_LINK.exec(link)?.[1]);
  return new Set(inodes.filter((inode) => inode !== undefined));
}

/** Returns the listening sockets with these inodes. Exported for a test with tables of other machines. */
export function listeningSocketsIn(table: string, inodes: ReadonlySet<string>): readonly ListeningSocket[] {
  const sockets: ListeningSocket[] = [];
  for (const line of table.split('\n')) {
    const columns = line.trim().split(/\s+/);
    const isListening = columns[TCP_COLUMNS.state] === TCP_LISTENING;
    const isOfProcess = inodes.has(columns[TCP_COLUMNS.inode] ?? '');
    if (!isListening || !isOfProcess) continue;
    const [address = '', port = ''] = columns[TCP_COLUMNS.local]?.split(':') ?? [];
    sockets.push({ address: addressFromHex(address), port: Number.parseInt(port, 16) });
  }
  return sockets;
}

/**
 * Turns `0100007F` into `127.0.0.1`. The kernel writes words of 32 bits in the machine's byte order, which
 * is little-endian.
 */
function addressFromHex(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(2 * group).toString(16));
  // A URL has the short form of the address, between brackets.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
