// Tests which differences between the broker and the node may be published now.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnnouncedNode } from '../../broker/announced-node.js';
import { drop, health } from '../../broker/simulated-node.js';

const T = 'tonearm/living';
const KITCHEN = `${T}/audio/outputs/kitchen`;

/** A node without Home Assistant, whose broker holds all of it. */
function published(): AnnouncedNode {
  const node = new AnnouncedNode({ homeAssistant: false });
  for (const each of node.topics.differences(() => true).publications) node.topics.acknowledged(each);
  return node;
}

const differing = ({ topics }: AnnouncedNode) => {
  const { publications } = topics.differences(() => true);
  return publications.map(({ topic, text }) => `${topic.slice(T.length + 1)}=${text.slice(0, 10)}`);
};

test('what was in flight when a connection ended is published on the next one, and leftovers are emptied', () => {
  const node = published();
  const held = ['status', 'audio/outputs/gone', 'players/gone', 'audio/outputs/x/set', 'what', 'error'];
  node.topics.begin(new Map(held.map((below) => [`${T}/${below}`, 'online'])));
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
  const node = published().tell(health('audio', 'connecting'), drop('audio.outputs', '1'));
  assert.deepEqual(
    differing(node).map((each) => each.split('=')[0]),
    ['backends'],
  );
});

test('a topic to be repeated is published though it is held, once', () => {
  const node = published();
  node.topics.again(node.topics.status);
  assert.deepEqual(differing(node), ['status=online']);
  assert.deepEqual(differing(node), []);
});

test('a topic that does not fit is emptied and named; the device message stays, and nothing waits for it', () => {
  const node = new AnnouncedNode();
  const { device } = node.topics;
  node.topics.begin(new Map([KITCHEN, device].map((topic) => [topic, node.text()])));
  node.tell(drop('audio.outputs', '2'));
  const takes = (topic: string): boolean => topic !== `${T}/audio/server` && topic !== device;
  const { publications, leftOut } = node.topics.differences(takes);
  assert.deepEqual(leftOut, [device, `${T}/audio/server`]);
  const topics = publications.map(({ topic, text }) => (text === '' ? topic : ''));
  assert.deepEqual(topics.filter(Boolean), [KITCHEN]);
});
