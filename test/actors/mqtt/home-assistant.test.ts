// Home Assistant's device message: that which a real Home Assistant took (with templates that have been rendered by Jinja2 since), the
// rules for any other, and how entities come and go.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Branch } from '../../../src/actors/mqtt/branch.js';
import { OwnTopics } from '../../../src/actors/mqtt/own-topics.js';
import type { InterfaceAddresses } from '../../../src/actors/mqtt/reach.js';
import type { Notice } from '../../../src/protocol/actor/messages.js';
import { VERSION } from '../../../src/version.js';
import { faultsOf } from '../../broker/home-assistant-rules.js';
import { drop, health, output, put, SERVER, service, WHOLE_NODE } from '../../broker/simulated-node.js';

const TRIED = new URL('../../../../test/golden/homeassistant-device.json', import.meta.url);

type Message = { device: Record<string, unknown>; components: Record<string, Record<string, unknown>> };

interface Settings {
  readonly control?: boolean;
  readonly homeAssistant?: boolean;
  readonly topic?: string;
}

class Node {
  readonly branch = new Branch({
    touched: () => undefined,
    membersTouched: () => undefined,
    stateChanged: () => undefined,
  });
  readonly topics: OwnTopics;

  constructor(
    { control = true, homeAssistant = true, topic = 'tonearm/living' }: Settings = {},
    told = WHOLE_NODE,
    interfaces: InterfaceAddresses = {},
  ) {
    const settings = { topic, control, homeAssistant, homeAssistantPrefix: 'homeassistant' };
    this.topics = new OwnTopics(settings, '0123456789abcdef', this.branch, () => interfaces);
    this.branch.hear({ isWhole: true, notices: told });
    this.branch.answered('server', JSON.stringify(SERVER));
    this.branch.answered('power', '{"reboot":true,"power_off":false}');
  }

  tell(...notices: readonly Notice[]): this {
    this.branch.hear({ isWhole: false, notices });
    return this;
  }

  text(held = ''): string {
    return this.topics.wanted(this.topics.device, () => held) ?? assert.fail('there is no message');
  }

  message(held = ''): Message {
    return JSON.parse(this.text(held));
  }

  /** What is published one after the other until it is what the broker holds. */
  sequence(held: string): readonly string[] {
    const next = this.text(held);
    return next === held ? [] : [next, ...this.sequence(next)];
  }
}

test('the message is that which a real Home Assistant took', () => {
  const tried = JSON.parse(readFileSync(TRIED, 'utf8')) as Message;
  const made = new Node().message();
  assert.deepEqual(made.device, { ...tried.device, sw_version: VERSION });
  // A key says no more than its unique id does.
  const byId = (components: Message['components']) =>
    Object.fromEntries(Object.values(components).map((each) => [each['unique_id'], each]));
  const ours = byId(made.components);
  for (const [id, component] of Object.entries(byId(tried.components)))
    assert.deepEqual(ours[id], component, id);
});

const PLAYER = {
  bus_name: 'org.mpris.MediaPlayer2.mpv.instance-1',
  ...{ identity: 'mpv', playback_status: 'Playing', position_updated_at: '', tracklist_supported: false },
  capabilities: {},
};

/** Whose last character has its first half at the end of what is shown. */
const CUT = `${'x'.repeat(99)}🎵`;

const EVERYTHING: readonly Notice[] = [
  ...WHOLE_NODE,
  health('players', 'up'),
  put('players', PLAYER.bus_name, { ...PLAYER, identity: CUT }),
  ...[CUT, '\ud83c', ''].map((description, i) =>
    put('audio.outputs', `${20 + i}`, output(20 + i, `named-${i}`, { description })),
  ),
  ...['a/b', 'a+b', 'a b', 'a.b', '🎵', 'x'.repeat(4096)].map((name, i) =>
    put('audio.outputs', `${10 + i}`, output(10 + i, name)),
  ),
  put('systemd.services', 'user/player@kitchen.service', service('user', 'player@kitchen.service')),
  put('systemd.services', 'system/mpd.service', service('system', 'mpd.service')),
  put('systemd.services', 'user/mpd.timer', service('user', 'mpd.timer')),
];

for (const [what, settings] of [
  ['all of a node', {}],
  ['a node that takes no commands', { control: false }],
] as const) {
  test(`${what} is valid by the rules`, () => {
    assert.deepEqual(faultsOf(new Node(settings, EVERYTHING).text()), []);
  });
}

test('the rules find what is wrong', () => {
  const { device, components } = new Node().message();
  const wrong = (component: object): readonly string[] =>
    faultsOf(JSON.stringify({ device, origin: { name: 'x' }, components: { a: component } }));
  assert.notDeepEqual(wrong({ platform: 'media_player', unique_id: 'x' }), []);
  assert.notDeepEqual(wrong({ platform: 'number', unique_id: 'x', max: 1 }), []);
  assert.notDeepEqual(wrong({ ...components['default_output'], options: [] }), []);
  assert.notDeepEqual(wrong({ ...components['reboot'], command_topic: 'a/#' }), []);
  assert.notDeepEqual(wrong({ ...components['reboot'], unique_id: undefined }), []);
  assert.notDeepEqual(faultsOf(JSON.stringify({ device: {}, components })), []);
});

test('the rules know each setting of each entity, and miss what an entity needs', () => {
  const { device, components } = new Node({}, EVERYTHING).message();
  const faults = (key: string, component: object): readonly string[] =>
    faultsOf(JSON.stringify({ device, origin: { name: 'x' }, components: { [key]: component } }));
  for (const [key, component] of Object.entries(components)) {
    assert.deepEqual(faults(key, component), []);
    for (const name of Object.keys(component)) {
      assert.notDeepEqual(faults(key, { ...component, [name]: {} }), [], `${key}: a wrong ${name}`);
    }
    const { unique_id: _id, ...nameless } = component;
    assert.notDeepEqual(faults(key, nameless), [], key);
    const { command_topic: _command, state_topic: _state, ...deaf } = component;
    assert.notDeepEqual(faults(key, deaf), [], key);
  }
});

test('a node that takes no commands offers none', () => {
  const { components } = new Node({ control: false }, EVERYTHING).message();
  for (const [key, component] of Object.entries(components))
    assert.equal(component['command_topic'], undefined, key);
});

test('keys and unique ids do not depend on the name or the topic of the node', () => {
  const ids = (node: Node) =>
    Object.entries(node.message().components).map(([key, { unique_id: id }]) => [key, id]);
  const moved = new Node({ topic: 'elsewhere' });
  moved.branch.answered('server', JSON.stringify({ ...SERVER, hostname: 'renamed.example.org' }));
  assert.deepEqual(ids(moved), ids(new Node()));
  assert.equal(moved.message().device['configuration_url'], 'http://renamed.example.org:8018/ui');
});

test('an entity that is gone leaves by its platform alone, once; then it is omitted', () => {
  const node = new Node();
  const held = node.text();
  node.tell(drop('audio.outputs', '2'));
  const [first = '', second = '', ...more] = node.sequence(held);
  assert.deepEqual(more, []);
  const leaving = JSON.parse(first).components;
  assert.deepEqual(leaving.output_kitchen_volume, { platform: 'number' });
  assert.deepEqual(leaving.output_kitchen_mute, { platform: 'switch' });
  assert.deepEqual(leaving.default_output.options, ['Living room']);
  const { components } = JSON.parse(second) as Message;
  assert.equal(components['output_kitchen_volume'], undefined);
  assert.ok(components['output_alsa_volume']);
});

test('what came and went while the daemon was away leaves just so', () => {
  const held = new Node().text();
  const later = new Node(
    {},
    WHOLE_NODE.filter((each) => !('key' in each && each.key === 'user/mpd.service')),
  );
  const [first = ''] = later.sequence(held);
  assert.deepEqual(JSON.parse(first).components.unit_user_mpd_service, { platform: 'switch' });
  assert.equal(later.sequence(held).length, 2);
});

test('an entity whose platform changes leaves before it comes', () => {
  const held = new Node({ control: false }).text();
  const [first = '', second = '', ...more] = new Node().sequence(held);
  assert.deepEqual(JSON.parse(first).components.output_alsa_volume, { platform: 'sensor' });
  assert.equal(JSON.parse(second).components.output_alsa_volume.platform, 'number');
  assert.deepEqual(more, []);
});

test('the entities of a backend that is not up stay', () => {
  const node = new Node();
  const held = node.text();
  node.tell({ kind: 'forget', backend: 'audio' }, health('audio', 'connecting'));
  assert.deepEqual(node.sequence(held), []);
});

test('without mqtt.homeAssistant there is nothing', () => {
  assert.equal(new Node({ homeAssistant: false }).text('whatever is there'), '');
});

test('rubbish that is retained there is overwritten', () => {
  for (const held of ['x', '[]', '{"components": 1}', '{"components": {"a": null}}', 'null']) {
    assert.deepEqual(faultsOf(new Node().text(held)), [], held);
  }
});

test("an entity leaves also a message that is larger than what is read of a broker's", () => {
  const many = Array.from({ length: 200 }, (_, i) =>
    put('systemd.services', `user/${i}.service`, service('user', `${i}.service`)),
  );
  const node = new Node({}, [...WHOLE_NODE, ...many]);
  const held = node.text();
  assert.ok(held.length > 65_536);
  node.tell(drop('systemd.services', 'user/7.service'));
  const [first = ''] = node.sequence(held);
  assert.deepEqual(JSON.parse(first).components.unit_user_7_service, { platform: 'switch' });
});

test('the default output is chosen by the names that volumes show, and each has one of its own', () => {
  const told = ['Hall', 'Hall', '', 'Say "}}" \\ %}'].map((description, i) =>
    put('audio.outputs', `${10 + i}`, output(10 + i, `sink-${i}`, { description })),
  );
  const { components } = new Node({}, [...WHOLE_NODE, ...told]).message();
  const { options, value_template: shows, command_template: sets } = components['default_output'] ?? {};
  const labels = ['Living room', 'Kitchen', 'Hall (sink-0)', 'Hall (sink-1)', 'sink-2', 'Say "}}" \\ %}'];
  assert.deepEqual(options, labels);
  assert.equal(components['output_sink-2_volume']?.['name'], 'sink-2 volume');
  const tableIn = (template: unknown) =>
    JSON.parse(/\{".*"\}(?=\[)/s.exec(String(template).slice(9))?.[0] ?? '');
  const names = ['alsa', 'kitchen', 'sink-0', 'sink-1', 'sink-2', 'sink-3'];
  assert.deepEqual(tableIn(shows), Object.fromEntries(names.map((name, i) => [name, labels[i]])));
  assert.deepEqual(tableIn(sets), Object.fromEntries(names.map((name, i) => [labels[i], name])));
});

test('backends are called what they are called', () => {
  const { components } = new Node().message();
  const names = ['audio', 'systemd', 'mqtt'].map((child) => components[`backend_${child}`]?.['name']);
  assert.deepEqual(names, ['Audio backend', 'systemd backend', 'MQTT backend']);
});

const LOOPBACK = { address: '127.0.0.1', family: 'IPv4', internal: true } as const;
const AUTOMATIC = { address: '169.254.7.7', family: 'IPv4', internal: false } as const;
const LOCAL = { address: 'fe80::1', family: 'IPv6', internal: false, scopeid: 2 } as const;
const GLOBAL = { address: 'fd00::5', family: 'IPv6', internal: false, scopeid: 0 } as const;
const HOUSE = { address: '192.168.1.5', family: 'IPv4', internal: false } as const;
const more = { netmask: '', mac: '', cidr: null };

for (const [addresses, found, url] of [
  [['127.0.0.1'], [HOUSE], 'http://living.local:8018/ui'],
  [['127.0.0.1', '192.168.1.5'], [HOUSE], 'http://192.168.1.5:8018/ui'],
  [['::'], [AUTOMATIC, LOCAL, GLOBAL, HOUSE], 'http://192.168.1.5:8018/ui'],
  [['0.0.0.0'], [GLOBAL, HOUSE], 'http://192.168.1.5:8018/ui'],
  [['0.0.0.0'], [GLOBAL], 'http://living.local:8018/ui'],
  [['fd00::5'], [LOCAL, GLOBAL], 'http://[fd00::5]:8018/ui'],
  [['::'], [AUTOMATIC, LOCAL], 'http://living.local:8018/ui'],
] as const) {
  test(`listening on ${addresses}, with ${found.map(({ address }) => address)}: ${url}`, () => {
    const interfaces: InterfaceAddresses = {
      lo: [{ ...LOOPBACK, ...more }],
      eth0: found.map((each) => ({ ...each, ...more })),
    };
    const node = new Node({}, WHOLE_NODE, interfaces).tell({ kind: 'served', port: 8018, addresses });
    assert.equal(node.message().device['configuration_url'], url);
  });
}
