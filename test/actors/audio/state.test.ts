// Tests `SoundState` while sinks and streams appear, change and vanish. A stream is a sink input.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SoundState } from '../../../src/actors/audio/state.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

/** No record was removed while the list was read. */
const NONE_REMOVED: ReadonlySet<number> = new Set();

function stateWithSound(): SoundState {
  const state = new SoundState();
  state.putServer(serverInfo());
  state.replaceSinks([sinkInfo(0, 'living'), sinkInfo(1, 'kitchen')], NONE_REMOVED);
  state.replaceSinkInputs([sinkInputInfo(5, 'News'), sinkInputInfo(6, 'Music')], NONE_REMOVED);
  return state;
}

test('a sink that replaces another one at the same index does not get the balance of the replaced sink', () => {
  const state = stateWithSound();
  state.putSink(sinkInfo(1, 'kitchen', { volume: [0x10000, 0x8000] }));
  // A sink shows no balance of its own at volume 0, so a balance could only come from the replaced sink.
  state.putSink(sinkInfo(1, 'hdmi', { volume: [0, 0] }));
  assert.equal(state.sinks.get(1)?.balance, undefined);
});

test('a stream keeps its balance while its volume is 0', () => {
  const state = stateWithSound();
  state.putSinkInput(sinkInputInfo(5, 'News', { volume: [0x10000, 0x8000] }));
  state.putSinkInput(sinkInputInfo(5, 'News', { volume: [0, 0] }));
  assert.deepEqual(state.sinkInputs.get(5)?.balance, [1, 0.5]);
});

test('a list of streams or sinks does not bring back a record that was removed after the list was made', () => {
  const state = stateWithSound();
  const removedStreams = new Set([6]);
  state.replaceSinkInputs([sinkInputInfo(5, 'News'), sinkInputInfo(6, 'Music')], removedStreams);
  assert.deepEqual([...state.sinkInputs.keys()], [5]);
  const removedSinks = new Set([0]);
  state.replaceSinks([sinkInfo(0, 'living'), sinkInfo(1, 'kitchen')], removedSinks);
  assert.deepEqual([...state.sinks.keys()], [1]);
});

describe('a list of streams', () => {
  test('gives a name to the older of two streams that prefer it, even if the newer one is first in the list', () => {
    const state = new SoundState();
    state.replaceSinkInputs([sinkInputInfo(9, 'A'), sinkInputInfo(3, 'A')], NONE_REMOVED);
    assert.deepEqual([state.sinkInputs.get(3)?.name, state.sinkInputs.get(9)?.name], ['A', 'A #9']);
  });

  test('frees the names of ended streams before it gives names to new ones', () => {
    const state = new SoundState();
    state.replaceSinkInputs([sinkInputInfo(3, 'A')], NONE_REMOVED);
    state.replaceSinkInputs([sinkInputInfo(9, 'A')], NONE_REMOVED);
    assert.equal(state.sinkInputs.get(9)?.name, 'A');
  });
});

describe('streams change the names that they prefer', () => {
  /** Each field after the title has the names of the streams 1 and 2, with a comma between them. */
  interface RenameRow {
    readonly title: string;
    readonly preferred: string;
    readonly preferredLater: string;
    readonly expected: string;
  }
  const rows: readonly RenameRow[] = [
    {
      title: 'two streams get the names that they prefer, even if they swap these names',
      preferred: 'one,two',
      preferredLater: 'two,one',
      expected: 'two,one',
    },
    {
      title: 'no stream gets a name that another stream keeps',
      preferred: 'one,two',
      preferredLater: 'two,two',
      expected: 'two #1,two',
    },
    {
      title: 'a stream keeps its numbered name if the plain name becomes free',
      preferred: 'one,one',
      preferredLater: 'two,one',
      expected: 'two,one #2',
    },
  ];
  for (const { title, preferred, preferredLater, expected } of rows) {
    test(title, () => {
      const state = new SoundState();
      for (const names of [preferred, preferredLater]) {
        const infos = names.split(',').map((name, index) => sinkInputInfo(index + 1, name));
        state.replaceSinkInputs(infos, NONE_REMOVED);
      }
      assert.equal([1, 2].map((id) => state.sinkInputs.get(id)?.name).join(), expected);
    });
  }
});

describe('a reference to a client', () => {
  // The state already has the streams 5 (`News`) and 6 (`Music`).
  const state = stateWithSound();
  state.putSinkInput(sinkInputInfo(7, '6'));
  state.putSinkInput(sinkInputInfo(8, '99'));
  state.putSinkInput(sinkInputInfo(10, 'News'));
  const rows: readonly (readonly [what: string, ref: string, index: number | undefined])[] = [
    ['means an id rather than an equal name', '6', 6],
    ['may be a name of digits if no stream has this id', '99', 8],
    ['may be a unique name', 'News #10', 10],
    ['must not be an id with leading zeros', '05', undefined],
    ['must not be a number beyond all ids', '99999999999999999999', undefined],
  ];
  for (const [what, ref, expected] of rows) {
    test(what, () => assert.equal(state.findClient(ref)?.info.index, expected));
  }
});

test('the state forgets all records, names and balances when another life of the server begins', () => {
  const state = new SoundState();
  state.enterLife(1);
  state.putServer(serverInfo({ cookie: 1 }));
  state.putSink(sinkInfo(0, 'living', { volume: [0x10000, 0x8000] }));
  state.putSink(sinkInfo(0, 'living', { volume: [0, 0] }));
  state.replaceSinkInputs(
    [sinkInputInfo(5, 'Song'), sinkInputInfo(6, 'Song'), sinkInputInfo(7, 'News')],
    NONE_REMOVED,
  );

  state.enterLife(2);
  assert.deepEqual([state.server, state.sinks.size, state.sinkInputs.size], [undefined, 0, 0]);

  state.replaceSinks([sinkInfo(0, 'living', { volume: [0, 0] })], NONE_REMOVED);
  state.replaceSinkInputs([sinkInputInfo(6, 'Song'), sinkInputInfo(7, 'Song')], NONE_REMOVED);

  // Before, stream 6 was `Song #6`, because stream 5 had the plain name.
  const names = [5, 6, 7].map((id) => state.sinkInputs.get(id)?.name);
  assert.deepEqual(names, [undefined, 'Song', 'Song #7']);
  assert.equal(state.sinks.get(0)?.balance, undefined);
});

test('at most 512 streams and 512 sinks are known, and another stream can take the place of one that ends', () => {
  const state = new SoundState();
  for (let index = 0; index < 600; index += 1) state.putSinkInput(sinkInputInfo(index, 'one of many'));
  assert.deepEqual(
    [state.sinkInputs.size, state.sinkInputs.has(511), state.sinkInputs.has(512)],
    [512, true, false],
  );

  // No further stream can be known now, but a known stream can still change.
  state.putSinkInput(sinkInputInfo(511, 'another'));
  assert.equal(state.sinkInputs.get(511)?.info.name, 'another');

  state.remove('sink-input', 0);
  state.putSinkInput(sinkInputInfo(600, 'a late one'));
  assert.equal(state.sinkInputs.has(600), true);

  for (let index = 0; index < 600; index += 1) state.putSink(sinkInfo(index, `sink ${index}`));
  assert.equal(state.sinks.size, 512);
});
