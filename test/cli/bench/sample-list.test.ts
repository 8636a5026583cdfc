// The list that `tonearm bench` times the codec with: it is one as servers send them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleWork } from '../../../src/cli/bench/sample-list.js';

test('the list is decoded whole, and encoded as what clients see', () => {
  const { streams, decode, encode } = sampleWork();
  const list = decode();
  assert.equal(list.length, streams);
  const last = list.at(-1);
  assert.equal(last?.name, `Song ${streams - 1}`);
  assert.equal(last?.sinkLatency, 20_000);
  assert.equal(last?.props['application.process.binary'], 'mpd');
  assert.deepEqual([last?.corked, last?.hasVolume, last?.volumeWritable], [false, true, true]);
  const texts = encode();
  assert.equal(texts.length, streams);
  const { id, app, output, volume } = JSON.parse(texts.at(-1) ?? '');
  assert.deepEqual([id, app, output, volume], [streams - 1, 'Music Player Daemon', 'speakers', 1]);
});
