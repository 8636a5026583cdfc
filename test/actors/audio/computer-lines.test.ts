// Tests the command lines that people type on a computer to play to a node. The guide has the same lines.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { computerCommands } from '../../../src/actors/audio/computer-lines.js';

const GUIDE = readFileSync(new URL('../../../../docs/guides/from-a-computer.md', import.meta.url), 'utf8');
const NODE = { address: 'ADDRESS', hostname: 'NODE', user: 'pi', cookiePort: 8018 };
const OPEN_PORT = { port: 4713, addresses: ['0.0.0.0'] };

const linesOf = (...args: Parameters<typeof computerCommands>) =>
  computerCommands(...args).flatMap(({ lines }) => lines);

test('the guide has the command lines for each kind of computer, and no others', () => {
  const cookies = ['required', 'unused'] as const;
  const offered = new Set(cookies.flatMap((cookie) => linesOf({ ...OPEN_PORT, cookie }, NODE)));
  const inGuide = GUIDE.split('\n').flatMap(
    (line) => /^ {4}((?:curl|PULSE_SERVER|pactl).*)/.exec(line)?.[1] ?? [],
  );
  assert.deepEqual(inGuide.toSorted(), [...offered].toSorted());
});

test('if HTTP serves no cookie, the lines copy it from the node; IPv6 addresses are in brackets', () => {
  const node = { ...NODE, address: 'fd00::5', cookiePort: undefined };
  const [first, second] = linesOf({ ...OPEN_PORT, cookie: 'required' }, node);
  const file = '~/.config/pulse/NODE.cookie';
  assert.equal(first, `scp pi@[fd00::5]:.config/pulse/cookie ${file} && chmod 600 ${file}`);
  assert.match(second ?? '', /^PULSE_SERVER=tcp6:\[fd00::5\]:4713 /);
});
