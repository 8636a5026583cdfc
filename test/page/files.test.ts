// The files that the build makes of the page: their size, names derived from their content, and a document
// that names them all.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { readPageFiles } from '../../src/gateway/page.js';

const FILES = readPageFiles(fileURLToPath(new URL('../../../dist/page', import.meta.url)));
const LANGUAGES = ['german', 'french', 'spanish', 'italian', 'dutch', 'polish', 'portuguese'];
const isLanguage = (name: string): boolean => LANGUAGES.includes(name.split('-')[0] ?? '');
/** Scripts but the first one are parts, which a browser loads when it draws them. */
const isPart = (name: string): boolean => name.endsWith('.js') && !name.startsWith('app-');
/** Compressed: the first load, all together, with the icon of a home screen. */
const BYTES_MAX = 45_000;
/** Compressed: a language has 3 kB, and an ordinary part one. */
const PART_BYTES_MAX = 4_000;

const sizeOf = (name: string, coding: 'gzip' | 'br'): number => {
  const file = FILES.get(name);
  return (file?.[coding] ?? file?.identity)?.byteLength ?? Number.NaN;
};

for (const coding of ['gzip', 'br'] as const) {
  test(`the first load, as ${coding}, has at most ${BYTES_MAX} bytes, and each part ${PART_BYTES_MAX}`, () => {
    const first = [...FILES.keys()].filter((name) => !isPart(name));
    const size = first.reduce((sum, name) => sum + sizeOf(name, coding), 0);
    assert.ok(size <= BYTES_MAX, String(size));
    for (const name of [...FILES.keys()].filter(isPart))
      assert.ok(sizeOf(name, coding) <= PART_BYTES_MAX, `${name}: ${sizeOf(name, coding)}`);
  });
}

test('each encoding has the same bytes', () => {
  for (const [name, { identity, gzip, br }] of FILES) {
    if (gzip !== undefined) assert.deepEqual(gunzipSync(gzip), identity, name);
    if (br !== undefined) assert.deepEqual(brotliDecompressSync(br), identity, name);
    // An icon or a manifest is made for each node, so no compressed form of it can be kept.
    const isForNode = /\.(?:png|svg|webmanifest)$/.test(name);
    assert.ok(isForNode || (gzip !== undefined && br !== undefined), name);
  }
});

/** Names in a file, resolved as by a browser that has the page below a path of a proxy. */
function named(name: string, at: string): readonly string[] {
  const text = FILES.get(name)?.identity.toString() ?? '';
  const found = text.matchAll(/(?:src|href|start_url|scope)"?[=:] ?"([^"]*)"/g);
  return [...found].map(([, address = '']) => new URL(address, `http://proxy/kitchen/${at}`).pathname);
}

test('every file but the document has a hash in its name, and is named relative to the document', () => {
  const manifest = [...FILES.keys()].find((name) => name.endsWith('.webmanifest')) ?? '';
  const addresses = [...named('index.html', 'ui'), ...named(manifest, `ui/${manifest}`)];
  const others = [...FILES.keys()].filter((name) => name !== 'index.html');
  assert.ok(others.length > 4);
  for (const name of others) {
    assert.match(name, /^[a-z]+(?:-[a-z\d]+)?-[\w-]{10}\.[a-z]+$/);
    if (!isPart(name)) assert.ok(addresses.includes(`/kitchen/ui/${name}`), name);
  }
  for (const address of addresses) assert.ok(address.startsWith('/kitchen/'), address);
});

test('each part is named by the script or by another part, and the first load waits for none', () => {
  const scripts = [...FILES].filter(([name]) => name.endsWith('.js'));
  const parts = scripts.map(([name]) => name).filter(isPart);
  assert.equal(parts.filter(isLanguage).length, LANGUAGES.length);
  for (const part of parts)
    assert.ok(
      scripts.some(([, { identity }]) => identity.includes(`"./${part}"`)),
      part,
    );
  const [, first] = scripts.find(([name]) => !isPart(name)) ?? [];
  assert.doesNotMatch(first?.identity.toString() ?? '', /\bimport\b(?!\()/, 'it imports late only');
});

test('no file of the page names another site', () => {
  for (const [name, { identity }] of FILES) {
    if (!/\.(?:html|css|webmanifest)$/.test(name)) continue;
    assert.doesNotMatch(identity.toString(), /(?:src|href|url\()\s*=?\s*["']?(?:https?:)?\/\/|@import/, name);
  }
});
