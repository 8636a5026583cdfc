// Tests the templates of entities. The same Python packages as in Home Assistant render them from the states
// of the node. The results are values, attributes, and whether an entity is available.

import assert from 'node:assert/strict';
import { NOTHING_KNOWN, playerRecord, withPlayerProperties } from '../../../src/actors/players/facts.js';
import { AnnouncedNode, PLAYER } from '../../broker/announced-node.js';
import { areOffered, rendered, TEMPLATES_NEED } from '../../broker/home-assistant-templates.js';
import { CARD, health, output, put, WHOLE_NODE } from '../../broker/simulated-node.js';
import { testsNeeding } from '../../tools/requirements.js';

const test = testsNeeding(TEMPLATES_NEED);

/** Pairs of versions: the installed version, and the latest one, which is '' if it is unknown. */
const VERSION_PAIRS = [
  ['1', '2'],
  ['2', '1'],
  ['1.0', '1.0'],
  ['1.0', ''],
  ['abc', 'def'],
  ['v1.2', '1.2'],
  ['1.4-2', '1.4-1'],
  ['2024.10', '2024.9'],
  ['0.2.0~rc1', '0.2.0'],
  ['1.0.0', '1.0.0+b'],
  ['latest', '1.0'],
  ['0x10', '0x0f'],
] as const;

test('Home Assistant offers an update exactly if the node offers it, whatever the two versions are', () => {
  const states = VERSION_PAIRS.flatMap(([current, latest]) =>
    [true, false].map((isAvailable) => {
      return { current, latest, upgrade_available: isAvailable, run: { state: 'idle' } };
    }),
  );
  const { components } = new AnnouncedNode().message();
  const updates = rendered(components['update']?.['value_template'], states).map((text) => JSON.parse(text));
  const offered = areOffered(
    updates.map(({ installed_version: installed, latest_version: latest }) => [installed, latest]),
  );

  states.forEach(({ current, latest, upgrade_available: isAvailable }, index) => {
    assert.equal(offered[index], isAvailable, `${current} and ${latest}: ${JSON.stringify(updates[index])}`);
    assert.equal(updates[index]?.installed_version, current);
  });
  // The first two updates come from the first pair of `VERSION_PAIRS`.
  const [withUpdate, withoutUpdate] = updates;
  assert.equal(withUpdate?.latest_version, '2', 'a newer version stays as it is');
  assert.equal(withoutUpdate?.latest_version, '1', 'without an update the installed version is the latest');
});

test('the attributes of the default output have the name, the output and the sending machine of at most 16 streams', () => {
  const { components } = new AnnouncedNode().message();
  const { json_attributes_topic: topic, json_attributes_template: template } =
    components['default_output'] ?? {};
  assert.equal(topic, 'tonearm/living/audio/clients');
  const localStream = { name: 'Radio "1"', output: 'alsa' };
  const sentStream = { name: 'laptop (ann)', host: 'laptop', output: 'kitchen' };
  const twoStreams = [localStream, { ...sentStream, app: 'pulseaudio' }];
  const states = [twoStreams, Array.from({ length: 40 }, () => sentStream), []];
  const [few, many, none] = rendered(template, states).map((text) => JSON.parse(text).streams);
  assert.deepEqual(few, [{ ...localStream, host: '' }, sentStream]);
  assert.equal(many.length, 16, 'the attributes have at most 16 streams');
  assert.deepEqual(none, []);
});

test('the attributes of a player have its track and its position', () => {
  const { components } = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    health('players', 'up'),
    put('players', PLAYER.bus_name, PLAYER),
  ]).message();
  const date = Date.parse('2026-01-02T03:04:05.678Z');
  /** The record that the daemon publishes for a player with these properties. */
  const recordWith = (properties: Readonly<Record<string, unknown>>, positionUs?: number) => {
    const facts = withPlayerProperties(NOTHING_KNOWN, properties);
    const anchor = { positionUs, moment: { date, monotonic: 0 } };
    return playerRecord(PLAYER.bus_name, facts, anchor, { hasTracklist: false });
  };
  // Players report 0, -1 or the largest number for a stream without an end. The text `long` is no number.
  const unknownLengths = ['long', 0, -1, 9223372036854775807n];
  const records = [
    recordWith({ Metadata: { 'xesam:title': 'It is "new"', 'mpris:length': 180_000_000 } }, 61_500_000),
    recordWith({}),
    ...unknownLengths.map((length) => recordWith({ Metadata: { 'mpris:length': length } }, 0)),
  ];
  const texts = rendered(components['player_mpv_state']?.['json_attributes_template'], records);
  const [full, empty, ...withoutLength] = texts.map((text) => JSON.parse(text));

  const position_updated_at = '2026-01-02T03:04:05.678Z';
  const track = { title: 'It is "new"', artist: '', album: '' };
  assert.deepEqual(full, { ...track, duration: 180, position: 61.5, position_updated_at });
  assert.deepEqual([empty.duration, empty.position], [null, null]);
  for (const { duration, position } of withoutLength) assert.deepEqual([duration, position], [null, 0]);
});

const DEVICE = { address: 'AA:BB:CC:DD:EE:FF', name: 'Phone', connected: true };
const OTHER_DEVICE = { ...DEVICE, address: 'AA:BB:CC:DD:EE:00', battery: 9 };
const BLUETOOTH = { powered: true, pairing_active: false, known_devices: [DEVICE, OTHER_DEVICE] };

test('an entity is unavailable, and causes no error, if the player or the device has no value for the entity', () => {
  const { components } = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    health('players', 'up'),
    health('bluetooth', 'up'),
    put('players', PLAYER.bus_name, PLAYER),
    put('bluetooth', '', BLUETOOTH),
  ]).message();
  /** Renders an entity's availability and its value for each of the states. */
  const textsOf = (key: string, states: readonly object[]) => {
    const { availability, value_template: value } = components[key] ?? {};
    // The conditions of the node and of the backend come before the entity's own one.
    const ownCondition = Array.isArray(availability) ? availability.at(-1) : {};
    const values = value === undefined ? [] : rendered(value, states);
    return { availability: rendered(ownCondition.value_template, states), values };
  };

  const offlineThenOnline = ['offline', 'online'];
  const full = { ...PLAYER, shuffle: true, volume: 0.57, metadata: { 'mpris:artUrl': 'file:///a' } };
  assert.deepEqual(textsOf('player_mpv_cover', [PLAYER, full]), {
    availability: offlineThenOnline,
    values: [],
  });
  const shuffle = textsOf('player_mpv_shuffle', [PLAYER, full]);
  assert.deepEqual(shuffle, { availability: offlineThenOnline, values: ['OFF', 'ON'] });
  const volume = textsOf('player_mpv_volume', [{ ...PLAYER, volume: 0 }, full]);
  assert.deepEqual(volume.values, ['0', '57.0']);
  assert.deepEqual(textsOf('player_mpv_volume', [PLAYER]).availability, ['offline']);

  const withBattery = { ...BLUETOOTH, known_devices: [OTHER_DEVICE, { ...DEVICE, battery: 70 }] };
  const battery = textsOf('bluetooth_AABBCCDDEEFF_battery', [BLUETOOTH, withBattery]);
  assert.deepEqual(battery, { availability: offlineThenOnline, values: ['None', '70'] });
});

test('the pairing switch has the value `pairing_mode` during pairing, and otherwise `pairing_mode_stop`', () => {
  const records = [...WHOLE_NODE, health('bluetooth', 'up'), put('bluetooth', '', BLUETOOTH)];
  const { components } = new AnnouncedNode({}, records).message();
  const states = [BLUETOOTH, { ...BLUETOOTH, pairing_active: true }];
  const values = rendered(components['bluetooth_pairing']?.['value_template'], states);
  assert.deepEqual(values, ['pairing_mode_stop', 'pairing_mode']);
});

test('the entity of the sleep has the minutes that are left, and 0 during the fade or without a sleep', () => {
  const { components } = new AnnouncedNode().message();
  // The fade begins at `until`, so during the fade no time is left.
  const sleeps = [600_000, -90_000].map((leftMs) => ({
    active: true,
    until: new Date(Date.now() + leftMs).toISOString(),
  }));
  const texts = rendered(components['sleep']?.['value_template'], [...sleeps, { active: false }]);
  assert.deepEqual(texts.map(Number), [10, 0, 0]);
});

test('a refused command becomes an event with its topic and its reason', () => {
  const { components } = new AnnouncedNode().message();
  const problem = { title: 'No', status: 404, detail: 'It is "gone"', topic: 'tonearm/living/power/set' };
  const [text = ''] = rendered(components['refused_command']?.['value_template'], [problem]);
  assert.deepEqual(JSON.parse(text), { event_type: 'refused', ...problem });
});

test('the template of a select renders one of its options, whatever blanks the names have', () => {
  // Home Assistant removes blanks from both ends of the rendered option. Home Assistant is written in Python,
  // for which `\u0085` and `\u001c` are blanks, too. The second name is too long, and is cut after its blank.
  const names = [' USB Audio ', `${'x'.repeat(99)} y`, '\u0085Next\u001c', 'Two\nlines', 'Hall', 'Hall', ' '];
  const outputs = names.map((description, index) =>
    put('audio.outputs', `${10 + index}`, output(10 + index, `sink-${index}`, { description })),
  );
  const profiles = ['Music ', 'Music', ' '].map((description, i) => ({
    ...CARD.profiles[0],
    name: `profile-${i}`,
    description,
  }));
  const node = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    ...outputs,
    put('audio.cards', '3', { ...CARD, name: 'card', profiles }),
  ]);
  const { components } = node.message();
  const statesOfSelects = {
    default_output: names.map((_, i) => ({ default_sink: `sink-${i}` })),
    card_card: profiles.map(({ name }) => ({ active_profile: name })),
  };
  for (const [key, states] of Object.entries(statesOfSelects)) {
    const { options, value_template: template } = components[key] ?? {};
    const texts = rendered(template, states);
    for (const text of texts) assert.ok(Array.isArray(options) && options.includes(text), `${key}: ${text}`);
    assert.equal(new Set(texts).size, states.length, `${key}: each value has its own option: ${texts}`);
  }
});
