// Starts the daemons that most rows of the table (row.ts) share: four built daemons on private buses and
// sound servers. `house` has every backend. `plain` has the same backends, but most of its keys differ from
// those of `house`: they have their default or another value. `bare` has no backend. `cards` has Bluetooth, a
// unit whose log is not served, and a scripted sound server with a card.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Variant } from 'dbus-next';
import { ADAPTER_INTERFACE } from '../../../src/protocol/dbus/bluez.js';
import { ScriptedBluez, SPEAKER } from '../../actors/bluetooth/scripted-bluez.js';
import { privateBus } from '../../actors/bus/private-bus.js';
import type { SoundServer } from '../../sound/server.js';
import { startPulseAudio } from '../../sound/servers.js';
import { toneFile } from '../../sound/tone.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { type Ending, NO_BACKENDS } from '../daemon.js';
import { BusService } from './bus-service.js';
import { type CardServer, startCardServer } from './card-server.js';
import { Driver } from './driver.js';
import type { DrivenNode } from './row.js';
import { UnitManager } from './unit-manager.js';

export const HOUSE_PROGRAMS = ['pulseaudio', 'pactl', 'pacat', 'dbus-daemon'];

export const COOKIE = 'c'.repeat(256);
/**
 * Durations of the configuration, in seconds. Each of them is over at once, because hasten.ts shortens
 * timers of exactly these lengths. No other timer of the daemon has such a length. The durations are not
 * shorter, because `idleTimeout` must be at least 60 s, and the two others at least 10 s.
 */
const HASTENED_S = { scanTimeout: 11, pairingTimeout: 17, idleTimeout: 61 } as const;
/**
 * hasten.ts also shortens a sleep of this length: the fade begins at once. If nothing plays, there is no
 * fade, and the sleep is over at once. No other timer of the daemon has this length. hasten.ts compares exact
 * lengths, so the number must be exact in binary, as 1.25 is.
 */
export const HASTENED_SLEEP_MINUTES = 1.25;
const HASTEN_URL = new URL('./hasten.js', import.meta.url).href;

/**
 * Adapters besides BlueZ's first one. The second is for `plain`, and is off at first. The third is for
 * `cards`.
 */
export const SECOND_ADAPTER = '/org/bluez/hci1';
export const SECOND_ADDRESS = '00:AA:01:00:00:02';
export const THIRD_ADAPTER = '/org/bluez/hci2';

export interface House extends DrivenNode {
  readonly house: Driver;
  readonly plain: Driver;
  readonly bare: Driver;
  readonly cards: Driver;
  readonly sound: SoundServer;
  /** The sound server of `cards`, which has the card. */
  readonly card: CardServer;
  readonly userUnits: UnitManager;
  readonly systemUnits: UnitManager;
  readonly logind: BusService;
  readonly bluez: ScriptedBluez;
  readonly userBus: { readonly address: string };
  /** Returns the path of a file such as `result.json`. The file is in the folder that the daemons share. */
  readonly path: (name: string) => string;
  /** The path of a file with stereo samples of a sine, for `SoundServer.play`. */
  readonly tone: string;
  /** A row registers here what must end with the house. */
  readonly ending: Ending;
}

function houseConfig(path: (name: string) => string): string {
  return `
systemd: {system: [other.service], user: [player.service, {name: spare.service, url: "http://spare.lan/"}]}
pulseaudio:
  serve_cookie: true
  volumeLimit: {kitchen: 0.5}
  outputs: {living: {label: Parlour}, cellar: {startVolume: 0.2}}
  groups: {all: {label: All, outputs: [shed]}}
  listen: {phono: living}
  listenLatency: 250
power: {enabled: true, capabilities: {poweroff: true, reboot: true}}
upgrade:
  enabled: true
  resultFile: ${path('result.json')}
  stateFile: ${path('state.json')}
  progressSocket: ${path('progress.sock')}
  checkUnit: check.service
  upgradeUnit: upgrade.service
players: {enabled: true, ignore: [unseen*]}
bluetooth: {enabled: true}
`;
}

function plainConfig(path: (name: string) => string): string {
  return `
logLevel: warn
bind: [127.0.0.1, 127.0.0.3]
power: {enabled: true}
upgrade: {enabled: true, resultFile: ${path('result.json')}, progressSocket: ${path('plain.sock')}, stateFile: ${path('plain.json')}}
players: {enabled: true, ignore: [one], exclusive: true}
bluetooth: {enabled: true, adapter: hci1, powerOnStart: true, idleTimeout: ${HASTENED_S.idleTimeout}s}
`;
}

/** `cards` has an adapter of its own, so its short durations end no scans of other daemons. */
const CARDS_CONFIG = `
systemd: {user: [player.service]}
bluetooth: {enabled: true, adapter: hci2, reconnect: true, pairingTimeout: ${HASTENED_S.pairingTimeout}s, scanTimeout: ${HASTENED_S.scanTimeout}s}
`;

const BARE_API = 'sse: {enabled: false}, ui: {enabled: false}, logs: false, metrics: false, control: false';
const PLAIN_API =
  'hosts: [music.example.org], cors: {origins: ["http://app.lan"]}, sse: {maxClients: 1}, ui: {volumeStep: 2}, control: local';

function startLogind(t: Ending, address: string): Promise<BusService> {
  return BusService.start(t, address, 'org.freedesktop.login1', {
    CanReboot: () => ['s', 'yes'],
    CanPowerOff: () => ['s', 'yes'],
    ListInhibitors: () => ['a(ssssuu)', []],
    // An empty signature means that the answer has no value.
    Reboot: () => [''],
    PowerOff: () => [''],
  });
}

async function startBluez(t: Ending, address: string): Promise<ScriptedBluez> {
  const bluez = new ScriptedBluez(address);
  const inactive = { Discoverable: false, Pairable: false, Discovering: false };
  const second = { Address: SECOND_ADDRESS, Alias: 'second', Powered: false, ...inactive };
  const third = { Address: '00:AA:01:00:00:03', Alias: 'third', Powered: true, ...inactive };
  bluez.objects.set(SECOND_ADAPTER, { [ADAPTER_INTERFACE]: second });
  bluez.objects.set(THIRD_ADAPTER, { [ADAPTER_INTERFACE]: third });
  await bluez.start();
  t.after(async () => bluez.die());
  bluez.addDevice(SPEAKER, { Paired: true, Trusted: true });
  return bluez;
}

/** Writes a `journalctl` that prints its arguments as one entry. Returns a PATH that begins with `folder`. */
function searchPathWithJournalctl(folder: string): string {
  const line = `{"MESSAGE":"%s","PRIORITY":"5","__REALTIME_TIMESTAMP":"1790000000000000"}\\n`;
  mkdirSync(folder);
  writeFileSync(join(folder, 'journalctl'), `#!/bin/sh\nprintf '${line}' "$*"\n`, { mode: 0o755 });
  return `${folder}:${process.env['PATH'] ?? ''}`;
}

async function untilUp({ daemon }: Driver, ...backends: readonly string[]): Promise<void> {
  await Promise.all(backends.map((name) => daemon.untilBackend(name, 'up')));
}

export async function startHouse(t: Ending): Promise<House> {
  const folder = temporaryFolder();
  const path = (name: string): string => join(folder, name);
  const [sound, userBus, systemBus] = await Promise.all([startPulseAudio(), privateBus(t), privateBus(t)]);
  t.after(() => sound.stop());
  const services = 'player.service spare.service';
  const oneshots = 'check.service upgrade.service';
  const userUnits = await UnitManager.start(t, userBus.address, services, oneshots);
  const systemUnits = await UnitManager.start(t, systemBus.address, 'other.service');
  const logind = await startLogind(t, systemBus.address);
  const bluez = await startBluez(t, systemBus.address);
  const card = await startCardServer(t);
  writeFileSync(path('cookie'), COOKIE, { mode: 0o600 });
  const env = {
    ...sound.env,
    PATH: searchPathWithJournalctl(path('bin')),
    PULSE_COOKIE: path('cookie'),
    DBUS_SESSION_BUS_ADDRESS: userBus.address,
    DBUS_SYSTEM_BUS_ADDRESS: systemBus.address,
    HASTEN_S: [...Object.values(HASTENED_S), 60 * HASTENED_SLEEP_MINUTES].join(),
  };
  const cardEnv = { ...env, PULSE_SERVER: `unix:${card.socketPath}` };
  const hastenedOptions = { env, nodeArguments: [`--import=${HASTEN_URL}`] };
  // Each text after the options is the query of an event stream that the driver opens.
  const [house, plain, bare, cards] = await Promise.all([
    Driver.start(t, { ...hastenedOptions, config: houseConfig(path) }, '?snapshot=1', '?types=audio.level'),
    Driver.start(t, { ...hastenedOptions, config: plainConfig(path), api: PLAIN_API }),
    Driver.start(t, { env, config: NO_BACKENDS, api: BARE_API }),
    Driver.start(t, { ...hastenedOptions, env: cardEnv, config: CARDS_CONFIG, api: 'logs: false' }, ''),
  ]);
  await untilUp(house, 'audio', 'systemd', 'power', 'upgrade', 'players', 'bluetooth');
  await untilUp(plain, 'audio', 'systemd', 'power', 'upgrade', 'players', 'bluetooth');
  await untilUp(cards, 'audio', 'systemd', 'bluetooth');
  return {
    house,
    plain,
    bare,
    cards,
    drivers: [house, plain, bare, cards],
    sound,
    card,
    userUnits,
    systemUnits,
    logind,
    bluez,
    userBus,
    path,
    // The numbers are the amplitudes of the left and the right channel.
    tone: toneFile(sound.directory, [0.5, 0.25]),
    ending: t,
  };
}

export const textVariant = (value: string): Variant => new Variant('s', value);
export const flagVariant = (value: boolean): Variant => new Variant('b', value);

/** Demands that the call has arrived at the scripted service. */
export function assertCalled({ calls }: { readonly calls: readonly string[] }, call: string): void {
  assert.ok(calls.includes(call), `${call} is not among ${calls.slice(-12).join(' | ')}`);
}
