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

/** Environment and user id with which the process was started. */
export interface Caller {
  readonly env: Variables;
  readonly uid: number;
}

/** The longest wait for the user database, which may be on the network. */
const DATABASE_MS = 5_000;

/**
 * Each variable has the id of the user who has become root. `sudo` and `run0` set the first variable, and
 * `pkexec` sets the second.
 */
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
  // The pattern matches the id of any user except root, such as `1000`.
  const invoker = INVOKER_VARIABLES.map((name) => env[name] ?? '').find((id) => /^[1-9]\d*$/.test(id));
  if (uid !== 0 || !hasDefaultDirectory || invoker === undefined) return undefined;
  return Number(invoker);
}

/**
 * Gives up root's rights permanently, and sets the environment so that the process uses the files and the
 * sound server of the invoking user. The program must call this before it starts a thread, because threads
 * copy the environment. Does nothing if there is no invoking user, or if this user is not in the user
 * database.
 */
export function actAsInvokingUser(): void {
  const uid = invokingUser({ env: process.env, uid: process.getuid?.() ?? 0 });
  const user = uid === undefined ? undefined : userOf(uid);
  if (user === undefined) return;
  // `userInfo` describes the user of the process. After `giveRightsUp`, this user is not root any more.
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
 * Debian's Node refuses to change the user (ERR_INVALID_STATE) if libuv might use io_uring. The package's
 * start script switches io_uring off. If Debian's Node is started without this script, the process stays
 * root's, but uses the directories of the invoking user.
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
