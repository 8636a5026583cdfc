// Makes a key that signs an apt repository for a test.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from './built-package.js';

const GENERATE = ['--quick-generate-key', 'tonearm <tonearm@tonearm.invalid>', 'ed25519', 'sign', 'never'];

/** Makes a key below `folder`, and resolves with the path of a file that has the secret key in ASCII. */
export async function makeKey(folder: string): Promise<string> {
  const home = join(folder, 'keys');
  const gpg = ['env', `GNUPGHOME=${home}`, 'gpg', '--batch', '--quiet', '--passphrase', ''] as const;
  mkdirSync(home, { mode: 0o700 });
  await output(...gpg, ...GENERATE);
  const file = join(folder, 'key.asc');
  writeFileSync(file, await output(...gpg, '--armor', '--export-secret-keys'));
  // gpg has started an agent for this folder. Without this command the agent would outlive the test.
  await output('env', `GNUPGHOME=${home}`, 'gpgconf', '--kill', 'all');
  return file;
}
