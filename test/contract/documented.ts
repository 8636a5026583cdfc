// Reads the texts that users copy without a change: the files of examples/, and code blocks of docs/.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The delimiter of a code block in Markdown. */
const FENCE = '```';

// This file runs as build/test/contract/documented.js, so `../../..` is the project's root.
export const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

/** The texts of the document's code blocks in this language. */
export function documentedBlocks(document: string, language: string): readonly string[] {
  const text = readFileSync(join(PROJECT, document), 'utf8');
  const block = new RegExp(`^${FENCE}${language}\\n([\\s\\S]*?)^${FENCE}$`, 'gm');
  return [...text.matchAll(block)].map(([, content = '']) => content);
}

/** The text of the document's only code block in this language. */
export function documentedBlock(document: string, language: string): string {
  const [block = '', ...others] = documentedBlocks(document, language);
  assert.ok(block !== '' && others.length === 0, `${document} has exactly one block in ${language}`);
  return block;
}

/** The text of a file in examples/. */
export function exampleFile(name: string): string {
  return readFileSync(join(PROJECT, 'examples', name), 'utf8');
}
