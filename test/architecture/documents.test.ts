// The documents name files that exist: a renamed file that a document still names by its old name fails here.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

// build/test/architecture/documents.test.js -> the project's root
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const HELD = ['src', 'test', 'bench', 'packaging', 'docs', 'examples'];
/** A path below one of the folders, or below one of src's, anywhere; a file or a folder in backticks. */
const NAMED =
  /(?<![\w/.~-])(?:src|test|bench|packaging|docs|examples|actors|cli|gateway|events|protocol|supervisor)\/[\w./-]*\w\/?|(?<=`)[\w.-][\w./-]*(?:\.(?:ts|mjs|cjs)|\/)(?=`)/g;

const PATHS = HELD.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    return `/${path.slice(ROOT.length)}${entry.isDirectory() ? '/' : ''}`;
  }),
).concat(HELD.map((folder) => `/${folder}/`));

/** `name` is a whole path or the end of one; a module's `.ts` and a folder's `/` may be left out. */
const exists = (name: string): boolean =>
  ['', '.ts', '/'].some((end) => PATHS.some((path) => path.endsWith(`/${name}${end}`)));

/** `NAME` is any backend, or any bridge. */
const isNamed = (name: string): boolean =>
  ['audio', 'mqtt'].some((child) => exists(name.replace('NAME', child)));

const DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name));

for (const document of ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md', 'bench/FIGURES.md', ...DOCS]) {
  test(`${document} names files that exist`, () => {
    const lines = readFileSync(join(ROOT, document), 'utf8').split('\n');
    const vain = lines.flatMap((line, index) =>
      (line.match(NAMED) ?? [])
        .filter((name) => !isNamed(name))
        .map((name) => `${document}:${index + 1}: ${name}`),
    );
    assert.deepEqual(vain, []);
  });
}

test('a file is found by its whole path or the end of it', () => {
  for (const name of ['src/main.ts', 'main.ts', 'architecture/', 'gateway/routes'])
    assert.ok(exists(name), name);
  for (const name of ['src/mine.ts', 'ain.ts', 'sources/', 'gateway/roads']) assert.ok(!exists(name), name);
  const text = 'see `mine.ts`, src/a/b.ts. Or `c/`, but `/audio/x.ts`, ~/src/d.ts and e.ts.';
  assert.deepEqual(text.match(NAMED), ['mine.ts', 'src/a/b.ts', 'c/']);
});
