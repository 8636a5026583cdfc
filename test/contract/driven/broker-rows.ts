// Rows of the table (row.ts) about MQTT, on a real broker. The broker demands a password, and has a
// certificate from a private authority. The daemon `house` carries out commands from the broker, and
// announces itself to Home Assistant. The daemon `plain` does neither.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateBus } from '../../actors/bus/private-bus.js';
import { startBroker } from '../../broker/mosquitto.js';
import { type Spy, startSpy } from '../../broker/spy.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import type { Ending } from '../daemon.js';
import { Driver } from './driver.js';
import type { DrivenNode, Row } from './row.js';
import { UnitManager } from './unit-manager.js';

export const BROKER_PROGRAMS = ['mosquitto', 'openssl', 'dbus-daemon'];

const CERTIFICATES = `
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=House -days 2
openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=broker
printf 'subjectAltName=IP:127.0.0.1' > names
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile names
`;
const USER = 'node';
const PASSWORD = 'secret of the house';
/** Mosquitto accepts any number, because the line of the password file contains the number. */
const HASH_ROUNDS = 101;
/** SHA-512 makes a hash of this length. */
const HASH_BYTES = 64;
const COMMAND_TOPIC = 'services/user/player.service/set';

export interface BrokerNode extends DrivenNode {
  readonly house: Driver;
  readonly plain: Driver;
  /** Another client of the broker, which gets all messages. */
  readonly spy: Spy;
  readonly units: UnitManager;
  /** The broker's log. */
  readonly log: () => string;
}

/** A line of mosquitto's password file (mosquitto_passwd(1)). */
function passwordLine(user: string, password: string): string {
  const salt = randomBytes(12);
  const hash = pbkdf2Sync(password, salt, HASH_ROUNDS, HASH_BYTES, 'sha512');
  return `${user}:$7$${HASH_ROUNDS}$${salt.toString('base64')}$${hash.toString('base64')}\n`;
}

async function startSecureBroker(t: Ending, folder: string) {
  execFileSync('sh', ['-euc', CERTIFICATES], { cwd: folder, stdio: 'ignore' });
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const files = {
    'cert.pem': read('cert.pem'),
    'key.pem': read('key.pem'),
    users: passwordLine(USER, PASSWORD),
  };
  // `startBroker` replaces `DIR` by the folder to which it writes `files`.
  const lines = ['certfile DIR/cert.pem', 'keyfile DIR/key.pem', 'password_file DIR/users'];
  const broker = await startBroker({ anonymous: false, files, lines });
  t.after(() => broker.stop());
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`, { mode: 0o600 });
  return { ...broker, url: broker.url.replace('mqtt:', 'mqtts:') };
}

export async function startBrokerNode(t: Ending): Promise<BrokerNode> {
  const folder = temporaryFolder();
  const broker = await startSecureBroker(t, folder);
  const [userBus, systemBus] = await Promise.all([privateBus(t), privateBus(t)]);
  const units = await UnitManager.start(t, userBus.address, 'player.service');
  const credentials = { username: USER, password: PASSWORD, rejectUnauthorized: false };
  const spy = await startSpy(broker.url, '#', credentials);
  t.after(() => spy.end());
  const common = `enabled: true, url: "${broker.url}", username: ${USER}, passwordFile: ${folder}/password, caFile: ${folder}/ca.pem`;
  const env = { DBUS_SESSION_BUS_ADDRESS: userBus.address, DBUS_SYSTEM_BUS_ADDRESS: systemBus.address };
  const configWith = (mqtt: string): string =>
    `systemd: {user: [player.service]}\npulseaudio: {enabled: false}\nmqtt: {${common}, ${mqtt}}\n`;
  const houseConfig = configWith(
    'topic: house/attic, homeAssistantPrefix: ha, homeAssistant: true, control: true',
  );
  const plainConfig = configWith('topic: house/cellar, homeAssistant: false, control: false');
  const drivers = [
    await Driver.start(t, { env, config: houseConfig }),
    await Driver.start(t, { env, config: plainConfig }),
  ];
  const [house, plain] = drivers;
  assert.ok(house && plain);
  for (const { daemon } of drivers) await daemon.untilBackend('systemd', 'up');
  return { house, plain, drivers, spy, units, log: broker.log };
}

export const BROKER_ROWS: readonly Row<BrokerNode>[] = [
  {
    drives: [
      'key mqtt.enabled',
      'key mqtt.url',
      'key mqtt.topic',
      'key mqtt.caFile',
      'key mqtt.username',
      'key mqtt.passwordFile',
    ],
    title:
      'the node connects to mqtt.url with username, passwordFile and caFile, and publishes below mqtt.topic',
    run: async ({ house, spy, log }) => {
      await spy.untilText('house/attic/status', (text) => text === 'online');
      assert.match(log(), new RegExp(`New client connected .*u'${USER}'`));
      await house.daemon.untilBackend('mqtt', 'up');
    },
  },
  {
    drives: ['key mqtt.control'],
    title: 'mqtt.control decides whether the node carries out commands from the broker',
    run: async ({ plain, spy, units }) => {
      for (const branch of ['house/attic', 'house/cellar'])
        await spy.untilText(`${branch}/status`, (text) => text === 'online');
      await spy.publish(`house/attic/${COMMAND_TOPIC}`, 'start');
      await until('the unit is started', () => units.calls.includes('StartUnit player.service replace'));
      await spy.untilText('house/attic/services/user/player.service', (text) =>
        text.includes('"running":true'),
      );
      await spy.publish(`house/cellar/${COMMAND_TOPIC}`, 'stop');
      // `plain` answers `who` with its status. The spy has sent `stop` before `who`, so `plain` has received
      // both when it answers.
      const countAnswers = () => spy.texts('house/cellar/status').length;
      const before = countAnswers();
      await spy.publish('house/cellar/who', '');
      await until('`plain` has answered', () => countAnswers() > before);
      // If `plain` carried out `stop`, `StopUnit` would reach systemd before this restart.
      await plain.post('/services/user/player.service/restart');
      assert.ok(!units.calls.some((call) => call.startsWith('StopUnit')));
    },
  },
  {
    drives: ['key mqtt.homeAssistant', 'key mqtt.homeAssistantPrefix'],
    title:
      'with mqtt.homeAssistant, the node announces itself to Home Assistant below mqtt.homeAssistantPrefix',
    run: async ({ spy }) => {
      const listAnnounced = () => [...spy.tree()].filter(([topic]) => topic.startsWith('ha/device/'));
      await until('a device is announced', () => listAnnounced().length > 0);
      assert.ok(
        listAnnounced().every(([, text]) => text.includes('house/attic') && !text.includes('house/cellar')),
      );
      // `homeassistant` is the default of mqtt.homeAssistantPrefix.
      assert.ok(![...spy.tree().keys()].some((topic) => topic.startsWith('homeassistant/')));
    },
  },
];
