// No secret may appear anywhere (docs/security.md, "What the daemon defends"). The broker's password and the
// sound server's cookie are texts that occur nowhere else. The built daemon goes through every failure with
// the most verbose log, and all its output is searched for these texts.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Broker, startBroker } from '../broker/mosquitto.js';
import { type Spy, startSpy } from '../broker/spy.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY } from './audio-node.js';
import { Daemon, ENTRY } from './daemon.js';

const PASSWORD = 'marked-password-of-the-broker';
const COOKIE_BEGINNING = 'marked-cookie-of-the-sound-server';
const COOKIE = COOKIE_BEGINNING.padEnd(256, '~');
/** Both secrets as they are, in hex and in base64. In a URL they have no other spelling. */
const SPELLINGS = [PASSWORD, COOKIE_BEGINNING].flatMap((secret) => [
  secret,
  Buffer.from(secret).toString('hex'),
  ...base64Spellings(secret),
]);

/**
 * The secret as it stands in the base64 of a longer text. Base64 takes three bytes at a time, so there are
 * three spellings, which depend on the number of bytes before the secret. The first and the last four
 * characters are left out, because they also depend on the bytes around the secret.
 */
function base64Spellings(secret: string): readonly string[] {
  return ['', '~', '~~'].map((earlierBytes) =>
    Buffer.from(earlierBytes + secret)
      .toString('base64')
      .slice(4, -4),
  );
}

function assertNoSecret(what: string, text: string): void {
  for (const spelling of SPELLINGS) assert.ok(!text.includes(spelling), `${what}: ${spelling} in ${text}`);
}

const HASH_ROUNDS = 101;
/** SHA-512 makes a hash of this length. */
const HASH_BYTES = 64;

/** A line of a password file in mosquitto's format (mosquitto_passwd(1)). */
function passwordLine(user: string, password: string): string {
  const salt = randomBytes(12);
  const hash = pbkdf2Sync(password, salt, HASH_ROUNDS, HASH_BYTES, 'sha512');
  return `${user}:$7$${HASH_ROUNDS}$${salt.toString('base64')}$${hash.toString('base64')}\n`;
}

/** The status for an invalid configuration. */
const INVALID_CONFIGURATION = 78;

const skip = skipReason({ programs: ['mosquitto', 'pulseaudio', 'pactl'] });

describe('the output of a daemon with secrets', { skip }, () => {
  let broker: Broker;
  let sound: SoundServer;
  let daemon: Daemon;
  let spy: Spy;
  const secrets = temporaryFolder({ after });

  before(async () => {
    writeFileSync(join(secrets, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
    writeFileSync(join(secrets, 'cookie'), COOKIE, { mode: 0o600 });
    broker = await startBroker({
      anonymous: false,
      files: { users: passwordLine('node', PASSWORD) + passwordLine('spy', 'spy') },
      // `startBroker` replaces `DIR` by the folder to which it writes `files`.
      lines: ['password_file DIR/users'],
    });
    sound = await startPulseAudio();
    // With `DEBUG`, the library for MQTT prints what it does.
    const env = { ...sound.env, PULSE_COOKIE: join(secrets, 'cookie'), DEBUG: '*' };
    const mqtt = `enabled: true, url: "${broker.url}", topic: t, username: node, passwordFile: ${secrets}/password`;
    daemon = await Daemon.start({ env, config: `${AUDIO_ONLY}logLevel: trace\nmqtt: {${mqtt}}\n` });
    spy = await startSpy(broker.url.replace('//', '//spy:spy@'), '#');
  });
  after(async () => {
    await spy?.end();
    await daemon?.stop();
    await sound?.stop();
    await broker?.stop();
  });

  const untilMqtt = (state: string, reason: RegExp): Promise<void> =>
    daemon.untilBackend('mqtt', state, reason);

  /**
   * Searches all output of the daemon at this moment: answers, log, messages, environment and command line.
   * `/audio/cookie` does not exist, because `pulseaudio.serve_cookie` is false by default.
   */
  async function assertNoSecretAnywhere(): Promise<void> {
    for (const path of ['/health', '/server', '/openapi.json', '/audio', '/audio/cookie', '/nowhere'])
      assertNoSecret(path, (await daemon.get(path)).text);
    assertNoSecret('the log', daemon.log);
    for (const { topic, text } of spy.received) assertNoSecret(topic, `${topic} ${text}`);
    for (const file of ['environ', 'cmdline'])
      assertNoSecret(file, readFileSync(`/proc/${daemon.pid}/${file}`, 'latin1'));
  }

  test('no secret is in the output when everything works', async () => {
    await untilMqtt('up', /^$/);
    await daemon.untilBackend('audio', 'up');
    assert.match(await spy.untilText('t/status'), /online/);
    await assertNoSecretAnywhere();
  });

  test('no secret is in the output when the password is wrong', async () => {
    writeFileSync(
      join(broker.directory, 'users'),
      passwordLine('node', 'another') + passwordLine('spy', 'spy'),
    );
    await broker.end();
    await untilMqtt('connecting', /./);
    await broker.start();
    await untilMqtt('connecting', /Not authorized|Bad User Name/i);
    await assertNoSecretAnywhere();
  });

  test('no secret is in the output when the broker is another program that echoes what it gets', async () => {
    await broker.end();
    const echoing = new Set<Socket>();
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      echoing.add(socket);
      socket.pipe(socket);
    }).listen(broker.port, '127.0.0.1');
    await until('the echoing program has got two attempts', () => echoing.size > 1);
    await untilMqtt('connecting', /./);
    await assertNoSecretAnywhere();
    for (const socket of echoing) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  test('no secret is in the output when the broker is away', async () => {
    // The test above has ended the broker and the program that echoes.
    await untilMqtt('connecting', /ECONNREFUSED/);
    await assertNoSecretAnywhere();
  });

  test('no secret is in the output when the password file cannot be read', async () => {
    rmSync(join(secrets, 'password'));
    await untilMqtt('connecting', /passwordFile: \S+: it does not exist/);
    mkdirSync(join(secrets, 'password'));
    await untilMqtt('connecting', /passwordFile: \S+: it is a directory/);
    await assertNoSecretAnywhere();
  });

  test('no secret is in the log when the daemon ends', async () => {
    daemon.signal('SIGTERM');
    await until('the daemon has ended', () => !daemon.isAlive());
    assertNoSecret('the log', daemon.log);
    // The log that was searched contains the failures of the tests above.
    assert.match(daemon.log, /backend is connecting/);
  });
});

/**
 * Keys below `mqtt` that have the password in the wrong place. One lacks its closing quotation mark, and one
 * lacks the space after `url:`.
 */
const MISTAKES: readonly string[] = [
  `url: "mqtt://node:${PASSWORD}@broker"`,
  `url: "mqtts://${PASSWORD}@broker:8883"`,
  `url: "https://node:${PASSWORD}@broker"`,
  `url: "mqtt://node:${PASSWORD}@"`,
  `url: [ "mqtt://node:${PASSWORD}@broker" ]`,
  `url: {mqtt://node:${PASSWORD}@broker: 1}`,
  `url: "mqtt://node:${PASSWORD}@broker`,
  `url:mqtt://node:${PASSWORD}@broker`,
  `url: "mqtt://broker", topic: "mqtt://node:${PASSWORD}@broker/+"`,
  `url: "mqtt://broker", passwordFile: ${PASSWORD}`,
  `url: "mqtt://broker", password: ${PASSWORD}`,
];

for (const mistake of MISTAKES) {
  test(`--check-config reports the mistake in mqtt: {${mistake.replaceAll(PASSWORD, 'SECRET')}} without the secret`, (t) => {
    const folder = temporaryFolder(t);
    const config = join(folder, 'config.yaml');
    writeFileSync(config, `mqtt: {enabled: true, ${mistake}}\n`);
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    const args = [ENTRY, '--check-config', '--config', config];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    // An unknown key is only a warning, and does not change the status.
    assert.ok(status === INVALID_CONFIGURATION || stderr.includes('unknown key'), stderr);
    assertNoSecret('the output', stdout + stderr);
  });
}
