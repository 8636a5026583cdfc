// From the sound server's records to those that clients get, field by field of docs/http-api.md, "Records".

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { kindOfServer } from '../../../src/actors/audio/server-kind.js';
import {
  audioServerRecord,
  clientRecord,
  outputLabel,
  outputRecord,
  PropertyCache,
} from '../../../src/actors/audio/view.js';
import type { OutputWish } from '../../../src/actors/audio/wishes.js';
import { AudioServerRecord, ClientRecord, OutputRecord } from '../../../src/protocol/actor/schemas.js';
import type { SinkInfo, SinkInputInfo } from '../../../src/protocol/pulse/records.js';
import { inputInfo, serverInfo, sinkInfo } from './sound-records.js';

const known = (info: SinkInfo, balance?: readonly number[]) => ({ info, balance });

/** The record as clients get it, checked against its schema. */
function published<T>(schema: TSchema, record: T): T {
  const parsed: T = JSON.parse(JSON.stringify(record));
  assert.ok(Check(schema, parsed), JSON.stringify(parsed));
  return parsed;
}

function output(fields: Partial<SinkInfo>, balance?: readonly number[], wish: OutputWish = {}) {
  const sink = known(sinkInfo(7, 'living', fields), balance);
  const facts = {
    label: outputLabel(sink.info, wish),
    isDefault: false,
    card: undefined,
    wish,
    volumeLimit: wish.volumeLimit,
  };
  return published(OutputRecord, outputRecord(sink, facts, new PropertyCache()));
}

const IN_LIVING = { kind: 'pipewire', name: 'News #9', output: 'living' } as const;

function client(fields: Partial<SinkInputInfo>) {
  return published(ClientRecord, clientRecord(inputInfo(9, 'News', fields), IN_LIVING, new PropertyCache()));
}

describe('the sound server', () => {
  const on = (version: string) => `PulseAudio (on PipeWire${version})`;
  /** The version in PipeWire's name is its own; the other one is the version of the protocol. */
  const rows = [
    ['pulseaudio', '16.1', 'pulseaudio', '16.1'],
    [on(' 0.3.65'), '15.0.0', 'pipewire', '0.3.65'],
    [on(' 1.2.7-rc1'), '15.0.0', 'pipewire', '1.2.7-rc1'],
    [on(''), '15.0.0', 'pipewire', '15.0.0'],
  ] as const;
  for (const [packageName, packageVersion, kind, version] of rows) {
    test(`${packageName}, ${packageVersion} is ${kind} ${version}`, () => {
      const server = serverInfo({ packageName, packageVersion });
      assert.equal(kindOfServer(server), kind);
      const record = published(AudioServerRecord, audioServerRecord(server, known(sinkInfo(7, 'living'))));
      assert.deepEqual(record, {
        kind,
        default_sink: 'living',
        volume: 1,
        muted: false,
        server_name: packageName,
        server_version: version,
      });
    });
  }
});

describe('an output', () => {
  test('is shown with all its fields', () => {
    const line = { name: 'line', description: 'Line out', available: 2 };
    const port = { ...line, priority: 1, availabilityGroup: undefined, type: 1 };
    const tv = { ...port, name: 'tv', description: undefined, available: 1 };
    const record = output({
      props: { 'node.nick': 'Amp', 'device.class': 'sound' },
      volume: [0x8000, 0x4000],
      flags: 0x8,
      state: 0,
      ports: [port, tv, { ...port, name: 'x', available: 0 }],
      activePort: 'line',
    });
    assert.deepEqual(record, {
      id: 7,
      name: 'living',
      description: 'The living',
      nick: 'Amp',
      label: 'Amp',
      muted: false,
      volume: 0.5,
      state: 'running',
      default: false,
      driver: 'alsa',
      active_port: 'line',
      is_network: true,
      props: { 'device.class': 'sound', 'node.nick': 'Amp' },
      balance: -0.5,
      ports: [
        { name: 'line', description: 'Line out', available: 'yes' },
        { name: 'tv', description: 'tv', available: 'no' },
        { name: 'x', description: 'Line out', available: 'unknown' },
      ],
    });
  });

  test('has its configured limit and label; the label replaces the nick of its device', () => {
    const props = { 'node.nick': 'Amp', 'device.nick': 'DAC', 'device.class': 'sound' };
    const record = output({ props }, undefined, { label: 'Bath', volumeLimit: 0.6, hidden: true });
    const values = [record.nick, record.label, record.props, record.volume_limit, record.hidden];
    assert.deepEqual(values, ['Bath', 'Bath', { 'device.class': 'sound' }, 0.6, true]);
  });

  test('omits the fields that it does not have', () => {
    const record = output({ description: undefined, driver: undefined });
    const keys = 'balance default description id is_network label muted name props state volume';
    assert.equal(Object.keys(record).sort().join(' '), keys);
    assert.equal(record.description, 'living');
    assert.equal(record.is_network, false);
  });

  const names = { description: ' Hall ', props: { 'node.nick': ' Amp ' } };
  const labels: readonly (readonly [expected: string, fields: Partial<SinkInfo>, label?: string])[] = [
    ['Bath', names, ' Bath '],
    ['Amp', names],
    ['Hall', names, '   '],
    ['Hall', { ...names, props: { 'device.nick': '' } }],
    ['living', { description: ' \n', props: {} }],
    ['#7', { description: undefined, name: '', props: {} }],
  ];
  for (const [expected, fields, label] of labels) {
    test(`is called '${expected}' with ${JSON.stringify(fields)} and the label '${label}'`, () => {
      assert.equal(output(fields, undefined, { label }).label, expected);
    });
  }

  for (const state of [0, 1, 2, 3, undefined]) {
    const expected = ['running', 'idle', 'suspended'][state ?? 3] ?? 'unknown';
    test(`in state ${state} is ${expected}`, () => assert.equal(output({ state }).state, expected));
  }
});

describe('a client', () => {
  test('is shown with all its fields', () => {
    const props = {
      'media.name': 'News',
      'application.name': 'Radio',
      'application.process.binary': 'radiod',
      'application.process.user': 'pi',
      'application.process.host': 'node',
    };
    assert.deepEqual(client({ props, volume: [0x4000, 0x8000], corked: true, muted: true }), {
      id: 9,
      name: 'News #9',
      app: 'Radio',
      muted: true,
      volume: 0.5,
      corked: true,
      backend: 'pipewire',
      binary: 'radiod',
      user: 'pi',
      host: 'node',
      props: Object.fromEntries(Object.entries(props).sort()),
      output: 'living',
    });
  });

  const apps: readonly (readonly [Record<string, string>, string])[] = [
    [{ 'application.name': 'Radio', 'application.process.binary': 'radiod' }, 'Radio'],
    [{ 'application.process.binary': 'radiod' }, 'radiod'],
    [{ 'application.name': '' }, 'News #9'],
  ];
  for (const [props, app] of apps) {
    test(`with ${JSON.stringify(props)} is of ${app}`, () => assert.equal(client({ props }).app, app));
  }

  test('shows properties in a fixed order, whatever they are called', () => {
    const props = { constructor: 'y', ['__proto__']: 'x' };
    assert.deepEqual(Object.entries(client({ props }).props ?? {}), Object.entries(props).toReversed());
  });
});
