// Finds the user who has become root by sudo, run0 or pkexec to run a command. The command acts for this
// user, because tonearm and the sound server are this user's.

import { spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { runtimeDirectory, type Variables } from '../host/user-directories.js';

declare global {
  namespace NodeJS {
    interface Process {
      /** Missing in Node's types: https://nodejs.org/api/process.html#processinitgroupsuser-extragroup */
      initgroups?(user: string, extraGroup: number): void;
    }
  }
}

/** The process as it was started. */
export interface Caller {
  readonly env: Variables;
  readonly uid: number;
}

/** The longest wait for the user database, which may be on the network. */
const DATABASE_MS = 5_000;

/** The first variable names the user who has become root by sudo or run0, the second by pkexec. */
const INVOKER_VARIABLES = ['SUDO_UID', 'PKEXEC_UID'] as const;

/**
 * The id of the invoking user. Undefined if the process is not root's, if no user has become root to start
 * it, or if the environment names a runtime directory that is not root's.
 */
export function invokingUser({ env, uid }: Caller): number | undefined {
  // No variable is passed, so this is the directory that logind makes for the user of this process.
  const defaultDirectory = runtimeDirectory({}, uid);
  // If `env` names another directory, somebody has set it for this command on purpose. Then the command
  // stays root, and uses what it finds in that directory.
  const hasDefaultDirectory = runtimeDirectory(env, uid) === defaultDirectory;
  // The id is that of a user other than root, such as `1000`.
  const invoker = INVOKER_VARIABLES.map((name) => env[name] ?? '').find((id) => /^[1-9]\d*$/.test(id));
  if (uid !== 0 || !hasDefaultDirectory || invoker === undefined) return undefined;
  return Number(invoker);
}

/**
 * Gives root's rights up for good, and sets the environment so that the files and the sound server of the
 * invoking user are used. The caller must do this before it starts a thread, because threads copy the
 * environment. Does nothing for a user who is not in the user database.
 */
export function actAsInvokingUser(): void {
  const uid = invokingUser({ env: process.env, uid: process.getuid?.() ?? 0 });
  const user = uid === undefined ? undefined : userOf(uid);
  if (user === undefined) return;
  // Root's home is read before the process changes its user.
  const { homedir: rootHome } = userInfo();
  giveRightsUp(user);
  // A home that is not root's stays, because somebody has set it for this command.
  const { HOME: home } = process.env;
  if (home === undefined || home === rootHome) process.env['HOME'] = user.home;
  process.env['USER'] = user.name;
  process.env['LOGNAME'] = user.name;
  process.env['XDG_RUNTIME_DIR'] = runtimeDirectory({}, user.uid);
}

interface User {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly home: string;
}

/** Asks `getent`, because Node can look up only the user of the process. */
function userOf(uid: number): User | undefined {
  const { stdout } = spawnSync('getent', ['passwd', String(uid)], {
    encoding: 'utf8',
    timeout: DATABASE_MS,
  });
  // The line looks like `anna:x:1000:1000:Anna:/home/anna:/bin/bash`.
  const [name = '', , , gid = '', , home = ''] = (stdout ?? '').trimEnd().split(':');
  return home === '' ? undefined : { uid, gid: Number(gid), name, home };
}

/**
 * Debian's Node refuses to change the user (ERR_INVALID_STATE) where libuv might use io_uring. The package's
 * start script switches io_uring off. If Debian's Node is started without this script, the process stays
 * root's, with the user's directories.
 */
function giveRightsUp({ uid, gid, name }: User): void {
  try {
    process.initgroups?.(name, gid);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_STATE') throw error;
  }
}
