// Tests `SoundPublisher`. It publishes only records that have changed, makes labels unique, warns if there is
// no room for more records, and shortens long records.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SoundPublisher } from '../../../src/actors/audio/publisher.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { OutputRecord } from '../../../src/protocol/actor/schemas.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

/** `LINE_MAX_BYTES` of gateway/events/line-length.ts: a record must fit into a line of the event stream. */
const LINE_MAX_BYTES = 120 * 1024;
/** No record was removed while a list was read. */
const NONE_REMOVED: ReadonlySet<number> = new Set();

function setUp() {
  const calls: string[] = [];
  const outputs: OutputRecord[] = [];
  const state = new SoundState();
  const publisher = new SoundPublisher({
    put: (collection, key, json) => {
      calls.push(`put ${collection} ${key}`);
      if (collection === 'audio.outputs') outputs.push(JSON.parse(json));
    },
    drop: (collection, key) => calls.push(`drop ${collection} ${key}`),
    log: (level, message, fields) => calls.push(`${level} ${message} ${JSON.stringify(fields)}`),
  });
  state.putServer(serverInfo());
  state.replaceSinks([sinkInfo(0, 'living'), sinkInfo(1, 'kitchen')], NONE_REMOVED);
  state.replaceSinkInputs([sinkInputInfo(5, 'News')], NONE_REMOVED);
  /** Publishes the state. Returns the puts, drops and log lines since the last call. */
  const update = () => {
    publisher.update(state);
    return calls.splice(0);
  };
  return { state, publisher, update, takeOutputs: () => outputs.splice(0) };
}

test('a record that is read again is published only if a published field has changed; the order of its properties does not count', () => {
  const { state, update } = setUp();
  state.putSinkInput(sinkInputInfo(5, 'News', { props: { a: '1', b: '2' } }));
  update();

  state.putServer(serverInfo());
  // The latency is not published.
  state.replaceSinks([sinkInfo(0, 'living', { latency: 17 }), sinkInfo(1, 'kitchen')], NONE_REMOVED);
  state.replaceSinkInputs([sinkInputInfo(5, 'News', { props: { b: '2', a: '1' } })], NONE_REMOVED);

  assert.deepEqual(update(), []);
});

test('two clients that swap names are both removed before either is published with its new name', () => {
  const { state, update } = setUp();
  state.putSinkInput(sinkInputInfo(6, 'Weather'));
  update();

  state.replaceSinkInputs([sinkInputInfo(5, 'Weather'), sinkInputInfo(6, 'News')], NONE_REMOVED);

  const expected = [
    'drop audio.clients 5',
    'drop audio.clients 6',
    'put audio.clients 5',
    'put audio.clients 6',
  ];
  assert.deepEqual(update(), expected);
});

test('the name of an output is added to its label while another output has the same label', () => {
  const { state, publisher, takeOutputs } = setUp();
  const sinkLabelledHall = (id: number, name: string) => sinkInfo(id, name, { description: 'Hall' });
  const updatedLabels = () => {
    publisher.update(state);
    return takeOutputs().map(({ name, label }) => `${name}: ${label}`);
  };
  // This call publishes the two outputs of `setUp`, so that each further call returns only changes.
  updatedLabels();

  state.putSink(sinkLabelledHall(0, 'living'));
  assert.deepEqual(updatedLabels(), ['living: Hall']);
  state.putSink(sinkLabelledHall(1, 'kitchen'));
  assert.deepEqual(updatedLabels(), ['kitchen: Hall (kitchen)', 'living: Hall (living)']);
  state.putSink(sinkInfo(0, 'living', { description: 'Hall', muted: true }));
  assert.deepEqual(updatedLabels(), ['living: Hall (living)']);
  state.replaceSinks([sinkLabelledHall(1, 'kitchen')], NONE_REMOVED);
  assert.deepEqual(updatedLabels(), ['kitchen: Hall']);
});

test('the warning that there is no room for more records is logged once, and again only after half of the room is free', () => {
  const { state, update } = setUp();
  const warningsAt = (count: number) => {
    const sinks = Array.from({ length: count }, (_, index) => sinkInfo(index, `sink ${index}`));
    state.replaceSinks(sinks, NONE_REMOVED);
    const sinkInputs = Array.from({ length: count }, (_, index) => sinkInputInfo(index, `stream ${index}`));
    state.replaceSinkInputs(sinkInputs, NONE_REMOVED);
    return update().filter((line) => line.startsWith('warn'));
  };
  const bothWarnings = ['outputs', 'streams'].map(
    (kind) => `warn there is room for no more ${kind}: further ones are left out {"most":512}`,
  );
  /**
   * There is room for 512 outputs and for 512 streams (`RECORDS_MAX` of fields.ts). With 256 of each, half of
   * the room is free.
   */
  const rows: readonly (readonly [count: number, warnings: readonly string[]])[] = [
    [511, []],
    [512, bothWarnings],
    [600, []],
    [511, []],
    [257, []],
    [512, []],
    [256, []],
    [512, bothWarnings],
  ];
  for (const [count, warnings] of rows) assert.deepEqual(warningsAt(count), warnings, `${count} records`);
});

test('a record has no properties if control characters would make its JSON too long', () => {
  const published: string[] = [];
  const state = new SoundState();
  const publisher = new SoundPublisher({
    put: (collection, _key, json) => {
      if (collection === 'audio.clients') published.push(json);
    },
    drop: () => undefined,
    log: () => undefined,
  });
  state.putServer(serverInfo());
  // Each client has 8 kB of properties. JSON writes each control character as six bytes, so the properties of
  // `Wild` would need 48 kB. This is more than `JSON_MAX_UNITS` of publisher.ts.
  const eightProps = (text: string) =>
    Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((key) => [`${key}`, text]));
  state.putSinkInput(sinkInputInfo(5, 'Long', { props: eightProps('x'.repeat(1000)) }));
  state.putSinkInput(sinkInputInfo(6, 'Wild', { props: eightProps('\u0001'.repeat(1000)) }));

  publisher.update(state);
  const records = published.map((json) => JSON.parse(json) as { name: string; props: object });
  const propCounts = records.map(({ name, props }) => `${name} ${Object.keys(props).length}`);
  assert.deepEqual(propCounts, ['Long 8', 'Wild 0']);
});

test('a long list of ports is cut, and keeps the active port', () => {
  const published: string[] = [];
  const publisher = new SoundPublisher({
    put: (collection, _key, json) => {
      if (collection === 'audio.outputs') published.push(json);
    },
    drop: () => undefined,
    log: () => undefined,
  });
  const state = new SoundState();
  state.putServer(serverInfo());
  // JSON writes each control character `\u0001` as six bytes, so the whole list has more than 1 MB.
  const ports = Array.from({ length: 200 }, (_, index) => ({
    name: `${index}`.padStart(1000, '\u0001'),
    description: 'x',
    priority: 0,
    available: 0,
  }));
  const activePort = ports.at(-1)?.name ?? '';
  const sink = sinkInfo(0, 'crowded');
  Object.assign(sink, { ports, activePort });
  state.replaceSinks([sink], NONE_REMOVED);

  publisher.update(state);

  const [json = ''] = published;
  assert.ok(Buffer.byteLength(json) < LINE_MAX_BYTES, `${Buffer.byteLength(json)}`);
  const { ports: kept } = JSON.parse(json) as { readonly ports: readonly { readonly name: string }[] };
  assert.deepEqual([kept[0]?.name, kept.at(-1)?.name], [ports[0]?.name, activePort]);
});
