// Reads the true state of the node without the daemon, by pactl, systemctl, busctl and from files. Compares
// the answers of the routes with this state.

import assert from 'node:assert/strict';
import type { BluetoothRecord } from '../../../src/protocol/actor/schemas.js';
import { ADAPTER_INTERFACE, DEVICE_INTERFACE } from '../../../src/protocol/dbus/bluez.js';
import { ADAPTER, PHONE, pathOf } from '../../actors/bluetooth/scripted-bluez.js';
import type { Listed } from '../../sound/pactl.js';
import { type FaultedNode, STATE } from './faulted-node.js';
import type { Routes } from './streams.js';

/** Published volumes are rounded to steps of 0.01. The tolerance is a little more than one step. */
const VOLUME_TOLERANCE = 0.011;
/** `pactl` prints the volume 1 as this number. */
const NORMAL_VOLUME = 65_536;
const PLAYER = 'org.mpris.MediaPlayer2';
const TITLE_KEY = 'xesam:title';

const UNITS = Object.entries({ system: 'lamp.service', user: 'radio.service' });

const UNIT_PROPERTIES = '-p ActiveState,SubState,UnitFileState,LoadState,Description';
const CALL_LOGIND =
  'timeout 5 busctl --system -j call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager';

/**
 * One script reads everything, because entering the node takes time. Each section of the script's output
 * begins with a line `=== NAME`.
 */
const READ_WORLD = `set +e
for list in sinks sink-inputs; do echo "=== $list"; timeout -s KILL 5 pactl -f json list $list; echo; done
echo '=== default'; timeout -s KILL 5 pactl get-default-sink
${UNITS.map(([scope, unit]) => `echo '=== ${scope}/${unit}'; systemctl --${scope} show ${UNIT_PROPERTIES} ${unit}`).join('\n')}
for name in $(timeout 5 busctl --user --acquired --no-legend list | awk '/^${PLAYER}/ { print $1 }'); do
  echo "=== player $name"
  timeout 5 busctl --user -j call $name /org/mpris/MediaPlayer2 org.freedesktop.DBus.Properties GetAll s ${PLAYER}.Player
done
echo '=== reboot'; ${CALL_LOGIND} CanReboot
echo '=== power_off'; ${CALL_LOGIND} CanPowerOff
echo '=== bluez'; timeout 5 busctl --system -j call org.bluez / org.freedesktop.DBus.ObjectManager GetManagedObjects
echo '=== result'; cat ${STATE}/upgrade-result.json; echo
echo '=== state'; cat ${STATE}/upgrade-run.json 2> /dev/null || echo '{"state": "idle"}'
echo '=== upgrading'; systemctl --user show -P ActiveState tonearm-upgrade.service
echo '=== upgrade ended'; cat ~/upgrade-ended 2> /dev/null
true
`;

/** Properties as `busctl -j` prints them. */
type Variants = Readonly<Record<string, { readonly data: unknown }>>;
/** The properties of BlueZ's objects, by path, then by interface. */
type BluezObjects = Readonly<Record<string, Readonly<Record<string, Variants>>>>;

export interface World {
  readonly sinks: readonly (Listed & { readonly state: string })[];
  readonly sinkInputs: readonly (Listed & { readonly corked: boolean })[];
  readonly defaultSink: string;
  /** The properties of each unit, by `scope/name`. */
  readonly units: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly players: Readonly<Record<string, Variants>>;
  readonly power: { readonly reboot: boolean; readonly power_off: boolean };
  readonly bluez: BluezObjects;
  readonly result: Readonly<Record<string, unknown>>;
  /** `readWorld` derives this state of the run from the upgrade's unit and exit status. */
  readonly runState: 'idle' | 'running' | 'failed';
  /** The state of the run in the daemon's state file. The daemon loads this state when it starts. */
  readonly savedState: string;
}

function parseSection<T>(sections: ReadonlyMap<string, string>, name: string): T {
  const text = sections.get(name) ?? '';
  assert.notEqual(text, '', `no program on the node could tell the true state of ${name}`);
  return JSON.parse(text) as T;
}

const propertiesIn = (text: string): Record<string, string> =>
  Object.fromEntries(text.split('\n').map((line) => [line.replace(/=.*/, ''), line.replace(/^[^=]*=/, '')]));

/** Reads the true state. `hasUpgradeBegun` is true if an upgrade was started before this call. */
export async function readWorld(faultedNode: FaultedNode, hasUpgradeBegun: boolean): Promise<World> {
  const text = await faultedNode.node.userShell(READ_WORLD);
  // In the section `default\nliving\n`, the name is `default`, and `living` is what the program has printed.
  const matches = text.split(/^=== /m).map((section) => /^([^\n]*)\n(.*)$/s.exec(section) ?? []);
  const sections = new Map(matches.map(([, name = '', output = '']) => [name, output.trim()]));
  const isYes = (name: string): boolean => parseSection<{ data: string[] }>(sections, name).data[0] === 'yes';
  const playerSections = [...sections.keys()].filter((name) => name.startsWith('player '));
  const units = UNITS.map((unit) => unit.join('/'));
  // The upgrade unit is a oneshot, so systemd calls it `activating` while it runs.
  const isRunning = sections.get('upgrading') === 'activating';
  // An upgrade writes its exit status into ~/upgrade-ended (`UPGRADE` in faulted-node.ts). A killed upgrade
  // has not written this file, and counts as failed. The file is also missing while the upgrade runs, but
  // then `isRunning` decides.
  const hasFailed = hasUpgradeBegun && sections.get('upgrade ended') !== '0';
  const stateAtRest = hasFailed ? 'failed' : 'idle';
  return {
    sinks: parseSection(sections, 'sinks'),
    sinkInputs: parseSection(sections, 'sink-inputs'),
    defaultSink: sections.get('default') ?? '',
    units: Object.fromEntries(units.map((unit) => [unit, propertiesIn(sections.get(unit) ?? '')])),
    players: Object.fromEntries(
      playerSections.map((name) => [
        name.slice('player '.length),
        parseSection<{ data: [Variants] }>(sections, name).data[0],
      ]),
    ),
    power: { reboot: isYes('reboot'), power_off: isYes('power_off') },
    bluez: parseSection<{ data: [BluezObjects] }>(sections, 'bluez').data[0],
    result: parseSection(sections, 'result'),
    savedState: parseSection<{ state: string }>(sections, 'state').state,
    runState: isRunning ? 'running' : stateAtRest,
  };
}

/** Compares only the first channel, because all channels are equally loud: nothing changes the balance. */
function checkVolume(owner: string, published: unknown, { volume }: Listed): void {
  const [first] = Object.values(volume);
  const expected = (first?.value ?? Number.NaN) / NORMAL_VOLUME;
  assert.ok(
    Math.abs(Number(published) - expected) < VOLUME_TOLERANCE,
    `${owner}: the volume ${String(published)} is published, but the true volume is ${expected}`,
  );
}

type Json = Readonly<Record<string, unknown>>;

const byKey = (records: readonly Json[], key: string): Map<unknown, Json> =>
  new Map(records.map((record) => [record[key], record]));

function checkOutputs(routes: Routes, { sinks, defaultSink }: World): void {
  const published = byKey(routes.outputs, 'id');
  const publishedNames = routes.outputs.map(({ id, name }) => [id, name]).sort();
  assert.deepEqual(publishedNames, sinks.map(({ index, name }) => [index, name]).sort());
  // The configuration of faulted-node.ts has this group.
  assert.deepEqual(byKey(routes.outputs, 'name').get('tonearm.house')?.['group'], ['living', 'kitchen']);
  for (const sink of sinks) {
    const { muted, volume, state, default: isDefault } = published.get(sink.index) ?? {};
    const expected = [sink.mute, sink.state.toLowerCase(), sink.name === defaultSink];
    assert.deepEqual([muted, state, isDefault], expected, sink.name);
    checkVolume(String(sink.name), volume, sink);
  }
}

/**
 * True if a group plays through this sink input. Then the sink input belongs to the group's module, and is
 * no client. `pactl` lists the module's index as a number for a sink, and as a text for a sink input.
 */
const playsForGroup = ({ owner_module }: Listed, { sinks }: World): boolean =>
  sinks.some((sink) => sink.name?.startsWith('tonearm.') && `${sink.owner_module}` === `${owner_module}`);

function checkClients(routes: Routes, world: World): void {
  const { sinks } = world;
  const sinkInputs = world.sinkInputs.filter((sinkInput) => !playsForGroup(sinkInput, world));
  const published = byKey(routes.clients, 'id');
  assert.deepEqual([...published.keys()].sort(), sinkInputs.map(({ index }) => index).sort());
  for (const sinkInput of sinkInputs) {
    const { muted, corked, volume, output } = published.get(sinkInput.index) ?? {};
    const sinkName = sinks.find(({ index }) => index === sinkInput.sink)?.name;
    const client = `client ${sinkInput.index}`;
    assert.deepEqual([muted, corked, output], [sinkInput.mute, sinkInput.corked, sinkName], client);
    checkVolume(client, volume, sinkInput);
  }
}

function checkServices(routes: Routes, { units }: World): void {
  const published = routes.services.map((service) => {
    const { scope, name, active_state, sub_state, unit_file_state, exists, description } = service;
    return [`${scope}/${name}`, active_state, sub_state, unit_file_state, exists, description];
  });
  const expected = Object.entries(units).map(([name, unit]) => {
    const { ActiveState, SubState, UnitFileState, LoadState, Description } = unit;
    return [name, ActiveState, SubState, UnitFileState, LoadState === 'loaded', Description];
  });
  assert.deepEqual(published.sort(), expected.sort());
}

function checkPlayers(routes: Routes, { players }: World): void {
  const published = byKey(routes.players, 'bus_name');
  assert.deepEqual([...published.keys()].sort(), Object.keys(players).sort());
  for (const [name, { PlaybackStatus, LoopStatus, Metadata, Volume }] of Object.entries(players)) {
    const { playback_status, loop_status, metadata, volume } = published.get(name) ?? {};
    const title = (Metadata?.data as Variants | undefined)?.[TITLE_KEY]?.data;
    assert.equal((metadata as Json | undefined)?.[TITLE_KEY], title, name);
    assert.deepEqual([playback_status, loop_status], [PlaybackStatus?.data, LoopStatus?.data], name);
    assert.ok(Math.abs(Number(volume) - Number(Volume?.data)) < VOLUME_TOLERANCE, `${name}: the volume`);
  }
}

function checkBluetooth({ bluetooth }: Routes, { bluez }: World): void {
  const { powered, discoverable, known_devices: [phone] = [] } = bluetooth as BluetoothRecord;
  const { Powered, Discoverable } = bluez[ADAPTER]?.[ADAPTER_INTERFACE] ?? {};
  assert.deepEqual([powered, discoverable], [Powered?.data, Discoverable?.data], 'the adapter');
  const { Connected } = bluez[pathOf(PHONE)]?.[DEVICE_INTERFACE] ?? {};
  assert.deepEqual([phone?.address, phone?.connected], [PHONE, Connected?.data], 'the phone');
}

/** Throws if the answers of the routes differ from the true state. */
export function assertRoutesAreTrue(routes: Routes, power: unknown, world: World): void {
  checkOutputs(routes, world);
  checkClients(routes, world);
  checkServices(routes, world);
  checkPlayers(routes, world);
  checkBluetooth(routes, world);

  // `status` is everything that the route takes from the result file.
  const { run, check, can_check, can_upgrade, ...status } = routes.upgrade;
  assert.deepEqual(status, world.result);
  assert.deepEqual([can_check, can_upgrade], [true, true]);
  assert.equal((check as Json)['state'], 'idle', 'the check');
  assert.equal((run as Json)['state'], world.runState, 'the run');
  assert.equal(world.savedState, world.runState, 'the state file');
  assert.deepEqual(power, world.power, 'the power actions');
}
