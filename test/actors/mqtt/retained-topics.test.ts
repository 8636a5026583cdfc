// Which differences between the broker and the node may be published now, and in which order: a broker, and
// so Home Assistant, must get the device message before anything that would be an error without it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { AnnouncedNode } from '../../broker/announced-node.js';
import { drop, health, output, put } from '../../broker/simulated-node.js';

const T = 'tonearm/living';
const KITCHEN = `${T}/audio/outputs/kitchen`;

/** A node whose broker holds all of it. */
function published(homeAssistant = false): AnnouncedNode {
  const node = new AnnouncedNode({ homeAssistant });
  rounds(node);
  return node;
}

const differing = ({ topics }: AnnouncedNode) => {
  const { publications } = topics.differences(() => true);
  return publications.map(({ topic, text }) => `${topic.slice(T.length + 1)}=${text.slice(0, 10)}`);
};

test('topics in flight at the end of a connection are published on the next one, and leftovers are emptied', () => {
  const node = published();
  const retained = ['status', 'audio/outputs/gone', 'players/gone', 'audio/outputs/x/set', 'what', 'error'];
  node.topics.begin(new Map(retained.map((below) => [`${T}/${below}`, 'online'])));
  const found = differing(node);
  assert.ok(found.includes('audio/outputs/kitchen={"id":2,"n'));
  assert.ok(!found.some((each) => each.startsWith('status')));
  assert.deepEqual(
    found.filter((each) => each.endsWith('=')),
    ['audio/outputs/gone=', 'players/gone='],
    'others may have a command or something else there',
  );
});

test('the topics of a backend that is not up stay', () => {
  const node = published().publishRecords(health('audio', 'connecting'), drop('audio.outputs', '1'));
  const topics = differing(node).map((each) => each.split('=')[0]);
  assert.deepEqual(topics, ['backends']);
});

test('a topic to be repeated is published though it is held, once', () => {
  const node = published();
  node.topics.republish(node.topics.status);
  assert.deepEqual(differing(node), ['status=online']);
  assert.deepEqual(differing(node), []);
});

test('a long text of the upgrade lacks its extra members, and a short one has them', () => {
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
    const text = publications.find(({ topic }) => topic === `${T}/upgrade`)?.text ?? '';
    assert.deepEqual(JSON.parse(text), isKept ? { ...rest, extra } : rest);
  }
});

test('a topic that does not fit is emptied and named; the device message stays, and nothing waits for it', () => {
  const node = new AnnouncedNode();
  const { device } = node.topics;
  node.topics.begin(new Map([KITCHEN, device].map((topic) => [topic, node.text()])));
  node.publishRecords(drop('audio.outputs', '2'));
  const accepts = (topic: string): boolean => topic !== `${T}/audio/server` && topic !== device;
  const { publications, tooLarge } = node.topics.differences(accepts);
  assert.deepEqual(tooLarge, [device, `${T}/audio/server`]);
  const topics = publications.map(({ topic, text }) => (text === '' ? topic : ''));
  assert.deepEqual(topics.filter(Boolean), [KITCHEN]);
});

const defaultIs = (name: string) =>
  put('audio.server', '', { kind: 'pulseaudio', default_sink: name, volume: 0.42, muted: false });

/** The publications of each round: the device with its outputs, topics, and `no` topics that are emptied. */
function rounds(node: AnnouncedNode, ...changes: readonly Change[]): readonly string[] {
  node.publishRecords(...changes);
  const all: string[] = [];
  for (;;) {
    const { publications } = node.topics.differences(() => true);
    if (publications.length === 0) return all;
    const descriptions = publications.map(({ topic, text }) => {
      if (topic !== node.topics.device) return `${text === '' ? 'no ' : ''}${node.topics.relative(topic)}`;
      return `device: ${JSON.parse(text).components.default_output.options}`;
    });
    all.push(descriptions.join('; '));
    for (const each of publications) node.topics.acknowledged(each);
  }
}

test('the device message comes first, when an output goes and when it returns as the default', () => {
  const node = published(true);
  const gone = ['device: Living room', 'no audio/outputs/kitchen; device: Living room'];
  assert.deepEqual(rounds(node, drop('audio.outputs', '2')), gone);
  const back = put('audio.outputs', '3', output(3, 'kitchen', { description: 'Kitchen' }));
  const returned = ['audio/outputs/kitchen; device: Living room,Kitchen', 'audio/server'];
  assert.deepEqual(rounds(node, back, defaultIs('kitchen')), returned);
});

test('a default output that is not listed is not waited for, with Home Assistant or without', () => {
  const roundsOf = (homeAssistant: boolean) =>
    rounds(published(homeAssistant), defaultIs('nosuch'), drop('audio.outputs', '2'));
  const expected = ['audio/server; device: Living room', 'no audio/outputs/kitchen; device: Living room'];
  assert.deepEqual(roundsOf(true), expected);
  assert.deepEqual(roundsOf(false), ['audio/server; no audio/outputs/kitchen']);
});

test('the default output is repeated behind the device message when it is renamed, and when others are it is not', () => {
  const node = published(true);
  const named = (id: number, name: string, description: string) =>
    put('audio.outputs', `${id}`, output(id, name, { description }));
  const repeated = ['audio/outputs/alsa; device: Parlour,Kitchen', 'audio/server'];
  assert.deepEqual(rounds(node, named(1, 'alsa', 'Parlour')), repeated);
  const once = ['audio/outputs/kitchen; device: Parlour,Larder'];
  assert.deepEqual(rounds(node, named(2, 'kitchen', 'Larder')), once);
});
