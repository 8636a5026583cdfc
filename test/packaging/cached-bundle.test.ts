// The file that stands in a bundle's place, with bundles of one line: V8 does not read a bundle whose code it
// has, so what is printed shows which of the two has run.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { transformSync } from 'esbuild';
import { temporaryFolder } from '../temporary-folder.js';

const home = temporaryFolder({ after });
const template = readFileSync(new URL('../../../packaging/cached-bundle.cjs', import.meta.url), 'utf8');

/** Runs a bundle of that digest, which prints `word`, to its end, which is behind the keeping of its code. */
function prints(word: string, digest: string, cache: string | undefined): string {
  const folder = join(home, 'dist');
  const define = { BUNDLE_DIGEST: JSON.stringify(digest), BUNDLE_NAME: '"some/main"' };
  const { code } = transformSync(template.replace('KEEP_AFTER_MS = 10_000', 'KEEP_AFTER_MS = 0'), { define });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(folder, 'main.js'), code);
  const bundle = `(function (exports, require) { console.log('${word}'); setTimeout(() => {}, 50); })`;
  writeFileSync(join(folder, 'main.bundle.js'), bundle);
  const env = cache === undefined ? {} : { TONEARM_CODE_CACHE: cache };
  const ran = spawnSync(process.execPath, [join(folder, 'main.js')], { env, encoding: 'utf8' });
  assert.deepEqual([ran.stderr, ran.status], ['', 0]);
  return ran.stdout.trim();
}

test('without a folder nothing is kept', () => {
  assert.equal(prints('one', 'a', undefined), 'one');
  assert.equal(prints('two', 'a', undefined), 'two');
});

test('the code that V8 has compiled is kept, and runs at the next start', () => {
  const cache = join(home, 'kept/below');
  assert.equal(prints('one', 'a', cache), 'one');
  assert.deepEqual(readdirSync(cache), ['some-main.code']);
  assert.equal(prints('two', 'a', cache), 'one');
});

test('another bundle does not run the code of the last, and replaces it', () => {
  const cache = join(home, 'other');
  prints('one', 'a', cache);
  assert.equal(prints('two', 'b', cache), 'two');
  assert.equal(prints('six', 'b', cache), 'two');
});

/** Damages of a file, whose code begins with V8's mark, its version and its flags. */
const CHANGES: readonly [what: string, change: (bytes: Buffer, code: number, again: number) => Buffer][] = [
  ['was cut off', (bytes) => bytes.subarray(0, -8)],
  ['was cut to nothing', () => Buffer.alloc(0)],
  ['has changed in one byte', (bytes, code) => bytes.fill(0x55, code + 100, code + 101)],
  ['is of another V8', (bytes, code, again) => bytes.fill(255, code, code + 16).fill(255, again, again + 16)],
];
for (const [what, change] of CHANGES) {
  test(`code that ${what} is not run, and is replaced`, () => {
    const cache = join(home, what.replaceAll(' ', '-'));
    prints('one', 'a', cache);
    const file = join(cache, 'some-main.code');
    const whole = readFileSync(file);
    const code = whole.indexOf('\n') + 1;
    writeFileSync(file, change(Buffer.from(whole), code, (code + whole.length) / 2));
    assert.equal(prints('two', 'a', cache), 'two');
    assert.equal(prints('six', 'a', cache), 'two');
  });
}

for (const [what, cache] of Object.entries({ 'cannot be made': 'file/below', 'is a file': 'file' })) {
  test(`a folder that ${what} costs nothing but the code`, () => {
    writeFileSync(join(home, 'file'), '');
    assert.equal(prints('one', 'a', join(home, cache)), 'one');
  });
}
