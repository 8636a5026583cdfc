// Finds the user's home directory, and the directories of the XDG Base Directory Specification.

import { homedir } from 'node:os';

/**
 * Returns the path in a variable of the specification, without trailing slashes. Undefined if the variable is
 * unset or '', or if its path is relative, because programs must ignore a relative path.
 */
export function xdgDirectory(value: string | undefined): string | undefined {
  if (!value?.startsWith('/')) return undefined;
  // The path `/` keeps its slash.
  return value.replace(/(?<=.)\/+$/, '');
}

/** The type of `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * `$XDG_RUNTIME_DIR`, or the directory that logind makes for a user (docs/configuration.md, "Directories").
 */
export function runtimeDirectory(env: Variables, uid: number): string {
  return xdgDirectory(env['XDG_RUNTIME_DIR']) ?? `/run/user/${uid}`;
}

/**
 * `$HOME`, else the home in the user database; '' if there is neither. The daemon can start without a home.
 */
export function homeDirectory(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
