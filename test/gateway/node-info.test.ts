// Tests the facts about the machine in GET /server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFilesMax, prettyName, readNodeInfo } from '../../src/gateway/node-info.js';

const names: [text: string, name: string | undefined][] = [
  ['NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n', 'Debian GNU/Linux 12 (bookworm)'],
  ["PRETTY_NAME='Alpine Linux'\n", 'Alpine Linux'],
  ['PRETTY_NAME=Void\n', 'Void'],
  ['PRETTY_NAME="A \\"quoted\\" \\$name"', 'A "quoted" $name'],
  ['PRETTY_NAME=""\n', undefined],
  ['PRETTY_NAME=\n', undefined],
  ['#PRETTY_NAME="x"\n', undefined],
  ['', undefined],
];
for (const [text, name] of names)
  test(`os-release ${JSON.stringify(text)} names ${name}`, () => assert.equal(prettyName(text), name));

const UNLIMITED = Number.POSITIVE_INFINITY;
const limits: [text: string, max: number][] = [
  ['Limit  Soft Limit  Hard Limit  Units\nMax processes  96365  96365  processes\n', UNLIMITED],
  ['Max open files            4096                 524288               files     \n', 4096],
  ['Max open files            unlimited            unlimited            files     \n', UNLIMITED],
  ['', UNLIMITED],
];
for (const [text, max] of limits)
  test(`limits ${JSON.stringify(text)} allow ${max} open files`, () => assert.equal(openFilesMax(text), max));

test('this machine has a name, a platform and a system', () => {
  const info = readNodeInfo();
  assert.match(info.platform, /^linux\/(amd64|arm64|arm)$/);
  assert.notEqual(info.hostname, '');
  assert.notEqual(info.osVersion, '');
  // The kernel's limit is always lower than this. A limit that was not found would be infinite.
  const descriptorsMax = Number(info.descriptorsMax);
  assert.ok(descriptorsMax > 0 && descriptorsMax < 2 ** 31, `${descriptorsMax} descriptors`);
});
