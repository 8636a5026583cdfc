// Reads a small text file that may be missing, such as one of the kernel's files in /proc.

import { readFileSync } from 'node:fs';

/**
 * Returns '' if the file cannot be read. For example, a kernel without IPv6 has no file of IPv6 routes, and
 * the files of a process are gone when it has ended.
 */
export function textIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
