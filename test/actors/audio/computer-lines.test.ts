// Tests the command lines that people type on a computer to play to a node. The guide from-a-computer.md
// has the same lines.

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
  const cookieNeeds = ['required', 'unused'] as const;
  const offeredLines = new Set(cookieNeeds.flatMap((cookie) => linesOf({ ...OPEN_PORT, cookie }, NODE)));
  const linesInGuide = GUIDE.split('\n').flatMap(
    (line) => /^ {4}((?:curl|PULSE_SERVER|pactl).*)/.exec(line)?.[1] ?? [],
  );
  assert.deepEqual(linesInGuide.toSorted(), [...offeredLines].toSorted());
});

test('the lines have an IPv6 address in brackets, and copy the cookie by scp if the daemon does not serve it', () => {
  const node = { ...NODE, address: 'fd00::5', cookiePort: undefined };
  const [first, second] = linesOf({ ...OPEN_PORT, cookie: 'required' }, node);
  const folder = '~/.config/pulse';
  const file = `${folder}/NODE_fd00--5.cookie`;
  const copy = `mkdir -p ${folder} && scp pi@[fd00::5]:.config/pulse/cookie ${file}`;
  assert.equal(first, `${copy} && chmod 600 ${file}`);
  assert.match(second ?? '', /^PULSE_SERVER=tcp6:\[fd00::5\]:4713 /);
});

test('the line that copies the cookie by scp has no user if the name means something to a shell, or is missing', () => {
  for (const user of ['', '-l', '$(reboot)', 'a b', 'a;b']) {
    const node = { ...NODE, user, cookiePort: undefined };
    const [first = ''] = linesOf({ ...OPEN_PORT, cookie: 'required' }, node);
    assert.ok(first.includes('&& scp ADDRESS:.config/pulse/cookie '), first);
  }
});

/**
 * Matches names such as `NODE_192-168-1-20`. The name of the output follows `sink_name=`, and the name of
 * the cookie's file follows `pulse/`.
 */
const OUTPUT_OR_FILE_NAME = /(?<=sink_name=|pulse\/)[^\s/]+_[^\s/]+?(?=\.cookie|\s)/g;

test('nodes with the same hostname share neither the file of the cookie nor the name of the output', () => {
  const namesOf = (hostname: string, address: string) => {
    const lines = linesOf({ ...OPEN_PORT, cookie: 'required' }, { ...NODE, hostname, address });
    const names = lines.join('\n').matchAll(OUTPUT_OR_FILE_NAME);
    return new Set([...names].map(([name]) => name));
  };
  assert.deepEqual(namesOf('raspberrypi', '192.168.1.20'), new Set(['raspberrypi_192-168-1-20']));
  assert.deepEqual(namesOf('raspberrypi', '192.168.1.21'), new Set(['raspberrypi_192-168-1-21']));
  // A hyphen replaces each character that a name must not have. `node` replaces an unknown hostname.
  assert.deepEqual(namesOf("bob's_pi.lan", 'fd00::1:2'), new Set(['bob-s-pi-lan_fd00--1-2']));
  assert.deepEqual(namesOf('', '10.0.0.5'), new Set(['node_10-0-0-5']));
});
