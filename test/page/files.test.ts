// Tests the files that the build makes of the page: their sizes, their names with hashes, and the document
// that names them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { readPageFiles } from '../../src/gateway/page.js';

const FILES = readPageFiles(fileURLToPath(new URL('../../../dist/page', import.meta.url)));
const LANGUAGES = ['german', 'french', 'spanish', 'italian', 'dutch', 'polish', 'portuguese'];
const isLanguage = (name: string): boolean => LANGUAGES.includes(name.split('-')[0] ?? '');
/** All scripts except the first are parts. A browser loads a part when the page needs it. */
const isPart = (name: string): boolean => name.endsWith('.js') && !name.startsWith('app-');
/** The largest first load: the compressed size of all its files, with the icon for a home screen. */
const FIRST_LOAD_MAX_BYTES = 45_000;
/**
 * The largest compressed part. A language has 3 kB, and the largest other part, the node's tab, has 3.5 kB.
 */
const PART_MAX_BYTES = 4_000;

const sizeOf = (name: string, coding: 'gzip' | 'br'): number => {
  const file = FILES.get(name);
  const content = file?.[coding] ?? file?.identity;
  return content?.byteLength ?? Number.NaN;
};

for (const coding of ['gzip', 'br'] as const) {
  test(`the first load, as ${coding}, has at most ${FIRST_LOAD_MAX_BYTES} bytes, and each part ${PART_MAX_BYTES}`, () => {
    const firstLoad = [...FILES.keys()].filter((name) => !isPart(name));
    const size = firstLoad.reduce((sum, name) => sum + sizeOf(name, coding), 0);
    assert.ok(size <= FIRST_LOAD_MAX_BYTES, String(size));
    for (const name of [...FILES.keys()].filter(isPart))
      assert.ok(sizeOf(name, coding) <= PART_MAX_BYTES, `${name}: ${sizeOf(name, coding)}`);
  });
}

test('each compressed form has the bytes of its file', () => {
  for (const [name, { identity, gzip, br }] of FILES) {
    if (gzip !== undefined) assert.deepEqual(gunzipSync(gzip), identity, name);
    if (br !== undefined) assert.deepEqual(brotliDecompressSync(br), identity, name);
    // Icons and manifests are made for each node, so they are not compressed in advance.
    const isForNode = /\.(?:png|svg|webmanifest)$/.test(name);
    assert.ok(isForNode || (gzip !== undefined && br !== undefined), name);
  }
});

/**
 * The paths that a browser makes of the addresses in a file. A proxy serves the page below /kitchen/, and
 * the file is at `path` there: `src="ui/app.js"` in the file at `ui` gives `/kitchen/ui/app.js`.
 */
function addressesIn(name: string, path: string): readonly string[] {
  const text = FILES.get(name)?.identity.toString() ?? '';
  const matches = text.matchAll(/(?:src|href|scope)"?[=:] ?"([^"]*)"/g);
  return [...matches].map(([, address = '']) => new URL(address, `http://proxy/kitchen/${path}`).pathname);
}

test('every file except the document has a hash in its name, and a proxy may serve the first load below a path', () => {
  const manifest = [...FILES.keys()].find((name) => name.endsWith('.webmanifest')) ?? '';
  const addresses = [...addressesIn('index.html', 'ui'), ...addressesIn(manifest, `ui/${manifest}`)];
  const others = [...FILES.keys()].filter((name) => name !== 'index.html');
  // Without files the checks below would prove nothing.
  assert.ok(others.length > 4, 'there are files');

  for (const name of others) {
    // Such a name is `german-`, ten characters of the hash, and `.js`.
    assert.match(name, /^[a-z]+(?:-[a-z\d]+)?-[\w-]{10}\.[a-z]+$/);
    if (!isPart(name)) assert.ok(addresses.includes(`/kitchen/ui/${name}`), name);
  }

  for (const address of addresses) assert.ok(address.startsWith('/kitchen/'), address);
});

test('each part is named by the first script or by another part, and the first script waits for no part', () => {
  const scripts = [...FILES].filter(([name]) => name.endsWith('.js'));
  const parts = scripts.map(([name]) => name).filter(isPart);
  assert.equal(parts.filter(isLanguage).length, LANGUAGES.length);
  for (const part of parts)
    assert.ok(
      scripts.some(([, { identity }]) => identity.includes(`"./${part}"`)),
      part,
    );

  // A browser waits for a part that is imported statically before it runs the first script.
  const [, firstScript] = scripts.find(([name]) => !isPart(name)) ?? assert.fail('there is no first script');
  assert.doesNotMatch(
    firstScript.identity.toString(),
    /\bimport\b(?!\()/,
    'the first script has no static import',
  );
});

test('document, styles and manifest of the page name no other site', () => {
  for (const [name, { identity }] of FILES) {
    if (!/\.(?:html|css|webmanifest)$/.test(name)) continue;
    assert.doesNotMatch(identity.toString(), /(?:src|href|url\()\s*=?\s*["']?(?:https?:)?\/\/|@import/, name);
  }
});
