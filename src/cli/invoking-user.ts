// The user for whom root runs a command by sudo, run0 or pkexec. tonearm and the sound server are this
// user's, so the commands write to this user's socket, or act as this user.

import { type UserInfo, userInfo } from 'node:os';
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

/** The variables in which sudo, run0 and pkexec name the user who has become root. */
const INVOKED_BY = ['SUDO_UID', 'PKEXEC_UID'] as const;

/**
 * The id of the invoking user. Undefined for anybody but root, for root by itself, and where the environment
 * names a runtime directory that is not root's.
 */
export function invokingUser({ env, uid }: Caller): number | undefined {
  const isRoots = uid === 0 && runtimeDirectory(env, uid) === runtimeDirectory({}, uid);
  const invoker = INVOKED_BY.map((name) => env[name] ?? '').find((id) => /^[1-9]\d*$/.test(id));
  return isRoots && invoker !== undefined ? Number(invoker) : undefined;
}

/**
 * Gives root's rights up for good: files, sound server and cookie are the invoking user's from now on. It is
 * called before any thread is started, because threads copy the environment. Does nothing for a user who is
 * not in the user database.
 */
export function actAsInvokingUser(): void {
  const uid = invokingUser({ env: process.env, uid: process.getuid?.() ?? 0 });
  const root = uid === undefined ? undefined : userInfo();
  const user = uid === undefined ? undefined : userOf(uid);
  if (root === undefined || user === undefined) return;
  process.initgroups?.(user.username, user.gid);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
  // A home that is not root's was named for this command.
  const { HOME: home } = process.env;
  if (home === undefined || home === root.homedir) process.env['HOME'] = user.homedir;
  process.env['USER'] = user.username;
  process.env['LOGNAME'] = user.username;
  process.env['XDG_RUNTIME_DIR'] = runtimeDirectory({}, user.uid);
}

/** The user database is only asked for the effective user. */
function userOf(uid: number): UserInfo<string> | undefined {
  const own = process.geteuid?.() ?? 0;
  process.seteuid?.(uid);
  try {
    return userInfo();
  } catch {
    return undefined;
  } finally {
    process.seteuid?.(own);
  }
}
