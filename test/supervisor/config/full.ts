// Resolves texts as if they were files of the configuration. In `FULL_YAML` each key has another value than
// its default. `FULL_SETTINGS` are the settings of this text.

import assert from 'node:assert/strict';
import { parse } from 'yaml';
import type { Result } from '../../../src/protocol/actor/result.js';
import type { Settings } from '../../../src/protocol/actor/settings.js';
import type { Environment } from '../../../src/supervisor/config/keys.js';
import {
  type Configuration,
  resolve,
  type WrongConfiguration,
} from '../../../src/supervisor/config/resolve.js';

export const ENVIRONMENT: Environment = { env: {}, home: '/home/pi', hostname: 'kitchen', uid: 1000 };

/** Resolves files with these texts. The files are called a, b, c, ... in their order. */
export function resolveTexts(
  texts: readonly string[],
  environment = ENVIRONMENT,
): Promise<Result<Configuration, WrongConfiguration>> {
  const files = texts.map((text, index) => ({ path: String.fromCharCode('a'.charCodeAt(0) + index), text }));
  return resolve(files, environment);
}

export async function problemsIn(...texts: readonly string[]): Promise<readonly string[]> {
  const resolved = await resolveTexts(texts);
  return resolved.ok ? [] : resolved.error.problems;
}

export async function configurationOf(...texts: readonly string[]): Promise<Configuration> {
  const resolved = await resolveTexts(texts);
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved.value;
}

/** The anchor `&units` shows that anchors are allowed. No alias refers to it, so it changes nothing. */
export const FULL_YAML = `# A node in the kitchen.
bind: [eth0, 192.168.1.20, "::1"]
logLevel: Debug
api:
  port: 9000
  cors:
    origins:
      - https://HOME.example:443
      - "*"
  hosts: [Kitchen.lan., node]
  sse:
    enabled: false
    maxClients: 10
  ui:
    enabled: false
    volumeStep: 2
  logs: false
  metrics: false
  control: local
systemd:
  enabled: false
  system:
    - bluetooth.service
  user: &units
    - mpd.service
    - name: player@kitchen.service
      url: http://kitchen.lan:6680
    - {name: check.service}
pulseaudio:
  enabled: false
  serve_cookie: true
  volumeLimit: {living: 0.6, kitchen: 1}
  outputs:
    living: {label: Living room}
    hdmi: {hidden: true, startVolume: 0.5}
  groups:
    all: {label: All, outputs: [living, hdmi]}
  listen: {mike: living}
  listenLatency: 200
power:
  enabled: true
  capabilities:
    poweroff: true
    reboot: true
upgrade:
  enabled: true
  resultFile: ~/upgrade.json
  checkUnit: check.service
  upgradeUnit: upgrade.service
  progressSocket: /run/tonearm/upgrade.sock
  stateFile: /var/lib/tonearm/run.json
players:
  enabled: true
  fetchCovers: true
  ignore: [org.mpris.MediaPlayer2.chromium*, spotify]
  exclusive: true
bluetooth:
  enabled: true
  adapter: hci1
  powerOnStart: true
  reconnect: [aa:bb:cc:dd:ee:ff]
  pairingTimeout: 2m
  scanTimeout: 30
  idleTimeout: 1h
discovery:
  enabled: true
  name: Küche
  nodes: [http://10.8.0.3:8018, https://attic.example]
  trust: false
mqtt:
  enabled: true
  url: mqtts://broker.lan:8884
  username: node
  passwordFile: ~/mqtt-password
  caFile: /etc/ssl/house.pem
  topic: house/kitchen
  control: false
  homeAssistant: false
  homeAssistantPrefix: ha
`;

const { pulseaudio, ...otherSections } = parse(FULL_YAML);
const { serve_cookie: serveCookie, ...audio } = pulseaudio;

/**
 * The settings of `FULL_YAML`. Most are taken from the text. This constant spells out the settings that have
 * another form or name than in the text, that come from another section (`apiPort`), or that have no key
 * (`actsByItself`).
 */
export const FULL_SETTINGS: Settings = {
  ...otherSections,
  logLevel: 'debug',
  api: {
    ...otherSections.api,
    cors: { origins: ['https://home.example', '*'] },
    hosts: ['kitchen.lan', 'node'],
  },
  systemd: {
    enabled: false,
    system: [{ name: 'bluetooth.service' }],
    user: [
      { name: 'mpd.service' },
      { name: 'player@kitchen.service', url: 'http://kitchen.lan:6680' },
      { name: 'check.service' },
    ],
    internal: ['check.service', 'upgrade.service'],
  },
  audio: { ...audio, actsByItself: true, serveCookie, apiPort: 9000 },
  upgrade: { ...otherSections.upgrade, resultFile: '/home/pi/upgrade.json' },
  bluetooth: {
    ...otherSections.bluetooth,
    reconnect: ['AA:BB:CC:DD:EE:FF'],
    pairingTimeout: 120,
    idleTimeout: 3600,
  },
  mqtt: { ...otherSections.mqtt, passwordFile: '/home/pi/mqtt-password' },
};

/**
 * The settings of an empty configuration. They come from the defaults of `KEYS` (config/keys.ts), which
 * docs.test.ts compares with docs/configuration.md.
 */
export const DEFAULT_SETTINGS: Settings = (await configurationOf()).settings;
