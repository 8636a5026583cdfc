// From paths to endpoints: slashes, percent-encoding and names with odd characters. Paths that are not configured: contract/access.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROUTES, Router } from '../../src/gateway/routes.js';
import { CONFIGURATIONS_WITHOUT } from '../contract/access-rows.js';
import { SETTINGS } from './gateway-under-test.js';

const router = new Router(ROUTES, SETTINGS);

/** `PATH key=value`, or the problem's code. */
function found(path: string): string {
  const match = router.match(path);
  if (!match.ok) return match.fault;
  return [match.route.path, ...Object.entries(match.params).map(([name, value]) => `${name}=${value}`)].join(
    ' ',
  );
}

const rows: [path: string, expected: string][] = [
  ['/audio', '/audio'],
  ['/power', '/power/'],
  ['/%61udio', '/audio'],
  ['//audio', '/audio'],
  ['//power//', '/power/'],
  ['///audio///outputs//3/mute//', '/audio/outputs/{output}/mute output=3'],
  ['//audio//outputs//a%2F%2Fb//mute', '/audio/outputs/{output}/mute output=a//b'],
  ['//', '/'],
  ['/', '/'],
  ['', 'not-found'],
  ['/Audio', 'not-found'],
  ['/audio/../server', 'not-found'],
  ['/audio%2Fserver', 'not-found'],
  ['/audio/outputs/3/mute', '/audio/outputs/{output}/mute output=3'],
  ['/audio/outputs/a%2Fb/mute', '/audio/outputs/{output}/mute output=a/b'],
  ['/audio/outputs/a%20b%C3%A9/mute', '/audio/outputs/{output}/mute output=a bé'],
  ['/audio/outputs/a+b/mute', '/audio/outputs/{output}/mute output=a+b'],
  ['/audio/outputs/..%2F..%2Fetc/mute', '/audio/outputs/{output}/mute output=../../etc'],
  ['/audio/outputs//mute', 'not-found'],
  ['/audio/outputs/3', 'not-found'],
  ['/audio/outputs/3/mute/4', 'not-found'],
  ['/audio/outputs/{output}/mute', '/audio/outputs/{output}/mute output={output}'],
  ['/services/user/mpd.service/start', '/services/{scope}/{unit}/start scope=user unit=mpd.service'],
  ['/audio/outputs/%zz/mute', 'bad-path'],
  ['/audio/outputs/%ED%A0%80/mute', 'bad-path'],
  ['/nowhere/%zz', 'bad-path'],
  ['/audio/outputs/a%00b/mute', 'bad-path'],
];

for (const [path, expected] of rows) {
  test(`${JSON.stringify(path)} is ${expected}`, () => assert.equal(found(path), expected));
}

test('a path that no configuration has names no key', () => {
  const match = new Router(ROUTES, CONFIGURATIONS_WITHOUT.audio).match('/nowhere');
  assert.equal(match.ok ? '' : match.detail, 'There is no such path');
});
