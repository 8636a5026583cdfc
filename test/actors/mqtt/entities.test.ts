// Tests the device message, which describes the node to Home Assistant as a device with entities: the names,
// keys, kinds and limits of the entities, and the hardware address and the URL of the device.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InterfaceAddresses } from '../../../src/host/own-addresses.js';
import { AnnouncedNode, PLAYER } from '../../broker/announced-node.js';
import { CARD, health, output, put, WHOLE_NODE } from '../../broker/simulated-node.js';

test('the options of the default output have the same names as the volumes of the outputs, and each name is unique', () => {
  const records = ['Hall (sink-0)', 'Hall', 'Hall', 'Say "}}" \\ %}'].map((label, i) =>
    put('audio.outputs', `${10 + i}`, output(10 + i, `sink-${i}`, { label })),
  );
  const { components } = new AnnouncedNode({}, [...WHOLE_NODE, ...records]).message();

  const {
    options,
    value_template: valueTemplate,
    command_template: commandTemplate,
  } = components['default_output'] ?? {};
  // `WHOLE_NODE` has the first two outputs. The id 12 follows the label of the second `Hall`.
  const labelsByName = {
    alsa: 'Living room',
    kitchen: 'Kitchen',
    'sink-0': 'Hall (sink-0)',
    'sink-1': 'Hall',
    'sink-2': 'Hall #12',
    'sink-3': 'Say "}}" \\ %}',
  };
  assert.deepEqual(options, Object.values(labelsByName));
  assert.equal(components['output_sink-2_volume']?.['name'], 'Hall #12 volume');
  const tableIn = (template: unknown) => {
    // A command begins with `{"output"`, which is no table.
    const text = String(template).replace(/^\{"output"/, '');
    // A table is JSON, and `[` follows it: `{"alsa":"Living room"}[value]`.
    return JSON.parse(/\{".*"\}(?=\[)/s.exec(text)?.[0] ?? '');
  };
  const namesByLabel = Object.fromEntries(Object.entries(labelsByName).map(([name, label]) => [label, name]));
  assert.deepEqual(tableIn(valueTemplate), labelsByName);
  assert.deepEqual(tableIn(commandTemplate), namesByLabel);
});

test('the slider of an output has the label of the output, and ends at the volume limit of the output', () => {
  const sliderWith = (changes: object) => {
    const record = put('audio.outputs', '9', output(9, 'dac', { label: 'DAC', ...changes }));
    const { components } = new AnnouncedNode({}, [...WHOLE_NODE, record]).message();
    const { name, max, value_template: valueTemplate } = components['output_dac_volume'] ?? {};
    // The template limits the volume, as in `[PERCENT, 55] | min`.
    const templateMax = /, (\d+)\] \| min/.exec(String(valueTemplate))?.[1];
    return [name, max, templateMax];
  };
  assert.deepEqual(sliderWith({}), ['DAC volume', 100, '100']);
  assert.deepEqual(sliderWith({ label: 'Radio', nick: 'USB' }), ['Radio volume', 100, '100']);
  assert.deepEqual(sliderWith({ label: ' '.repeat(3) }), ['dac volume', 100, '100']);
  // In floating point, 0.55 * 100 is above 55, and 0.57 * 100 is below 57.
  assert.deepEqual(sliderWith({ volume_limit: 0.55 }), ['DAC volume', 55, '55']);
  assert.deepEqual(sliderWith({ volume_limit: 0.57 }), ['DAC volume', 57, '57']);
});

test('an output with the volume limit 0 has a sensor instead of a slider', () => {
  const record = put('audio.outputs', '9', output(9, 'dac', { volume_limit: 0 }));
  const { components } = new AnnouncedNode({}, [...WHOLE_NODE, record]).message();
  const { platform, max, command_topic: command } = components['output_dac_volume'] ?? {};
  assert.deepEqual([platform, max, command], ['sensor', undefined, undefined]);
  assert.equal(components['output_dac_mute']?.['platform'], 'switch');
});

test('if two outputs or cards have the same name, the topic and the label of the later one contain its id', () => {
  // Each label ends with the output's name, because both descriptions are the same (audio/output-labels.ts).
  const outputsOfOneName = [7, 8].map((id) =>
    put('audio.outputs', `${id}`, output(id, 'hall', { description: 'Hall', label: 'Hall (hall)' })),
  );
  const cardsOfOneName = [3, 4].map((id) => put('audio.cards', `${id}`, { ...CARD, id, name: 'card' }));
  const { components } = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    ...outputsOfOneName,
    ...cardsOfOneName,
  ]).message();
  const namesWithTopics = (ending: string) =>
    Object.values(components).flatMap(({ name, state_topic: topic }) =>
      String(name).endsWith(ending) ? [`${name}: ${String(topic).replace('tonearm/living/audio/', '')}`] : [],
    );

  // `#` is written as `%23` in a topic.
  assert.deepEqual(
    namesWithTopics(' volume')
      .filter((line) => line.startsWith('Hall'))
      .sort(),
    ['Hall (hall) #8 volume: outputs/hall %238', 'Hall (hall) volume: outputs/hall'],
  );
  assert.deepEqual(namesWithTopics(' profile'), [
    'HiFi HAT profile: cards/card',
    'HiFi HAT #4 profile: cards/card %234',
  ]);
  const options = ['Living room', 'Kitchen', 'Hall (hall)', 'Hall (hall) #8'];
  assert.deepEqual(components['default_output']?.['options'], options);
  const ids = Object.values(components).map(({ unique_id: id }) => id);
  assert.equal(new Set(ids).size, ids.length, 'each id is unique');
});

test('the names of the slider and the switch of an input contain its description, and also its id if an earlier input has the same description', () => {
  const input = (id: number) =>
    put('audio.inputs', `${id}`, { id, name: 'mike', description: 'Microphone', volume: 0.5, muted: false });
  const inputEntities = (settings: { readonly control: boolean }) =>
    Object.values(new AnnouncedNode(settings, [...WHOLE_NODE, input(4), input(5)]).message().components)
      .filter(({ unique_id: id }) => String(id).includes('_input_'))
      .map(({ platform, name, command_topic: command, state_topic: state }) => {
        const topic = String(state).slice(String(state).indexOf('inputs/'));
        // The ending `, set` stands for a command topic.
        const ending = command === undefined ? '' : ', set';
        return `${platform} ${name}: ${topic}${ending}`;
      });

  assert.deepEqual(inputEntities({ control: true }).sort(), [
    'number Microphone #5 volume: inputs/mike %235, set',
    'number Microphone volume: inputs/mike, set',
    'switch Microphone #5 mute: inputs/mike %235, set',
    'switch Microphone mute: inputs/mike, set',
  ]);
  assert.deepEqual(
    inputEntities({ control: false }).map((entity) => entity.split(' ', 1)[0]),
    ['binary_sensor', 'sensor', 'binary_sensor', 'sensor'],
  );
});

test('if two players or two Bluetooth devices have the same name, their entities have different names', () => {
  const players = ['a', 'b'].map((name) => ({ ...PLAYER, bus_name: `org.mpris.MediaPlayer2.${name}` }));
  const devices = ['AA:BB:CC:DD:EE:01', 'AA:BB:CC:DD:EE:02'].map((address) => ({ address, name: 'Box' }));
  const node = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    health('players', 'up'),
    health('bluetooth', 'up'),
    ...players.map((player) => put('players', player.bus_name, player)),
    put('bluetooth', '', { powered: true, known_devices: devices }),
  ]);
  const names = Object.values(node.message().components).map(({ name }) => String(name));
  assert.equal(new Set(names).size, names.length, `${names}`);
});

test('the profile of a card is chosen by the description of the profile, and a card with one profile offers no choice', () => {
  const node = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    put('audio.cards', '3', CARD),
    put('audio.cards', '4', { ...CARD, id: 4, name: 'usb', profiles: CARD.profiles.slice(0, 1) }),
  ]);
  const { components } = node.message();
  const selects = Object.entries(components).filter(([cardKey]) => cardKey.startsWith('card_'));
  const [first, ...others] = selects;
  assert.deepEqual(others, []);
  const [key, select] = first ?? [];
  assert.match(String(key), /^card_hw_0_/);

  // Two profiles of `CARD` have the description `Music`, so their names follow it.
  const options = ['Off', 'Music (output:stereo)', 'Music (output:mono)'];
  assert.deepEqual(select?.['options'], options);
  assert.deepEqual([select?.['name'], select?.['entity_category']], ['HiFi HAT profile', 'config']);
  assert.equal(select?.['command_topic'], `${select?.['state_topic']}/set`);
  assert.match(String(select?.['state_topic']), /\/audio\/cards\/hw%2F0$/);
});

test('Bluetooth has two switches and a button, and each known device has two sensors and a switch', () => {
  const device = { address: 'AA:BB:CC:DD:EE:FF', name: 'Phone', connected: true };
  const record = { powered: true, known_devices: [device] };
  const records = [...WHOLE_NODE, health('bluetooth', 'up'), put('bluetooth', '', record)];
  const bluetoothEntities = (node: AnnouncedNode) =>
    Object.entries(node.message().components)
      .filter(([key]) => key.startsWith('bluetooth'))
      .map(([key, { platform, name }]) => `${key}: ${platform} ${name}`);
  const deviceKey = 'bluetooth_AABBCCDDEEFF';

  assert.deepEqual(bluetoothEntities(new AnnouncedNode({}, records)), [
    'bluetooth: switch Bluetooth',
    `${deviceKey}: switch Connect Phone`,
    `${deviceKey}_battery: sensor Phone battery`,
    `${deviceKey}_connected: binary_sensor Phone`,
    'bluetooth_pairing: switch Bluetooth pairing',
    'bluetooth_scan: button Bluetooth scan',
  ]);

  const readOnly = bluetoothEntities(new AnnouncedNode({ control: false }, records));
  assert.deepEqual(readOnly, [
    'bluetooth: binary_sensor Bluetooth',
    `${deviceKey}_battery: sensor Phone battery`,
    `${deviceKey}_connected: binary_sensor Phone`,
    'bluetooth_pairing: binary_sensor Bluetooth pairing',
  ]);

  const { components } = new AnnouncedNode({}, records).message();
  assert.equal(components[deviceKey]?.['payload_on'], '{"connect":"AA:BB:CC:DD:EE:FF"}');
  const nodeWithoutDevice = new AnnouncedNode({}, records).publishRecords(
    put('bluetooth', '', { ...record, known_devices: [] }),
  );
  assert.equal(bluetoothEntities(nodeWithoutDevice).length, 3, 'the entities of the device are removed');
});

test('the default output has a mute switch, and a slider that ends at the limit of the output that is the default now', () => {
  const kitchen = put('audio.outputs', '2', output(2, 'kitchen', { volume_limit: 0.6 }));
  const node = new AnnouncedNode({}, [...WHOLE_NODE, kitchen]);
  const sliderMax = () => node.message().components['default_output_volume']?.['max'];
  assert.equal(sliderMax(), 100);

  node.publishRecords(
    put('audio.server', '', { kind: 'pulseaudio', default_sink: 'kitchen', volume: 0.4, muted: false }),
  );
  assert.equal(sliderMax(), 60);
  const { default_output_mute: mute } = node.message().components;
  assert.deepEqual(
    [mute?.['platform'], mute?.['command_topic']],
    ['switch', 'tonearm/living/audio/server/set'],
  );
});

test('a player has a state, a cover, a volume, a shuffle switch, and four buttons', () => {
  // The topics of `PLAYER` have this name. The keys of its entities have `mpv` instead.
  const playerName = 'mpv.instance-1';
  const records = [...WHOLE_NODE, health('players', 'up'), put('players', PLAYER.bus_name, PLAYER)];
  const playerEntities = (settings: { readonly control: boolean }) => {
    const { components } = new AnnouncedNode(settings, records).message();
    return Object.entries(components).filter(([key]) => key.startsWith('player_'));
  };
  const kindsOfEntities = (settings: { readonly control: boolean }) =>
    playerEntities(settings).map(([key, { platform }]) => `${key.slice('player_mpv_'.length)} ${platform}`);
  assert.deepEqual(kindsOfEntities({ control: true }), [
    'cover image',
    'next button',
    'play_pause button',
    'previous button',
    'shuffle switch',
    'state sensor',
    'stop button',
    'volume number',
  ]);
  const readOnly = ['cover image', 'shuffle binary_sensor', 'state sensor', 'volume sensor'];
  assert.deepEqual(kindsOfEntities({ control: false }), readOnly);

  const entities = Object.fromEntries(playerEntities({ control: true }));
  const { player_mpv_cover: cover, player_mpv_shuffle: shuffle } = entities;
  assert.equal(cover?.['url_topic'], `tonearm/living/players/${playerName}`);
  assert.equal(cover?.['url_template'], `http://living.local:8018/players/${playerName}/cover`);
  assert.equal(shuffle?.['payload_on'], '{"shuffle": true}');
});

test('a node has a button that checks for upgrades only if a check can run, and if the node takes commands', () => {
  const buttonPayload = ({ canCheck, control = true }: { canCheck: boolean; control?: boolean }) => {
    const record = { current: '', latest: '', run: { state: 'idle' }, can_check: canCheck };
    const upgrade = put('upgrade', '', { ...record, can_upgrade: false, upgrade_available: false });
    const { components } = new AnnouncedNode({ control }, [...WHOLE_NODE, upgrade]).message();
    return components['update_check']?.['payload_press'];
  };
  assert.equal(buttonPayload({ canCheck: true }), 'check');
  assert.equal(buttonPayload({ canCheck: false }), undefined);
  assert.equal(buttonPayload({ canCheck: true, control: false }), undefined, 'a node that takes no commands');
});

const LOOPBACK = { address: '127.0.0.1', family: 'IPv4', internal: true } as const;
const LINK_LOCAL_IPV4 = { address: '169.254.7.7', family: 'IPv4', internal: false } as const;
const LINK_LOCAL_IPV6 = { address: 'fe80::1', family: 'IPv6', internal: false, scopeid: 2 } as const;
const HOUSE_IPV6 = { address: 'fd00::5', family: 'IPv6', internal: false, scopeid: 0 } as const;
const HOUSE_IPV4 = { address: '192.168.1.5', family: 'IPv4', internal: false } as const;
const OTHER_FIELDS = { netmask: '', mac: '', cidr: null };

test('the device has the hardware address of the first interface that has one', () => {
  const interfaceAddress = (mac: string) => ({ ...HOUSE_IPV4, ...OTHER_FIELDS, mac });
  const noMac = '00:00:00:00:00:00';
  const interfaces = {
    lo: [{ ...interfaceAddress(noMac), internal: true }],
    wg0: [interfaceAddress(noMac)],
    eth0: [interfaceAddress('aa:01')],
    eth1: [interfaceAddress('aa:02')],
  };
  const { device } = new AnnouncedNode({}, WHOLE_NODE, interfaces).message();
  assert.deepEqual(device['connections'], [['mac', 'aa:01']]);
  // By default an `AnnouncedNode` has no interfaces.
  assert.equal(new AnnouncedNode().message().device['connections'], undefined);
});

// The URL has an IP address, preferably of IPv4. If other machines cannot reach the node at any address, or
// reach it only at a link-local address, the URL has the node's name instead.
for (const [listening, eth0Addresses, url] of [
  [['127.0.0.1'], [HOUSE_IPV4], 'http://living.local:8018/ui'],
  [['127.0.0.1', '192.168.1.5'], [HOUSE_IPV4], 'http://192.168.1.5:8018/ui'],
  [['::'], [LINK_LOCAL_IPV4, LINK_LOCAL_IPV6, HOUSE_IPV6, HOUSE_IPV4], 'http://192.168.1.5:8018/ui'],
  [['0.0.0.0'], [HOUSE_IPV6, HOUSE_IPV4], 'http://192.168.1.5:8018/ui'],
  [['0.0.0.0'], [HOUSE_IPV6], 'http://living.local:8018/ui'],
  [['fd00::5'], [LINK_LOCAL_IPV6, HOUSE_IPV6], 'http://[fd00::5]:8018/ui'],
  [['::'], [LINK_LOCAL_IPV4, LINK_LOCAL_IPV6], 'http://living.local:8018/ui'],
] as const) {
  const ownAddresses = eth0Addresses.map(({ address }) => address);
  test(`a node that listens at ${listening}, and has the addresses ${ownAddresses}, links to ${url}`, () => {
    const eth0 = eth0Addresses.map((address) => ({ ...address, ...OTHER_FIELDS }));
    const interfaces: InterfaceAddresses = { lo: [{ ...LOOPBACK, ...OTHER_FIELDS }], eth0 };
    const served = put('served', '', { port: 8018, addresses: listening });
    const node = new AnnouncedNode({}, WHOLE_NODE, interfaces).publishRecords(served);
    assert.equal(node.message().device['configuration_url'], url);
  });
}

/**
 * The keys of players, by the names of the players. Blanks separate several names or keys. HASH stands for
 * eight hexadecimal digits. They are added to a key if a character of the name was replaced. In the last row,
 * `vlc.instance7` is the second player with the name `vlc`, so its key is made from `vlc 2`.
 */
const KEYS_BY_NAMES: Readonly<Record<string, string>> = {
  vlc: 'vlc',
  'vlc.instance12345': 'vlc',
  'firefox.instance_1_84': 'firefox',
  'ShairportSync.i4711': 'ShairportSync',
  'io.github.Celluloid.instance-1': 'io_github_Celluloid_HASH',
  'mpv.instances radio.i': 'mpv_instances_HASH radio_i_HASH',
  'vlc vlc_2 vlc.instance7': 'vlc vlc_2 vlc_2_HASH',
};
for (const [playerNames, keys] of Object.entries(KEYS_BY_NAMES)) {
  test(`the players ${playerNames} have the keys ${keys}`, () => {
    const names = playerNames.split(' ');
    const players = names.map((name) => ({ ...PLAYER, bus_name: `org.mpris.MediaPlayer2.${name}` }));
    const records = players.map((player) => put('players', player.bus_name, player));
    const { components } = new AnnouncedNode({}, [
      ...WHOLE_NODE,
      health('players', 'up'),
      ...records,
    ]).message();
    const keysOf = (name: string) =>
      Object.entries(components).flatMap(([key, { state_topic: topic }]) => {
        if (topic !== `tonearm/living/players/${name}`) return [];
        // The entity `player_vlc_state` has the player's key `vlc`.
        const playerKey = /^player_(.*)_state$/.exec(key)?.[1] ?? '';
        return playerKey === '' ? [] : playerKey.replace(/_[0-9a-f]{8}$/, '_HASH');
      });
    assert.equal(names.flatMap(keysOf).join(' '), keys);
  });
}
