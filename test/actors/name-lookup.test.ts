// The look-up of a name: the answer of the program, and the outcome when that fails, hangs or is not there.

import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NameLookup } from '../../src/actors/name-lookup.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';

const NAME = 'broker.example';

/** A look-up by a program that is this script of the shell. */
function lookupBy(t: TestContext, script: string) {
  const folder = temporaryFolder(t);
  const program = join(folder, 'getent');
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return { names: new NameLookup(program), folder };
}

/** The answer to `net.connect`, with all addresses or the first; or the code of the error. */
function answer(names: NameLookup, all: boolean, name = NAME): Promise<unknown> {
  return new Promise((resolve) => {
    names.lookupFor(NAME)?.(name, { all }, (error, address: string | LookupAddress[], family) =>
      resolve(error?.code ?? (all ? address : [address, family])),
    );
  });
}

const TWO = 'printf "10.0.0.7 STREAM $2\\n10.0.0.7 DGRAM\\nfd00::7   STREAM\\nfd00::7 RAW\\n"';
const ANSWERS: readonly (readonly [what: string, script: string, all: boolean, expected: unknown])[] = [
  [
    'all addresses',
    TWO,
    true,
    [
      { address: '10.0.0.7', family: 4 },
      { address: 'fd00::7', family: 6 },
    ],
  ],
  ['the first address', TWO, false, ['10.0.0.7', 4]],
  ['no such name', 'exit 2', true, 'ENOTFOUND'],
  ['nothing', ':', false, 'ENOTFOUND'],
];
for (const [what, script, all, expected] of ANSWERS) {
  test(`a look-up that finds ${what} says so`, async (t) => {
    assert.deepEqual(await answer(lookupBy(t, script).names, all), expected);
  });
}

test('the program gets the name, as the machine has it', async (t) => {
  const { names } = lookupBy(t, `[ "$*" = "ahosts ${NAME}" ] && echo "10.0.0.7 STREAM"`);
  assert.deepEqual(await answer(names, false), ['10.0.0.7', 4]);
});

test('without the program Node looks the name up', async (t) => {
  const names = new NameLookup(join(temporaryFolder(t), 'missing'));
  assert.match(JSON.stringify(await answer(names, true, 'localhost')), /"127\.0\.0\.1"|"::1"/);
});

test('a look-up that hangs ends with its connection, and leaves no process', async (t) => {
  const { names, folder } = lookupBy(t, 'echo $$ > "$0.pid"; exec sleep 600');
  const answered = answer(names, true);
  await until('the program runs', () => existsSync(join(folder, 'getent.pid')));
  await names.end();
  assert.equal(await answered, 'ENOTFOUND');
});

test('addresses and names of this machine need no program', () => {
  const names = new NameLookup();
  for (const host of ['127.0.0.1', '::1', 'localhost', 'broker.localhost', 'LOCALHOST'])
    assert.equal(names.lookupFor(host), undefined, host);
});
