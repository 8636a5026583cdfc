// Tests packaging/cached-bundle.cjs, which loads a bundle, and keeps the code that V8 has compiled from it.
// Each bundle of the tests prints a word. The word shows whether this bundle has run, or the kept code of an
// earlier one. All words have three letters, because V8 refuses kept code if the bundle's length has
// changed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { transformSync } from 'esbuild';
import { temporaryFolder } from '../temporary-folder.js';

const home = temporaryFolder({ after });
const template = readFileSync(new URL('../../../packaging/cached-bundle.cjs', import.meta.url), 'utf8');

/**
 * Runs a bundle that would print `word`, and returns what was printed. The timer of 50 ms in the bundle lets
 * the process end only after the code was kept.
 */
function printedBy(word: string, digest: string, cache: string | undefined): string {
  const folder = join(home, 'dist');
  const define = { BUNDLE_DIGEST: JSON.stringify(digest), BUNDLE_NAME: '"some/main"' };
  const withoutDelay = template.replace('WRITE_AFTER_MS = 10_000', 'WRITE_AFTER_MS = 0');
  assert.notEqual(withoutDelay, template, 'the delay has another name in packaging/cached-bundle.cjs');
  const { code } = transformSync(withoutDelay, { define });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(folder, 'main.js'), code);
  const bundle = `(function (exports, require) { console.log('${word}'); setTimeout(() => {}, 50); })`;
  writeFileSync(join(folder, 'main.bundle.js'), bundle);
  const env = cache === undefined ? {} : { TONEARM_CODE_CACHE: cache };
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'main.js')], {
    env,
    encoding: 'utf8',
  });
  assert.deepEqual([stderr, status], ['', 0]);
  return stdout.trim();
}

test('without a folder no code is kept', () => {
  assert.equal(printedBy('one', 'a', undefined), 'one');
  assert.equal(printedBy('two', 'a', undefined), 'two');
});

test('the code that V8 has compiled is kept, and runs at the next start', () => {
  const cache = join(home, 'kept/below');
  assert.equal(printedBy('one', 'a', cache), 'one');
  // The name of the file comes from BUNDLE_NAME, `some/main`.
  assert.deepEqual(readdirSync(cache), ['some-main.code']);
  assert.equal(printedBy('two', 'a', cache), 'one');
});

test('a bundle with another digest does not run the code of the last bundle, and replaces that code', () => {
  const cache = join(home, 'other');
  printedBy('one', 'a', cache);
  assert.equal(printedBy('two', 'b', cache), 'two');
  assert.equal(printedBy('six', 'b', cache), 'two');
});

/** Each copy of the code begins with V8's mark, its version and its flags, in this many bytes. */
const V8_HEAD_BYTES = 16;
/**
 * Damages of a file with kept code. After its first line, the file has two copies of the code, because a
 * difference between them shows a damage. They begin at the offsets `first` and `second`.
 */
const DAMAGES: readonly [what: string, damage: (bytes: Buffer, first: number, second: number) => Buffer][] = [
  ['was cut off', (bytes) => bytes.subarray(0, -8)],
  ['was cut to nothing', () => Buffer.alloc(0)],
  ['has changed in one byte', (bytes, first) => bytes.fill(0x55, first + 100, first + 101)],
  [
    'is of another V8',
    (bytes, first, second) => {
      for (const begin of [first, second]) bytes.fill(255, begin, begin + V8_HEAD_BYTES);
      return bytes;
    },
  ],
];
for (const [what, damage] of DAMAGES) {
  test(`code that ${what} is not run, and is replaced`, () => {
    const cache = join(home, what.replaceAll(' ', '-'));
    printedBy('one', 'a', cache);
    const file = join(cache, 'some-main.code');
    const whole = readFileSync(file);
    const first = whole.indexOf('\n') + 1;
    const copyLength = (whole.length - first) / 2;
    const second = first + copyLength;
    writeFileSync(file, damage(Buffer.from(whole), first, second));

    assert.equal(printedBy('two', 'a', cache), 'two');
    assert.equal(printedBy('six', 'a', cache), 'two');
  });
}

for (const [what, cache] of Object.entries({ 'cannot be made': 'file/below', 'is a file': 'file' })) {
  test(`a folder that ${what} prevents only the keeping of code`, () => {
    writeFileSync(join(home, 'file'), '');
    assert.equal(printedBy('one', 'a', join(home, cache)), 'one');
  });
}
