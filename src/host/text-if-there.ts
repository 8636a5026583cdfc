// Reads a small text file of the system, or of the kernel, that may be missing.

import { readFileSync } from 'node:fs';

/**
 * Returns '' if the file cannot be read. For example, a kernel without IPv6 has no tables of it, and a
 * process may have ended.
 */
export function textIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
