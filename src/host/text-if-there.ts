// Reads a small text file of the system, or of the kernel, that may be missing.

import { readFileSync } from 'node:fs';

/**
 * '' if it cannot be read: a kernel without IPv6 has no tables of it, a process may have ended, a system may
 * have no os-release.
 */
export function textIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
