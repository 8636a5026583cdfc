// A reader that has kept property lists reads the same as a reader that has kept none, whatever a server
// sends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SinkInputInfo } from '../../../src/protocol/pulse/records.js';
import { TextCache } from '../../../src/protocol/pulse/text-cache.js';
import { WireError } from '../../../src/protocol/pulse/wire.js';
import { SEED, SeededRandom } from '../../seeded-random.js';
import * as wire from './bytes.js';
import { decode } from './decoded.js';

/** These are a NUL, the types of fields `N`, `P` and `t`, and a byte that is no type. */
const BREAKING_BYTES = [0, 0x4e, 0x50, 0x74, 255];

const readSinkInputs = (payload: readonly number[], texts: TextCache): SinkInputInfo[] =>
  decode('GET_SINK_INPUT_INFO_LIST', payload, { texts });

function readSinkInput(texts: TextCache, change: wire.SinkInputBytes): SinkInputInfo {
  const [info] = readSinkInputs(wire.sinkInput(change), texts);
  if (info === undefined) throw new Error('no record');
  return info;
}

const propsOfSong = (name: string): readonly number[] => wire.props(wire.textProp('media.name', name));

test('a property list that is too long to be kept is decoded at each reading', () => {
  const texts = new TextCache();
  // With its key the list has more than 2048 bytes (LIST_MAX_BYTES in text-cache.ts).
  const props = propsOfSong('x'.repeat(2048));
  // A kept list would be the same object at both readings.
  assert.notEqual(readSinkInput(texts, { props }).props, readSinkInput(texts, { props }).props);
});

test('the property list of a sink input is kept until the sink input is forgotten', () => {
  const texts = new TextCache();
  const read = (): unknown[] =>
    // The first list is that of sink input 1, the second that of sink input 2.
    [1, 2].map((index) => readSinkInput(texts, { index, props: propsOfSong('One') }).props);
  const before = read();
  texts.lists.forget(2);
  const after = read();
  assert.equal(after[0], before[0]);
  assert.notEqual(after[1], before[1]);
});

test('a payload that ends too early is a violation, also if its property list was kept before', () => {
  const texts = new TextCache();
  const whole = wire.sinkInput({ props: propsOfSong('One') });
  readSinkInputs(whole, texts);
  for (let length = 1; length < whole.length; length += 1)
    assert.throws(() => readSinkInputs(whole.slice(0, length), texts), WireError);
});

test(`a reader whose cache has older lists reads the same as a reader with an empty cache (seed ${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const texts = new TextCache();
  for (let round = 0; round < 300; round += 1) {
    const payload = Array.from({ length: 1 + random.below(4) }, () =>
      wire.sinkInput({
        // Objects whose indices differ by 512 share a place in the cache (OBJECT_PLACES in text-cache.ts).
        index: random.below(3) * 512 + random.below(2),
        props: wire.props(
          ...Array.from({ length: random.below(4) }, () =>
            wire.textProp(random.pick(['a', 'bb', 'media.name']), random.pick(['', '1', '12', 'x\u00e9'])),
          ),
        ),
      }),
    ).flat();
    // Half of the payloads are broken in one byte.
    if (random.chance(0.5)) payload[random.below(payload.length)] = random.pick(BREAKING_BYTES);
    const outcome = (cache: TextCache): unknown => {
      try {
        return readSinkInputs(payload, cache);
      } catch (error) {
        if (error instanceof WireError) return error.message;
        throw error;
      }
    };
    assert.deepEqual(outcome(texts), outcome(new TextCache()));
  }
});
