// Puts a listening unix socket at a path: never over a living one, never open to others, and never to be unlinked by accident.
//
// The socket is bound under a private name and then linked into its place. That is atomic (a path that is taken is an error,
// so of two daemons one wins), nobody can connect before the mode is set, and closing the server, at which libuv unlinks
// the name that was bound, cannot remove the socket of somebody else.

import {
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  unlinkSync,
} from 'node:fs';
import { connect, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../small-file.js';
import { makeDirectories } from './file-text.js';

/** A daemon that lives accepts at once: the kernel does it. */
const PROBE_DEADLINE_MS = 2_000;
/** Connections that the kernel takes while this thread does something else; more fail, or wait if they may. */
const BACKLOG_CONNECTIONS = 1_024;

/** The directory that is ours by name; one of another name may be shared with others, and is left as it is. */
const OWN_DIRECTORY = 'tonearm';

export type Placed =
  | { readonly ok: true; readonly identity: string }
  | { readonly ok: false; readonly problem: string };

/** Which socket lies at the path; '' when there is none. */
export function socketIdentity(path: string): string {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isSocket() ? identityOf(stat) : '';
  } catch {
    return ''; // A directory on the way cannot be entered: as good as absent.
  }
}

function identityOf({ dev, ino, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${mtimeMs}`;
}

/** Makes `server` listen at `path`. The server is not listening when this fails. */
export async function placeSocket(server: Server, path: string): Promise<Placed> {
  try {
    await prepareDirectory(dirname(path));
    const free = await freePlace(path);
    if (free !== undefined) return { ok: false, problem: free };
    return { ok: true, identity: await bindInto(server, path) };
  } catch (error) {
    server.close();
    return { ok: false, problem: `cannot listen there (${codeOf(error)})` };
  }
}

/** Removes our socket from its place; another one that lies there now stays. */
export function removeSocket(path: string, identity: string): void {
  if (socketIdentity(path) === identity) rmSync(path, { force: true });
}

async function prepareDirectory(directory: string): Promise<void> {
  await makeDirectories(directory);
  const { mode, uid } = statSync(directory);
  const ours = basename(directory) === OWN_DIRECTORY && uid === process.getuid?.();
  // systemd makes a RuntimeDirectory= with 0755 unless it is told otherwise.
  if (ours && (mode & 0o077) !== 0) chmodSync(directory, 0o700);
}

/** Clears a dead socket away. One line that says why the place cannot be had; undefined when it is free. */
async function freePlace(path: string): Promise<string | undefined> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) return 'there is a file that is not a socket';
  const answer = await probe(path);
  if (answer === 'gone') return undefined;
  if (answer === 'alive') return 'another process listens there';
  return clearAway(path, identityOf(stat));
}

/** Between the look and the removal another daemon may have put its socket there: then that one is put back. */
function clearAway(path: string, identity: string): string | undefined {
  const aside = `${path}.stale`;
  renameSync(path, aside);
  if (socketIdentity(aside) !== identity) {
    linkSync(aside, path);
    unlinkSync(aside);
    return 'another process listens there';
  }
  unlinkSync(aside);
  return undefined;
}

function probe(path: string): Promise<'alive' | 'dead' | 'gone'> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (answer: 'alive' | 'dead' | 'gone') => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => end('alive'), PROBE_DEADLINE_MS);
    socket.once('connect', () => end('alive'));
    socket.once('error', (error) => {
      const code = codeOf(error);
      // Anything else (a full backlog, a socket of another user) is no proof of death.
      end(code === 'ECONNREFUSED' ? 'dead' : code === 'ENOENT' ? 'gone' : 'alive');
    });
  });
}

async function bindInto(server: Server, path: string): Promise<string> {
  // Not joined: that would drop the dot, and make the room beside the directory, where we may not write.
  const room = mkdtempSync(`${dirname(path)}/.`);
  try {
    const bound = join(room, 's');
    await listening(server, shortName(server, room));
    chmodSync(bound, 0o600);
    linkSync(bound, path);
    return socketIdentity(path);
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
}

/**
 * A name of `s` in the room that is short enough to be bound. The configured path may be as long as a socket's name can be
 * (107 bytes); the room's is longer, and libuv would cut it off and bind that. The name must stay the room's until the
 * server, at its close, has unlinked it.
 */
function shortName(server: Server, room: string): string {
  const held = openSync(room, 'r');
  server.once('close', () => closeSync(held));
  return `/proc/self/fd/${held}/s`;
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path, backlog: BACKLOG_CONNECTIONS }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
