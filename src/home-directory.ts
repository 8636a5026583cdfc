// The user's home directory, for those who look for files in it. It never throws.

import { homedir } from 'node:os';

/** `$HOME`, else what the user database says; '' where there is neither: a user without a home is no reason not to start. */
export function homeDirectory(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
