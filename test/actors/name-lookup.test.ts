// The look-up of a name: the answer of the program, and the outcome if it fails, hangs or is missing.

import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NameLookup } from '../../src/actors/name-lookup.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';

const NAME = 'broker.example';

/** A look-up whose program is this shell script. */
function lookupBy(t: TestContext, script: string) {
  const folder = temporaryFolder(t);
  const program = join(folder, 'getent');
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return { lookup: new NameLookup(program), folder };
}

/** Resolves as `net.connect` does: with all addresses or the first one, or with the code of the error. */
function resolveName(lookup: NameLookup, wantsAll: boolean, name = NAME): Promise<unknown> {
  return new Promise((resolve) => {
    const answer = (
      error: NodeJS.ErrnoException | null,
      address: string | LookupAddress[],
      family?: number,
    ) => {
      if (error !== null) resolve(error.code);
      else resolve(wantsAll ? address : [address, family]);
    };
    // `lookupFor('localhost')` is undefined, so a test that resolves this name uses the function of `NAME`.
    const lookupFunction = lookup.lookupFor(NAME);
    lookupFunction?.(name, { all: wantsAll }, answer);
  });
}

const TWO_ADDRESSES = 'printf "10.0.0.7 STREAM $2\\n10.0.0.7 DGRAM\\nfd00::7   STREAM\\nfd00::7 RAW\\n"';
const ANSWERS: readonly (readonly [what: string, script: string, wantsAll: boolean, expected: unknown])[] = [
  [
    'all addresses',
    TWO_ADDRESSES,
    true,
    [
      { address: '10.0.0.7', family: 4 },
      { address: 'fd00::7', family: 6 },
    ],
  ],
  ['the first address', TWO_ADDRESSES, false, ['10.0.0.7', 4]],
  [
    'only the addresses on whole lines if the output is cut off',
    // The output is cut off after 65 536 bytes (`OUTPUT_MAX_BYTES` in name-lookup.ts). This leaves
    // `10.0.0.12` of the last line, which is a wrong address.
    'echo "10.0.0.7 STREAM"; head -c 65511 /dev/zero | tr "\\0" "\\n"; printf "10.0.0.123 STREAM"',
    true,
    [{ address: '10.0.0.7', family: 4 }],
  ],
  ['ENOTFOUND if the program does not find the name', 'exit 2', true, 'ENOTFOUND'],
  ['ENOTFOUND if the program prints nothing', ':', false, 'ENOTFOUND'],
];
for (const [what, script, wantsAll, expected] of ANSWERS) {
  test(`a look-up gives ${what}`, async (t) => {
    assert.deepEqual(await resolveName(lookupBy(t, script).lookup, wantsAll), expected);
  });
}

test('the program is called with ahosts and the name', async (t) => {
  const { lookup } = lookupBy(t, `[ "$*" = "ahosts ${NAME}" ] && echo "10.0.0.7 STREAM"`);
  assert.deepEqual(await resolveName(lookup, false), ['10.0.0.7', 4]);
});

test('without the program Node looks the name up', async (t) => {
  const lookup = new NameLookup(join(temporaryFolder(t), 'missing'));
  assert.match(JSON.stringify(await resolveName(lookup, true, 'localhost')), /"127\.0\.0\.1"|"::1"/);
});

test('a look-up that hangs gives ENOTFOUND when its connection ends', async (t) => {
  const { lookup, folder } = lookupBy(t, 'echo $$ > "$0.pid"; exec sleep 600');
  const answered = resolveName(lookup, true);
  await until('the program runs', () => existsSync(join(folder, 'getent.pid')));
  await lookup.end();
  assert.equal(await answered, 'ENOTFOUND');
});

test('addresses and names of this machine need no program', () => {
  const lookup = new NameLookup();
  for (const host of ['127.0.0.1', '::1', 'localhost', 'broker.localhost', 'LOCALHOST'])
    assert.equal(lookup.lookupFor(host), undefined, host);
});
