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
/**
 * All files that a browser loads for the page, compressed, without a language, of which it loads one at most.
 * Without https browsers take gzip only, which is larger by a tenth.
 */
const BYTES_MAX = { gzip: 56_000, br: 50_000 } as const;
/** Loaded when somebody puts the page on a home screen. */
const isForHomeScreen = (name: string): boolean => name.endsWith('.png');

const sizes = (coding: 'gzip' | 'br'): number =>
  [...FILES].reduce(
    (sum, [name, file]) =>
      isLanguage(name) || isForHomeScreen(name) ? sum : sum + (file[coding] ?? file.identity).byteLength,
    0,
  );

for (const coding of ['gzip', 'br'] as const) {
  test(`the files of the page without its languages are at most ${BYTES_MAX[coding]} bytes as ${coding}`, () =>
    assert.ok(sizes(coding) <= BYTES_MAX[coding], String(sizes(coding))));
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
    assert.match(name, /^[a-z]+(?:-\d+)?-[\w-]{10}\.[a-z]+$/);
    if (!isLanguage(name)) assert.ok(addresses.includes(`/kitchen/ui/${name}`), name);
  }
  for (const address of addresses) assert.ok(address.startsWith('/kitchen/'), address);
});

test('the script names each language by its file', () => {
  const script = [...FILES].find(([name]) => name.startsWith('app-') && name.endsWith('.js'))?.[1].identity;
  const languages = [...FILES.keys()].filter(isLanguage);
  assert.equal(languages.length, LANGUAGES.length);
  for (const name of languages) assert.ok(script?.includes(`"./${name}"`), name);
});

test('no file of the page names another site', () => {
  for (const [name, { identity }] of FILES) {
    if (!/\.(?:html|css|webmanifest)$/.test(name)) continue;
    assert.doesNotMatch(identity.toString(), /(?:src|href|url\()\s*=?\s*["']?(?:https?:)?\/\/|@import/, name);
  }
});
