// Reads what users are meant to copy as it is: the files of examples/, and blocks of docs/.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The delimiter of a block in Markdown. */
const FENCE = '```';

// build/test/contract/documented.js -> the project's root
export const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

/** The texts of the document's blocks in this language. */
export function documentedBlocks(document: string, language: string): readonly string[] {
  const text = readFileSync(join(PROJECT, document), 'utf8');
  const block = new RegExp(`^${FENCE}${language}\\n([\\s\\S]*?)^${FENCE}$`, 'gm');
  return [...text.matchAll(block)].map(([, content = '']) => content);
}

/** The text of the document's only block in this language. */
export function documentedBlock(document: string, language: string): string {
  const [block = '', ...others] = documentedBlocks(document, language);
  assert.ok(block !== '' && others.length === 0, `one block in ${language} in ${document}`);
  return block;
}

/** The text of a file in examples/. */
export function exampleFile(name: string): string {
  return readFileSync(join(PROJECT, 'examples', name), 'utf8');
}
