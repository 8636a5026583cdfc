// Tests how the files of the password and of the certificates are read for a connection to a broker, and for
// which reasons a file is refused. small-file.test.ts tests paths that are no regular file.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { brokerAddress } from '../../../src/actors/mqtt/broker-address.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';

const folder = temporaryFolder({ after });

/** This clock stands still, so that a slow disk of a busy machine is not taken for a disk that hangs. */
const clock = new ManualClock();

const SETTINGS = {
  enabled: true,
  url: 'mqtts://broker',
  topic: 't',
  control: true,
  homeAssistant: false,
  homeAssistantPrefix: 'h',
  username: 'node',
};

const addressWith = (passwordFile: string) => brokerAddress({ ...SETTINGS, passwordFile }, clock);

const PASSWORDS: readonly (readonly [content: string, password: string])[] = [
  ['geheim', 'geheim'],
  ['geheim\n', 'geheim'],
  ['geheim\r\n', 'geheim'],
  [' ge heim \n\n', ' ge heim \n'],
  ['', ''],
];
for (const [content, password] of PASSWORDS) {
  test(`a file with the content ${JSON.stringify(content)} has the password ${JSON.stringify(password)}`, async () => {
    const path = join(folder, 'password');
    writeFileSync(path, content, { mode: 0o600 });
    const address = await addressWith(path);
    assert.equal(address.ok && address.value.password, password);
  });
}

const UTF16_WITH_BYTE_ORDER_MARK = Buffer.from('\ufeffgeheim', 'utf16le');
const UTF16_WITHOUT_BYTE_ORDER_MARK = Buffer.from('geheim', 'utf16le');
const ODDITIES: readonly (readonly [content: string | Buffer, oddities: string])[] = [
  ['geheim', ''],
  ['ge heim\r\n', ''],
  ['', 'it is empty'],
  ['\n', 'it is empty'],
  ['\ufeffgeheim\n', 'it begins with a byte order mark'],
  [UTF16_WITH_BYTE_ORDER_MARK, 'it is written in UTF-16'],
  [Buffer.from(UTF16_WITH_BYTE_ORDER_MARK).swap16(), 'it is written in UTF-16'],
  [UTF16_WITHOUT_BYTE_ORDER_MARK, 'it is written in UTF-16'],
  [Buffer.from('gehä', 'latin1'), 'it is not written in UTF-8'],
  [' geheim\n', 'it begins or ends with a blank'],
  ['geheim\t\n', 'it begins or ends with a blank'],
  ['geheim\n\n', 'it has more than one line'],
  [
    '\ufeff geheim \n\n',
    'it begins with a byte order mark, it has more than one line, it begins or ends with a blank',
  ],
];
for (const [content, oddities] of ODDITIES) {
  test(`a password file with the bytes ${Buffer.from(content).toString('hex')} has the oddities: ${oddities || 'none'}`, async () => {
    const path = join(folder, 'odd');
    writeFileSync(path, content, { mode: 0o600 });
    const address = await addressWith(path);
    const expected = oddities === '' ? undefined : `mqtt.passwordFile: ${path}: ${oddities}`;
    assert.equal(address.ok ? address.value.passwordOddities : 'cannot be read', expected);
  });
}

/** The bound of broker-address.ts. */
const FILE_MAX_BYTES = 4 << 20;
const LARGE = Buffer.alloc(FILE_MAX_BYTES + 1);

function createWithMode(path: string, mode: number): void {
  writeFileSync(path, 'geheim');
  chmodSync(path, mode);
}

const REFUSED_FILES: readonly (readonly [what: string, create: (path: string) => void, reason: RegExp])[] = [
  ['missing', () => undefined, /^mqtt\.passwordFile: \S+: it does not exist$/],
  ['too large', (path) => writeFileSync(path, LARGE, { mode: 0o600 }), /: it is larger than 4194304 bytes$/],
  [
    'readable for its group, too',
    (path) => createWithMode(path, 0o640),
    /: others can read this file: run chmod 600 on it$/,
  ],
  [
    'readable for others, but not for its group',
    (path) => createWithMode(path, 0o604),
    /: others can read this file: run chmod 600 on it$/,
  ],
];
for (const [what, create, reason] of REFUSED_FILES) {
  test(`a password file that is ${what} is refused with a reason`, async () => {
    const path = join(folder, what.replace(/\W/g, ''));
    create(path);
    const address = await addressWith(path);
    assert.match(address.ok ? '' : address.error, reason);
  });
}

test('a certificate file that does not exist is refused with a reason, and one that exists is read', async () => {
  const caFile = join(folder, 'ca');
  const missing = await brokerAddress({ ...SETTINGS, caFile }, clock);
  assert.match(JSON.stringify(missing), /mqtt\.caFile: \S+: it does not exist/);

  writeFileSync(caFile, 'PEM');
  const address = await brokerAddress({ ...SETTINGS, caFile }, clock);
  assert.equal(address.ok && address.value.ca, 'PEM');
});

test('a certificate file is also read if the scheme of the URL has capitals', async () => {
  const caFile = join(folder, 'ca-for-capitals');
  writeFileSync(caFile, 'PEM');
  // The file is read only for the scheme `mqtts`.
  const address = await brokerAddress({ ...SETTINGS, url: 'MQTTS://broker', caFile }, clock);
  assert.equal(address.ok && address.value.ca, 'PEM');
});
