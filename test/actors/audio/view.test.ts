// Tests how the sound server's records become the interface's records (docs/http-api.md, "Records").

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
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const knownSink = (info: SinkInfo) => ({ info, balance: undefined });

/** Returns the record as clients get it, and checks it against its schema. */
function checkRecord<T>(schema: TSchema, record: T): T {
  const parsed: T = JSON.parse(JSON.stringify(record));
  assert.ok(Check(schema, parsed), JSON.stringify(parsed));
  return parsed;
}

/**
 * Returns the record of a sink with these fields. The sink's other fields are those that `sinkInfo` sets,
 * such as the description `The living` and the driver `alsa`.
 */
function output(fields: Partial<SinkInfo>, wish: OutputWish = {}) {
  const sink = knownSink(sinkInfo(7, 'living', fields));
  const surroundings = {
    label: outputLabel(sink.info, wish),
    isDefault: false,
    card: undefined,
    wish,
    volumeLimit: wish.volumeLimit,
  };
  return checkRecord(OutputRecord, outputRecord(sink, surroundings, new PropertyCache()));
}

/** The flag of a sink that plays over the network. */
const NETWORK_FLAG = 0x8;
/** The state of a sink that plays. */
const RUNNING = 0;
/** The values of a port's field `available`. */
const AVAILABLE = { unknown: 0, no: 1, yes: 2 };

const CLIENT_SURROUNDINGS = { kind: 'pipewire', name: 'News #9', output: 'living' } as const;

function client(fields: Partial<SinkInputInfo>) {
  return checkRecord(
    ClientRecord,
    clientRecord(sinkInputInfo(9, 'News', fields), CLIENT_SURROUNDINGS, new PropertyCache()),
  );
}

describe('the sound server', () => {
  /** PipeWire's package version is always 15.0.0. PipeWire's own version is in its package name. */
  const rows: readonly (readonly [
    packageName: string,
    packageVersion: string,
    kind: 'pulseaudio' | 'pipewire',
    version: string,
  ])[] = [
    ['pulseaudio', '16.1', 'pulseaudio', '16.1'],
    ['PulseAudio (on PipeWire 0.3.65)', '15.0.0', 'pipewire', '0.3.65'],
    ['PulseAudio (on PipeWire 1.2.7-rc1)', '15.0.0', 'pipewire', '1.2.7-rc1'],
    ['PulseAudio (on PipeWire)', '15.0.0', 'pipewire', '15.0.0'],
  ];
  for (const [packageName, packageVersion, kind, version] of rows) {
    test(`with the package ${packageName}, version ${packageVersion}, is ${kind} ${version}`, () => {
      const server = serverInfo({ packageName, packageVersion });
      assert.equal(kindOfServer(server), kind);
      const record = checkRecord(
        AudioServerRecord,
        audioServerRecord(server, knownSink(sinkInfo(7, 'living'))),
      );
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
  test('has the fields of its sink in its record', () => {
    const commonFields = { description: 'Line out', priority: 1, availabilityGroup: undefined, type: 1 };
    const linePort = { ...commonFields, name: 'line', available: AVAILABLE.yes };
    const tvPort = { ...commonFields, name: 'tv', description: undefined, available: AVAILABLE.no };
    const otherPort = { ...commonFields, name: 'x', available: AVAILABLE.unknown };
    const record = output({
      props: { 'node.nick': 'Amp', 'device.class': 'sound' },
      // The right channel is half as loud as the left one, so the balance is -0.5.
      volume: [0x8000, 0x4000],
      flags: NETWORK_FLAG,
      state: RUNNING,
      ports: [linePort, tvPort, otherPort],
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

  test('has its configured limit, label and `hidden`', () => {
    const props = { 'node.nick': 'Amp', 'device.nick': 'DAC', 'device.class': 'sound' };
    const record = output({ props }, { label: 'Bath', volumeLimit: 0.6, hidden: true });
    const { nick, label, props: recordProps, volume_limit: limit, hidden } = record;
    // The label takes the place of the nicks, so the properties in the record have no nick.
    assert.deepEqual([nick, label, limit, hidden], ['Bath', 'Bath', 0.6, true]);
    assert.deepEqual(recordProps, { 'device.class': 'sound' });
  });

  test('omits in its record the fields that its sink does not have', () => {
    const record = output({ description: undefined, driver: undefined });
    const expectedKeys = 'balance default description id is_network label muted name props state volume';
    assert.equal(Object.keys(record).sort().join(' '), expectedKeys);
    assert.equal(record.description, 'living');
    assert.equal(record.is_network, false);
  });

  test('has its name in place of an empty description; a port has the name of the port', () => {
    const port = { name: 'line', description: '', priority: 1, availabilityGroup: undefined, type: 1 };
    const record = output({ description: '', ports: [{ ...port, available: AVAILABLE.unknown }] });
    assert.equal(record.description, 'living');
    assert.deepEqual(record.ports, [{ name: 'line', description: 'line', available: 'unknown' }]);
  });

  // The label is the first of these that is not blank: the nick, the description, the name, the id.
  const namesOfSink = { description: ' Hall ', props: { 'node.nick': ' Amp ' } };
  const labels: readonly (readonly [expected: string, fields: Partial<SinkInfo>, label?: string])[] = [
    ['Bath', namesOfSink, ' Bath '],
    ['Amp', namesOfSink],
    // A configured label takes the place of the nick, even if the label is blank.
    ['Hall', namesOfSink, '   '],
    ['Hall', { ...namesOfSink, props: { 'device.nick': '' } }],
    ['DAC', { ...namesOfSink, props: { 'node.nick': '', 'device.nick': 'DAC' } }],
    ['living', { description: ' \n', props: {} }],
    ['#7', { description: undefined, name: '', props: {} }],
  ];
  for (const [expected, fields, label] of labels) {
    const configured = label === undefined ? 'no configured label' : `the configured label '${label}'`;
    test(`has the label '${expected}' with ${JSON.stringify(fields)} and ${configured}`, () => {
      assert.equal(output(fields, { label }).label, expected);
    });
  }

  const states: readonly (readonly [state: number | undefined, expected: string])[] = [
    [0, 'running'],
    [1, 'idle'],
    [2, 'suspended'],
    [3, 'unknown'],
    [undefined, 'unknown'],
  ];
  for (const [state, expected] of states) {
    test(`in state ${state} is ${expected}`, () => assert.equal(output({ state }).state, expected));
  }
});

describe('a client', () => {
  test('has the fields of its sink input in its record', () => {
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
      props,
      output: 'living',
    });
  });

  const apps: readonly (readonly [props: Record<string, string>, app: string])[] = [
    [{ 'application.name': 'Radio', 'application.process.binary': 'radiod' }, 'Radio'],
    [{ 'application.process.binary': 'radiod' }, 'radiod'],
    [{ 'application.name': '' }, 'News #9'],
  ];
  for (const [props, app] of apps) {
    test(`with ${JSON.stringify(props)} belongs to the app ${app}`, () =>
      assert.equal(client({ props }).app, app));
  }

  test('has its properties in the order of their names, even if a name is __proto__ or constructor', () => {
    const props = { constructor: 'y', ['__proto__']: 'x' };
    const sortedProps = [
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ];
    assert.deepEqual(Object.entries(client({ props }).props ?? {}), sortedProps);
  });
});
