// The user's directories: home, and where sockets lie by the XDG Base Directory Specification.

import { homedir } from 'node:os';

/** An absolute path without slashes at its end. The specification: a relative one is invalid and ignored, '' counts as unset. */
export function xdgDirectory(value: string | undefined): string | undefined {
  return value?.startsWith('/') ? value.replace(/(?<=.)\/+$/, '') : undefined;
}

/** As `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** `$XDG_RUNTIME_DIR`, or what logind would have set it to (docs/configuration.md, "Directories"). */
export function runtimeDirectory(env: Variables, uid: number): string {
  return xdgDirectory(env['XDG_RUNTIME_DIR']) ?? `/run/user/${uid}`;
}

/** `$HOME`, else what the user database says. It never throws: '' where there is neither: a user without a home is no reason not to start. */
export function homeDirectory(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
