// Which topics of the broker are out of date and may be published now, and in which order: Home Assistant
// must get the device message before everything that would be an error without it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { AnnouncedNode } from '../../broker/announced-node.js';
import { drop, health, output, put } from '../../broker/simulated-node.js';

const BRANCH = 'tonearm/living';
const KITCHEN = `${BRANCH}/audio/outputs/kitchen`;

/** A node all of whose topics the broker has retained. */
function fullyPublished(homeAssistant = false): AnnouncedNode {
  const node = new AnnouncedNode({ homeAssistant });
  publishInRounds(node);
  return node;
}

const nextPublications = ({ topics }: AnnouncedNode) => {
  const { publications } = topics.differences(() => true);
  return publications.map(({ topic, text }) => `${topic.slice(BRANCH.length + 1)}=${text.slice(0, 10)}`);
};

test('topics that are out of date at the start of a connection are published, and those of removed things emptied', () => {
  const node = fullyPublished();
  const retained = ['status', 'audio/outputs/gone', 'players/gone', 'audio/outputs/x/set', 'what', 'error'];
  node.topics.beginConnection(new Map(retained.map((below) => [`${BRANCH}/${below}`, 'online'])));
  const found = nextPublications(node);
  assert.ok(found.includes('audio/outputs/kitchen={"id":2,"n'));
  assert.ok(!found.some((each) => each.startsWith('status')));
  assert.deepEqual(
    found.filter((each) => each.endsWith('=')),
    ['audio/outputs/gone=', 'players/gone='],
    'a topic that is none of the node may be a command, or belong to another program',
  );
});

test('the topics of a backend that is not up stay retained', () => {
  const node = fullyPublished().publishRecords(health('audio', 'connecting'), drop('audio.outputs', '1'));
  const topics = nextPublications(node).map((each) => each.split('=')[0]);
  assert.deepEqual(topics, ['backends']);
});

test('a topic that must be published again is published once, although the broker has retained this text', () => {
  const node = fullyPublished();
  node.topics.republish(node.topics.statusTopic);
  assert.deepEqual(nextPublications(node), ['status=online']);
  assert.deepEqual(nextPublications(node), []);
});

test('the topic of the upgrade has its extra members only if the text is short enough', () => {
  for (const [length, isKept] of [
    [60_000, true],
    [70_000, false],
  ] as const) {
    const rest = { current: '1', latest: '2', upgrade_available: true, run: { state: 'idle' } };
    const extra = { packages: 'x'.repeat(length) };
    const node = new AnnouncedNode().publishRecords(
      health('upgrade', 'up'),
      put('upgrade', '', { ...rest, extra }),
    );
    const { publications } = node.topics.differences(() => true);
    const text = publications.find(({ topic }) => topic === `${BRANCH}/upgrade`)?.text ?? '';
    assert.deepEqual(JSON.parse(text), isKept ? { ...rest, extra } : rest);
  }
});

test('a topic whose text is too large is emptied and named; only the device message stays, and delays nothing', () => {
  const node = new AnnouncedNode();
  const { deviceTopic: device } = node.topics;
  node.topics.beginConnection(new Map([KITCHEN, device].map((topic) => [topic, node.text()])));
  node.publishRecords(drop('audio.outputs', '2'));
  const accepts = (topic: string): boolean => topic !== `${BRANCH}/audio/server` && topic !== device;
  const { publications, tooLarge } = node.topics.differences(accepts);
  assert.deepEqual(tooLarge, [device, `${BRANCH}/audio/server`]);
  const topics = publications.map(({ topic, text }) => (text === '' ? topic : ''));
  assert.deepEqual(topics.filter(Boolean), [KITCHEN]);
});

test('a topic that is longer than MQTT allows is not published, and is named', () => {
  const node = fullyPublished();
  const name = 'x'.repeat(65_000);
  node.publishRecords(put('audio.outputs', '9', output(9, name)));
  const { publications, tooLong } = node.topics.differences(() => true);
  assert.deepEqual([publications, tooLong], [[], [`${BRANCH}/audio/outputs/${name}`]]);
  node.publishRecords(drop('audio.outputs', '9'));
  assert.deepEqual(node.topics.differences(() => true).tooLong, []);
});

const defaultIs = (name: string) =>
  put('audio.server', '', { kind: 'pulseaudio', default_sink: name, volume: 0.42, muted: false });

/**
 * Publishes until nothing is out of date. Returns a line for each round: its topics, `no TOPIC` for one that
 * is emptied, and for the device message its outputs.
 */
function publishInRounds(node: AnnouncedNode, ...changes: readonly Change[]): readonly string[] {
  node.publishRecords(...changes);
  const all: string[] = [];
  for (;;) {
    const { publications } = node.topics.differences(() => true);
    if (publications.length === 0) return all;
    const descriptions = publications.map(({ topic, text }) => {
      if (topic !== node.topics.deviceTopic)
        return `${text === '' ? 'no ' : ''}${node.topics.relativeTopic(topic)}`;
      return `device: ${JSON.parse(text).components.default_output.options}`;
    });
    all.push(descriptions.join('; '));
    for (const each of publications) node.topics.acknowledged(each);
  }
}

test('the device message comes first, when an output goes and when it returns as the default', () => {
  const node = fullyPublished(true);
  const gone = ['device: Living room', 'no audio/outputs/kitchen; device: Living room'];
  assert.deepEqual(publishInRounds(node, drop('audio.outputs', '2')), gone);
  const back = put('audio.outputs', '3', output(3, 'kitchen', { description: 'Kitchen' }));
  const returned = ['audio/outputs/kitchen; device: Living room,Kitchen', 'audio/server'];
  assert.deepEqual(publishInRounds(node, back, defaultIs('kitchen')), returned);
});

test('no topic waits for a default output that is not listed, with Home Assistant or without', () => {
  const roundsOf = (homeAssistant: boolean) =>
    publishInRounds(fullyPublished(homeAssistant), defaultIs('nosuch'), drop('audio.outputs', '2'));
  const expected = ['audio/server; device: Living room', 'no audio/outputs/kitchen; device: Living room'];
  assert.deepEqual(roundsOf(true), expected);
  assert.deepEqual(roundsOf(false), ['audio/server; no audio/outputs/kitchen']);
});

test('the default output is published again after the device message if it was renamed, but not if another was', () => {
  const node = fullyPublished(true);
  const named = (id: number, name: string, description: string) =>
    put('audio.outputs', `${id}`, output(id, name, { description }));
  const repeated = ['audio/outputs/alsa; device: Parlour,Kitchen', 'audio/server'];
  assert.deepEqual(publishInRounds(node, named(1, 'alsa', 'Parlour')), repeated);
  const once = ['audio/outputs/kitchen; device: Parlour,Larder'];
  assert.deepEqual(publishInRounds(node, named(2, 'kitchen', 'Larder')), once);
});
