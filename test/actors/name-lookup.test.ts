// Tests the look-up of a host name by the program `getent`: the result if this program answers, fails, hangs,
// is missing, or is not needed.

import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NameLookup } from '../../src/actors/name-lookup.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';

const NAME = 'broker.example';

/** Makes a look-up whose program is this shell script. `folder` contains the program, called `getent`. */
function lookupBy(t: TestContext, script: string) {
  const folder = temporaryFolder(t);
  const program = join(folder, 'getent');
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return { lookup: new NameLookup(program), folder };
}

interface Choice {
  /** True for all addresses, and false for the first one. `net.connect` passes the same option. */
  readonly all: boolean;
}

/** Resolves with all addresses, with the first address and its family, or with the code of the error. */
function resolveName(lookup: NameLookup, choice: Choice, name = NAME): Promise<unknown> {
  return new Promise((resolve) => {
    const answer = (
      error: NodeJS.ErrnoException | null,
      address: string | LookupAddress[],
      family?: number,
    ) => {
      if (error !== null) resolve(error.code);
      else resolve(choice.all ? address : [address, family]);
    };
    // The function for `NAME` resolves any name. So it also serves for `localhost`, for which `lookupFor`
    // returns no function.
    const lookupFunction = lookup.lookupFor(NAME);
    lookupFunction?.(name, choice, answer);
  });
}

/** A script that prints two addresses as `getent ahosts NAME` does. In the script, `$2` is the name. */
const TWO_ADDRESSES = 'printf "10.0.0.7 STREAM $2\\n10.0.0.7 DGRAM\\nfd00::7   STREAM\\nfd00::7 RAW\\n"';
const ANSWERS: readonly (readonly [what: string, script: string, choice: Choice, expected: unknown])[] = [
  [
    'all addresses',
    TWO_ADDRESSES,
    { all: true },
    [
      { address: '10.0.0.7', family: 4 },
      { address: 'fd00::7', family: 6 },
    ],
  ],
  ['the first address', TWO_ADDRESSES, { all: false }, ['10.0.0.7', 4]],
  [
    'only the addresses on whole lines if the output is cut off',
    // The output is cut off after 65 536 bytes (`OUTPUT_MAX_BYTES` in name-lookup.ts). The last line begins
    // 9 bytes before this bound. So only `10.0.0.12`, a wrong address, remains of this line.
    'echo "10.0.0.7 STREAM"; head -c 65511 /dev/zero | tr "\\0" "\\n"; printf "10.0.0.123 STREAM"',
    { all: true },
    [{ address: '10.0.0.7', family: 4 }],
  ],
  ['ENOTFOUND if the program does not find the name', 'exit 2', { all: true }, 'ENOTFOUND'],
  ['ENOTFOUND if the program prints nothing', ':', { all: false }, 'ENOTFOUND'],
];
for (const [what, script, choice, expected] of ANSWERS) {
  test(`a look-up gives ${what}`, async (t) => {
    assert.deepEqual(await resolveName(lookupBy(t, script).lookup, choice), expected);
  });
}

test('the arguments of the program are `ahosts` and the name', async (t) => {
  const { lookup } = lookupBy(t, `[ "$*" = "ahosts ${NAME}" ] && echo "10.0.0.7 STREAM"`);
  assert.deepEqual(await resolveName(lookup, { all: false }), ['10.0.0.7', 4]);
});

test('if the program is missing, Node.js resolves the name', async (t) => {
  const lookup = new NameLookup(join(temporaryFolder(t), 'missing'));
  assert.match(JSON.stringify(await resolveName(lookup, { all: true }, 'localhost')), /"127\.0\.0\.1"|"::1"/);
});

test('a look-up that hangs gives ENOTFOUND when it is ended', async (t) => {
  const { lookup, folder } = lookupBy(t, 'echo $$ > "$0.pid"; exec sleep 600');
  const answered = resolveName(lookup, { all: true });
  await until('the program runs', () => existsSync(join(folder, 'getent.pid')));
  await lookup.end();
  assert.equal(await answered, 'ENOTFOUND');
});

test('the program is not used for an IP address, or for a name of this machine', () => {
  const lookup = new NameLookup();
  for (const host of ['127.0.0.1', '::1', 'localhost', 'broker.localhost', 'LOCALHOST'])
    assert.equal(lookup.lookupFor(host), undefined, host);
});
