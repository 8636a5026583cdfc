// Tests which topics must be published now, and in which order. The device message describes the node and its
// entities to Home Assistant. It must come before every text that Home Assistant cannot use without it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InterfaceAddresses } from '../../../src/host/own-addresses.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { AnnouncedNode, PLAYER } from '../../broker/announced-node.js';
import { CARD, drop, health, output, put, service, WHOLE_NODE } from '../../broker/simulated-node.js';

const BRANCH = 'tonearm/living';
/** The topic of output 2 of `WHOLE_NODE` (simulated-node.ts). Output 1, `alsa`, is the default output. */
const KITCHEN = `${BRANCH}/audio/outputs/kitchen`;

const acceptsAll = (): boolean => true;

/** A node after its first publications. The broker retains all topics of the node. */
function publishedNode({ homeAssistant = false } = {}): AnnouncedNode {
  const node = new AnnouncedNode({ homeAssistant });
  publishInRounds(node);
  return node;
}

/** The relative topics that are published next, each with the first ten characters of its text. */
const nextPublications = ({ topics }: AnnouncedNode) => {
  const { publications } = topics.differences(acceptsAll);
  return publications.map(({ topic, text }) => `${topic.slice(BRANCH.length + 1)}=${text.slice(0, 10)}`);
};

test('topics that are out of date at the start of a connection are published, and the topics of removed records are emptied', () => {
  const node = publishedNode();
  const retained = ['status', 'audio/outputs/gone', 'players/gone', 'audio/outputs/x/set', 'what', 'error'];
  node.topics.beginConnection(
    new Map(retained.map((relativeTopic) => [`${BRANCH}/${relativeTopic}`, 'online'])),
  );

  const publications = nextPublications(node);
  assert.ok(publications.includes('audio/outputs/kitchen={"id":2,"n'));
  assert.ok(!publications.some((line) => line.startsWith('status')));
  assert.deepEqual(
    publications.filter((line) => line.endsWith('=')),
    ['audio/outputs/gone=', 'players/gone='],
    'other retained topics stay: each may be a command, or belong to another program',
  );
});

test('the status is published again at the start of a connection if the retained claim of the branch is a leftover', () => {
  const node = publishedNode();
  const { statusTopic, nodeTopic, identifier } = node.topics;
  const retained = new Map([
    [nodeTopic, identifier],
    [statusTopic, 'online'],
  ]);
  const otherDeviceOwner = undefined;
  // The broker still retains an earlier claim of the branch, but no owner has answered the probe's question.
  // Another node may have sent the same question meanwhile. That node waits for our status as the answer.
  const isLeftover = true;
  node.topics.beginConnection(retained, otherDeviceOwner, isLeftover);
  assert.ok(nextPublications(node).includes('status=online'));
});

test('the device message of the node that had the branch before is emptied at each connection while the broker retains it', () => {
  const node = new AnnouncedNode();
  const { topics } = node;
  const formerIdentifier = '00000000000000aa';
  const formerTopic = topics.otherDeviceTopic(formerIdentifier) ?? assert.fail('there is no topic');
  const retainedFormerDevice = [formerTopic, node.text()] as const;
  const isFormerTopicEmptied = (): boolean =>
    topics.differences(acceptsAll).publications.some(({ topic }) => topic === formerTopic);
  topics.beginConnection(new Map([[topics.nodeTopic, formerIdentifier], retainedFormerDevice]));
  assert.ok(isFormerTopicEmptied());

  // This node has claimed the branch, so the topic `node` has this node's identifier now. The connection ends
  // before `formerTopic` is emptied, so this node still remembers `formerTopic`.
  assert.equal(topics.otherDeviceTopic(topics.identifier), formerTopic);
  topics.beginConnection(new Map([[topics.nodeTopic, topics.identifier], retainedFormerDevice]));
  assert.ok(isFormerTopicEmptied());

  topics.beginConnection(new Map([[topics.nodeTopic, topics.identifier]]));
  assert.equal(topics.otherDeviceTopic(topics.identifier), undefined);
  assert.ok(!isFormerTopicEmptied());
});

test('the topics of a backend stay retained while the backend is not up', () => {
  const node = publishedNode().publishRecords(health('audio', 'connecting'), drop('audio.outputs', '1'));
  const topics = nextPublications(node).map((line) => line.split('=')[0]);
  assert.deepEqual(topics, ['backends']);
});

test('`republish` causes exactly one further publication, although the broker retains the text already', () => {
  const node = publishedNode();
  node.topics.republish(node.topics.statusTopic);
  assert.deepEqual(nextPublications(node), ['status=online']);
  assert.deepEqual(nextPublications(node), []);
});

test('the topic `upgrade` has the member `extra` only if the text is short enough', () => {
  // The limit is 64 KiB (`UPGRADE_MAX_BYTES` in branch.ts).
  for (const [extraChars, isKept] of [
    [60_000, true],
    [70_000, false],
  ] as const) {
    const members = { current: '1', latest: '2', upgrade_available: true, run: { state: 'idle' } };
    const extra = { packages: 'x'.repeat(extraChars) };
    const node = new AnnouncedNode().publishRecords(
      health('upgrade', 'up'),
      put('upgrade', '', { ...members, extra }),
    );
    const { publications } = node.topics.differences(acceptsAll);
    const text = publications.find(({ topic }) => topic === `${BRANCH}/upgrade`)?.text ?? '';
    assert.deepEqual(JSON.parse(text), isKept ? { ...members, extra } : members);
  }
});

test('a device message that is too large is reported, its topic is not emptied, and no removal waits for it', () => {
  const node = new AnnouncedNode();
  const { deviceTopic } = node.topics;
  const retained = new Map([
    [KITCHEN, 'obsolete'],
    [deviceTopic, node.text()],
  ]);
  node.topics.beginConnection(retained);
  node.publishRecords(drop('audio.outputs', '2'));
  const accepts = (topic: string): boolean => topic !== `${BRANCH}/audio/server` && topic !== deviceTopic;
  const { publications, tooLarge } = node.topics.differences(accepts);
  assert.deepEqual(tooLarge, [deviceTopic, `${BRANCH}/audio/server`]);
  const emptiedTopics = publications.filter(({ text }) => text === '').map(({ topic }) => topic);
  assert.deepEqual(emptiedTopics, [KITCHEN]);
});

test('a topic that is too long is not published, and is reported', () => {
  const node = publishedNode();
  const name = 'x'.repeat(65_000);
  node.publishRecords(put('audio.outputs', '9', output(9, name)));
  const { publications, tooLong } = node.topics.differences(acceptsAll);
  assert.deepEqual([publications, tooLong], [[], [`${BRANCH}/audio/outputs/${name}`]]);
  node.publishRecords(drop('audio.outputs', '9'));
  assert.deepEqual(node.topics.differences(acceptsAll).tooLong, []);
});

const defaultOutput = (name: string) =>
  put('audio.server', '', { kind: 'pulseaudio', default_sink: name, volume: 0.42, muted: false });

/**
 * Applies the changes, and publishes until nothing is out of date. Returns a line for each round, with the
 * topics of the round. In the line, `no TOPIC` is a topic that is emptied. `device: OUTPUTS` is the device
 * message, with the outputs that it offers as default output.
 */
function publishInRounds(node: AnnouncedNode, ...changes: readonly Change[]): readonly string[] {
  node.publishRecords(...changes);
  const rounds: string[] = [];
  for (;;) {
    const { publications } = node.topics.differences(acceptsAll);
    if (publications.length === 0) return rounds;
    const descriptions = publications.map(({ topic, text }) => {
      if (topic !== node.topics.deviceTopic)
        return `${text === '' ? 'no ' : ''}${node.topics.relativeTopic(topic)}`;
      return `device: ${JSON.parse(text).components.default_output.options}`;
    });
    rounds.push(descriptions.join('; '));
    for (const publication of publications) node.topics.acknowledged(publication);
  }
}

test('the device message comes before the removal of an output, and before a default output that has returned', () => {
  const node = publishedNode({ homeAssistant: true });
  // The first device message removes the entities of the output: it has only their `platform`. The topic of
  // the output is emptied after that. The second device message omits these entities (home-assistant.ts).
  // Home Assistant must receive `audio/server` once more, because the first message also changes the options
  // of the default output.
  const afterDrop = ['device: Living room', 'audio/server; no audio/outputs/kitchen; device: Living room'];
  assert.deepEqual(publishInRounds(node, drop('audio.outputs', '2')), afterDrop);

  const returningKitchen = put('audio.outputs', '3', output(3, 'kitchen', { description: 'Kitchen' }));
  const afterReturn = ['audio/outputs/kitchen; device: Living room,Kitchen', 'audio/server'];
  assert.deepEqual(publishInRounds(node, returningKitchen, defaultOutput('kitchen')), afterReturn);
});

test('a device message that was deleted is published again only with mqtt.homeAssistant', () => {
  for (const homeAssistant of [true, false]) {
    const node = publishedNode({ homeAssistant });
    assert.ok(node.topics.receiveDevice(''));
    const rounds = homeAssistant ? ['device: Living room,Kitchen'] : [];
    assert.deepEqual(publishInRounds(node), rounds);
  }
});

test('a device message that was deleted while it was under way is published once more', () => {
  const node = publishedNode({ homeAssistant: true });
  node.topics.receiveDevice('');
  const { publications } = node.topics.differences(acceptsAll);
  node.topics.receiveDevice('');
  for (const publication of publications) node.topics.acknowledged(publication);
  assert.deepEqual(publishInRounds(node), ['device: Living room,Kitchen']);
  assert.deepEqual(publishInRounds(node), []);
});

test('a device message that was deleted is published again only by the node that owns the device', () => {
  const node = publishedNode({ homeAssistant: true });
  const clone = new AnnouncedNode({ topic: 'tonearm/clone' });
  node.topics.receiveDevice(clone.text());
  node.topics.receiveDevice('');
  assert.deepEqual(publishInRounds(node), []);
  assert.equal(node.topics.otherDeviceOwner, 'tonearm/clone');

  node.topics.claimDevice();
  assert.deepEqual(publishInRounds(node), ['device: Living room,Kitchen']);
});

test('if a reload disables a backend, its topics are emptied, and its entities are removed', () => {
  const node = publishedNode({ homeAssistant: true });
  const rounds = publishInRounds(node, drop('backends', 'upgrade'), drop('backends', 'power'));
  // The first device message has only the `platform` of the removed entities.
  const device = 'device: Living room,Kitchen';
  assert.deepEqual(rounds, [`backends; no power; ${device}`, `no upgrade; ${device}`]);
  const backends = JSON.parse(node.branch.texts().get('backends') ?? '');
  assert.deepEqual(Object.keys(backends).sort(), ['audio', 'mqtt', 'systemd']);
  const entities = Object.keys(node.message().components);
  const entitiesOfDisabled = entities.filter((key) =>
    /^(?:update|reboot|backend_(?:upgrade|power))/.test(key),
  );
  assert.deepEqual(entitiesOfDisabled, []);
});

test('no topic waits for a device message that the broker refuses', () => {
  const node = publishedNode({ homeAssistant: true });
  node.topics.addRefusal(node.topics.deviceTopic, 'Not authorized');
  node.publishRecords(put('audio.outputs', '3', output(3, 'porch')), defaultOutput('porch'));
  assert.deepEqual(nextPublications(node), ['audio/server={"kind":"p', 'audio/outputs/porch={"id":3,"n']);

  node.topics.forgetRefusals();
  const publications = nextPublications(node);
  assert.ok(publications.includes('audio/outputs/porch={"id":3,"n'));
  assert.ok(!publications.some((line) => line.startsWith('audio/server')), 'the default output waits again');
});

test('`audio/server` does not wait for a device message if no output is the default output', () => {
  const roundsOf = (homeAssistant: boolean) =>
    publishInRounds(publishedNode({ homeAssistant }), defaultOutput('nosuch'), drop('audio.outputs', '2'));
  // The second round repeats `audio/server`, because the device message has changed the options of the
  // default output.
  const expected = [
    'audio/server; device: Living room',
    'audio/server; no audio/outputs/kitchen; device: Living room',
  ];
  assert.deepEqual(roundsOf(true), expected);
  assert.deepEqual(roundsOf(false), ['audio/server; no audio/outputs/kitchen']);
});

test('`audio/server` is published again after the device message if an output was renamed', () => {
  const node = publishedNode({ homeAssistant: true });
  const renamed = (id: number, name: string, description: string) =>
    put('audio.outputs', `${id}`, output(id, name, { description }));
  const roundsOfAlsa = ['audio/outputs/alsa; device: Parlour,Kitchen', 'audio/server'];
  assert.deepEqual(publishInRounds(node, renamed(1, 'alsa', 'Parlour')), roundsOfAlsa);

  const roundsOfKitchen = ['audio/outputs/kitchen; device: Parlour,Larder', 'audio/server'];
  assert.deepEqual(publishInRounds(node, renamed(2, 'kitchen', 'Larder')), roundsOfKitchen);
});

test('`audio/server` is published again after a device message that gives the slider of the default output another maximum', () => {
  const node = publishedNode({ homeAssistant: true });
  publishInRounds(node, put('audio.outputs', '1', output(1, 'alsa', { volume_limit: 0.4 })));
  // `kitchen` has no volume limit, so the slider gets another maximum. The first round has the device
  // message.
  const [, ...later] = publishInRounds(node, defaultOutput('kitchen'));
  assert.deepEqual(later, ['audio/server']);
});

test('the topic of a card is published again after a device message that changes the description of a profile', () => {
  const node = publishedNode({ homeAssistant: true });
  publishInRounds(node, put('audio.cards', '3', CARD));
  const profiles = CARD.profiles.map((profile) => ({ ...profile, description: profile.name }));
  const [, ...later] = publishInRounds(node, put('audio.cards', '3', { ...CARD, profiles }));
  assert.deepEqual(later, ['audio/cards/hw%2F0']);
});

const ETH0 = { address: '192.168.1.5', family: 'IPv4', internal: false, netmask: '', cidr: null } as const;
const WITH_PLAYER = [...WHOLE_NODE, health('players', 'up'), put('players', PLAYER.bus_name, PLAYER)];
const PLAYER_TOPIC = 'players/mpv.instance-1';

test('a player is published again after a device message with another hardware address, because Home Assistant forgets the cover of the player', () => {
  const interfaces: Record<string, InterfaceAddresses[string]> = {};
  const node = new AnnouncedNode({}, WITH_PLAYER, interfaces);
  publishInRounds(node);
  interfaces['eth0'] = [{ ...ETH0, mac: 'aa:01' }];
  node.topics.rebuildDeviceLater();
  assert.deepEqual(publishInRounds(node), ['device: Living room,Kitchen', PLAYER_TOPIC]);
});

for (const unitCount of [0, 200]) {
  test(`an upgraded node with ${unitCount} more units publishes its players again after the device message`, () => {
    const units = Array.from({ length: unitCount }, (_, index) =>
      put('systemd.services', `user/${index}.service`, service('user', `${index}.service`)),
    );
    const records = [...WITH_PLAYER, ...units];
    const nodeBefore = new AnnouncedNode({}, records);
    // With 200 units the text is too large to be parsed (`JSON_MAX_BYTES` in topics.ts).
    const textBefore = nodeBefore.text().replaceAll(/"sw_version":"[^"]*"/g, '"sw_version":"0.0.1"');
    assert.equal(textBefore.length > 65_536, unitCount === 200);

    const node = new AnnouncedNode({}, records);
    node.topics.beginConnection(new Map([[node.topics.deviceTopic, textBefore]]));
    const [first = '', second = '', ...more] = publishInRounds(node);
    assert.match(first, /; device: /);
    assert.ok(second.split('; ').includes(PLAYER_TOPIC), second);
    assert.deepEqual(more, []);
  });
}

test('the device message is published again if a system unit replaces a user unit of the same name', () => {
  const node = publishedNode({ homeAssistant: true });
  const rounds = publishInRounds(
    node,
    drop('systemd.services', 'user/mpd.service'),
    put('systemd.services', 'system/mpd.service', service('system', 'mpd.service')),
  );
  assert.deepEqual(rounds, [
    'services/system/mpd.service; device: Living room,Kitchen',
    'no services/user/mpd.service; device: Living room,Kitchen',
  ]);
});
