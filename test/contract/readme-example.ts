// The examples of README.md, as they stand there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// build/test/contract/readme-example.js -> the project's root
export const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

/** The only block in that language. */
export function readmeExample(language: 'js' | 'html' | 'nginx' | 'caddy'): string {
  const readme = readFileSync(join(PROJECT, 'README.md'), 'utf8');
  const [example, ...others] = [
    ...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
  ];
  assert.ok(example?.[1] !== undefined && others.length === 0, `one example in ${language}`);
  return example[1];
}
