// Reads records in forms that no capture has, and payloads that break the protocol. bytes.ts builds both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestName } from '../../../src/protocol/pulse/commands.js';
import type { SinkInputInfo } from '../../../src/protocol/pulse/records.js';
import { WireError } from '../../../src/protocol/pulse/wire.js';
import * as wire from './bytes.js';
import { decode } from './decoded.js';

type Bytes = readonly number[];

/** Type tags are ASCII characters (`TYPE_TAG` in wire.ts). */
const ascii = (letter: string): number => letter.charCodeAt(0);

/**
 * The fields are the server's name and version, the user, the host, the sample specification, the default
 * sink, no default source, a cookie, and the channel map.
 */
const serverInfo = (defaultSink: string | null, ...positions: readonly number[]): number[] =>
  [
    wire.text('p'),
    wire.text('1'),
    wire.text('u'),
    wire.text('h'),
    wire.spec(3, positions.length, 44100),
    wire.text(defaultSink),
    wire.text(null),
    wire.u32(1),
    wire.map(...positions),
  ].flat();

const decodedSinkInput = (change: wire.SinkInputBytes): SinkInputInfo =>
  decode('GET_SINK_INPUT_INFO', wire.sinkInput(change));

test('a sink input has every field, and a field without a value on the wire is undefined', () => {
  // Property lists have a prototype of their own, and become ordinary objects in the clone.
  assert.deepEqual(structuredClone(decodedSinkInput({})), {
    index: 7,
    name: 'Radio',
    ownerModule: undefined,
    client: 12,
    sink: 3,
    driver: 'protocol-native.c',
    sampleSpec: { format: 3, channels: 2, rate: 44100 },
    channelMap: [1, 2],
    volume: [65536, 32768],
    bufferLatency: 2000,
    sinkLatency: 30,
    resampleMethod: undefined,
    muted: false,
    corked: true,
    props: { 'media.name': 'Radio' },
    hasVolume: true,
    volumeWritable: true,
    format: { encoding: 1, props: {} },
  });
});

const LONG_TEXT = 'x'.repeat(60_000);
const LONGEST_LATENCY = wire.usec(0xffffffff, 0xffffffff);
/** Names for people, and the keys and values of properties, are cut after this many bytes. */
const TEXT_MAX_BYTES = 1024;
type FieldRow = readonly [what: string, change: wire.SinkInputBytes, field: Partial<SinkInputInfo>];
const FIELDS: readonly FieldRow[] = [
  ['no volume', { hasVolume: false }, { hasVolume: false }],
  ['a null name', { name: null }, { name: undefined }],
  ['an empty name, which is not a missing one,', { name: '' }, { name: '' }],
  [
    'a long name, whose beginning is kept,',
    { name: LONG_TEXT },
    { name: LONG_TEXT.slice(0, TEXT_MAX_BYTES) },
  ],
  ['no client', { client: 0xffffffff }, { client: undefined }],
  ['no channel', { volumes: wire.volumes() }, { volume: [] }],
  ['a latency over 2^32', { bufferLatency: wire.usec(2, 5) }, { bufferLatency: 2 ** 33 + 5 }],
  [
    'a latency that is reduced to the largest exact integer',
    { bufferLatency: LONGEST_LATENCY },
    { bufferLatency: Number.MAX_SAFE_INTEGER },
  ],
];
for (const [what, change, field] of FIELDS) {
  test(`a sink input with ${what} is read`, () => {
    // Only `field` is checked. The other fields are compared with themselves.
    const sinkInput = decodedSinkInput(change);
    assert.deepEqual(sinkInput, { ...sinkInput, ...field });
  });
}

const utf8 = (value: string): Bytes => [...new TextEncoder().encode(value)];
/** The entries of a property list on the wire, and the JSON text of the list that is read. */
const PROPS: readonly (readonly [what: string, entries: Bytes[], expected: string])[] = [
  ['a value without a final NUL', [wire.prop('k', utf8('abc'))], '{"k":"abc"}'],
  ['a value that is only a NUL', [wire.prop('k', [0])], '{"k":""}'],
  ['a value with a NUL inside', [wire.prop('k', [97, 0, 98, 0])], '{"k":"a\\u0000b"}'],
  ['a value with broken UTF-8', [wire.prop('k', [97, 0xf0, 0x9f, 98, 0])], '{"k":"a\ufffdb"}'],
  ['the key __proto__', [wire.textProp('__proto__', 'x')], '{"__proto__":"x"}'],
  ['a key twice', [wire.textProp('k', '1'), wire.textProp('k', '2')], '{"k":"2"}'],
  [
    'short values that differ by length',
    ['', 'a', 'aa', 'aaa'].map((value, index) => wire.textProp(`k${index}`, value)),
    '{"k0":"","k1":"a","k2":"aa","k3":"aaa"}',
  ],
];
for (const [what, entries, expected] of PROPS) {
  test(`a property list that has ${what} is read`, () => {
    const { props } = decodedSinkInput({ props: wire.props(...entries) });
    assert.equal(JSON.stringify(props), expected);
    // A property list inherits nothing, so it has only the keys of its entries.
    assert.deepEqual(Reflect.ownKeys(Object.getPrototypeOf(props)), []);
    assert.equal('toString' in props, false);
  });
}

const MULTIBYTE_CHARACTERS = ['é', '☕', '🎵'];
const CUTS: readonly (readonly [what: string, value: string, expected: string])[] = [
  ['one byte too long', 'x'.repeat(TEXT_MAX_BYTES + 1), 'x'.repeat(TEXT_MAX_BYTES)],
  ['as long as a text may be', 'x'.repeat(TEXT_MAX_BYTES), 'x'.repeat(TEXT_MAX_BYTES)],
  ...MULTIBYTE_CHARACTERS.flatMap((character) =>
    [0, 1, 2, 3].map((shift): [string, string, string] => {
      const size = utf8(character).length;
      const value = 'x'.repeat(shift) + character.repeat(TEXT_MAX_BYTES);
      const kept = 'x'.repeat(shift) + character.repeat(Math.floor((TEXT_MAX_BYTES - shift) / size));
      return [`many ${character} after ${shift} x`, value, kept];
    }),
  ),
];
for (const [what, value, expected] of CUTS) {
  test(`a text is cut only if it is too long, and only between characters: ${what}`, () => {
    const props = wire.props(wire.textProp('k', value), wire.textProp(value, 'v'), wire.textProp('l', 'w'));
    const input = decodedSinkInput({ name: value, props });
    assert.deepEqual({ ...input.props }, { k: expected, [expected]: 'v', l: 'w' });
    assert.equal(input.name, expected);
    // `corked` follows the property list, so it shows that the list was read to its end.
    assert.equal(input.corked, true);
  });
}

test('a long text that is not UTF-8 is cut, too', () => {
  const { props } = decodedSinkInput({ props: wire.props(wire.prop('k', new Array(60_000).fill(0x80))) });
  assert.equal(props['k'], '\ufffd'.repeat(TEXT_MAX_BYTES));
});

test('the first 115 of 1000 properties are kept, because 13 of the 128 places are reserved for needed properties', () => {
  const entries = Array.from({ length: 1000 }, (_, index) => wire.textProp(`k${index}`, String(index)));
  const { props, corked } = decodedSinkInput({ props: wire.props(...entries) });
  const expected = Array.from({ length: 115 }, (_, index) => `k${index}`);
  assert.deepEqual(Object.keys(props), expected);
  assert.equal(corked, true);
});

/** 200 properties with values of this length. */
const manyProps = (size: number): Bytes[] =>
  Array.from({ length: 200 }, (_, index) =>
    wire.textProp(`k${String(index).padStart(3, '0')}`, 'x'.repeat(size)),
  );
const NEEDED_KEYS = [
  'media.name',
  'application.id',
  'application.name',
  'application.process.binary',
  'application.process.host',
  'application.process.id',
  'application.process.user',
  'node.nick',
  'node.link-group',
  'device.nick',
  'device.master_device',
  'device.string',
  'api.bluez5.address',
];

test('the first 8 KiB of very large properties are kept', () => {
  // Each takes 1024 bytes: the key, the value and its NUL.
  const { props, corked } = decodedSinkInput({ props: wire.props(...manyProps(1019)) });
  assert.equal(Object.keys(props).length, 8);
  assert.equal(corked, true);
});

test('the properties that records need are kept wherever they stand', () => {
  const needed = NEEDED_KEYS.map((key) => wire.textProp(key, key.toUpperCase()));
  // The large values use up the bytes, and the small values use up the places.
  for (const bytesPerValue of [1019, 10]) {
    const { props } = decodedSinkInput({ props: wire.props(...manyProps(bytesPerValue), ...needed) });
    for (const key of NEEDED_KEYS) assert.equal(props[key], key.toUpperCase());
    assert.ok(Object.keys(props).length <= 128);
  }
});

test('the first 512 records of a list are kept, and the others are skipped', () => {
  const records = Array.from({ length: 600 }, (_, index) => wire.sinkInput({ index }));
  const list = decode('GET_SINK_INPUT_INFO_LIST', records.flat());
  assert.deepEqual([list.length, list.at(-1)?.index], [512, 511]);
  // The skipped records are decoded, too, so a broken record behind them is found.
  assert.throws(() => decode('GET_SINK_INPUT_INFO_LIST', [...records.flat(), ascii('L')]), WireError);
});

test('names that are sent back to the server, or compared with its names, are not cut', () => {
  assert.equal(decode('GET_SINK_INFO', wire.sink({ name: LONG_TEXT })).name, LONG_TEXT);
  assert.equal(decode('GET_SERVER_INFO', serverInfo(LONG_TEXT, 1)).defaultSink, LONG_TEXT);
});

type Port = readonly [name: string, description: string | null, priority: number, available: number];
const bytesOfOldPort = ([name, description, priority, available]: Port): number[] =>
  [wire.text(name), wire.text(description), wire.u32(priority), wire.u32(available)].flat();
const OLD_PORT_BYTES = bytesOfOldPort(['line-out', 'Line Out', 9900, 2]);
/** Since version 34 a port also has an availability group and a type. */
const NEW_PORT_BYTES = [...OLD_PORT_BYTES, ...wire.text('group'), ...wire.u32(8)];
const BARE_PORT_BYTES = [...bytesOfOldPort(['hdmi', null, 0, 0]), ...wire.text(null), ...wire.u32(0)];
const oldPort = { name: 'line-out', description: 'Line Out', priority: 9900, available: 2 };
const newPort = { ...oldPort, availabilityGroup: 'group', type: 8 };
const barePort = {
  name: 'hdmi',
  description: undefined,
  priority: 0,
  available: 0,
  availabilityGroup: undefined,
  type: 0,
};

const PORTS: readonly (readonly [version: number, bytes: Bytes[], ports: object[]])[] = [
  [32, [], []],
  [32, [OLD_PORT_BYTES], [oldPort]],
  [33, [OLD_PORT_BYTES, OLD_PORT_BYTES], [oldPort, oldPort]],
  [34, [NEW_PORT_BYTES], [newPort]],
  [35, [NEW_PORT_BYTES, BARE_PORT_BYTES], [newPort, barePort]],
];
for (const [version, bytes, ports] of PORTS) {
  test(`a sink with ${ports.length} ports is read in version ${version}`, () => {
    for (const activePort of ['line-out', null]) {
      const sink = decode('GET_SINK_INFO', wire.sink({ ports: bytes, activePort }), { version });
      assert.deepEqual(sink.ports, ports);
      assert.equal(sink.activePort, activePort ?? undefined);
      assert.equal(sink.volumeSteps, 0x10001);
    }
  });
}

test('a port in the form of another version is a violation', () => {
  for (const [version, bytes] of [[33, NEW_PORT_BYTES] as const, [34, OLD_PORT_BYTES] as const])
    assert.throws(() => decode('GET_SINK_INFO', wire.sink({ ports: [bytes] }), { version }), WireError);
});

test('a sink without a state, card, monitor or description has undefined in these fields', () => {
  const sink = decode('GET_SINK_INFO', wire.sink({ state: 0xffffffff }));
  const absentFields = ['state', 'card', 'monitorSource', 'description', 'monitorSourceName'] as const;
  for (const field of absentFields) assert.equal(sink[field], undefined, field);
});

test('positions of many channels are read in their order', () =>
  assert.deepEqual(decode('GET_SERVER_INFO', serverInfo(null, 9, 5, 7, 3)).channelMap, [9, 5, 7, 3]));

const SINK_INPUT = wire.sinkInput();
/** The type tag `0` of false becomes `2`, which is no type tag. */
const BAD_BOOLEAN = SINK_INPUT.map((byte) => (byte === ascii('0') ? ascii('2') : byte));
const SERVER = serverInfo(null, 1);
/** The last two bytes are the number of channels and the position of the only channel. */
const TOO_FEW_POSITIONS = SERVER.with(-2, 200);
/** A sink input with one property, which has these bytes after its key. */
const sinkInputWithProperty = (...bytesAfterKey: Bytes[]): Bytes =>
  wire.sinkInput({ props: [ascii('P'), ...wire.text('k'), ...bytesAfterKey.flat()] });
const END_OF_LIST: Bytes = [ascii('N')];
/** A blob begins with the tag `x` and the blob's length. A u32 with this tag is such a beginning. */
const TOO_LONG = sinkInputWithProperty(wire.u32(1e9), wire.u32(1e9).with(0, ascii('x')));
const VOLUME: Bytes = [ascii('V'), 0, 0, 0, 1];
const WRONG_TYPE = sinkInputWithProperty(VOLUME, wire.blob([97]), END_OF_LIST);
const TWO_LENGTHS = sinkInputWithProperty(wire.u32(2), wire.blob([97]), END_OF_LIST);
/** These bytes follow the number of ports in a sink: no active port, and a list with one format. */
const AFTER_PORTS = [wire.text(null), wire.u8(1), wire.format(1)].flat();
const TOO_MANY_PORTS = [
  wire.sink().slice(0, -(wire.u32(0).length + AFTER_PORTS.length)),
  wire.u32(0xffffffff),
  AFTER_PORTS,
].flat();

type ViolationRow = readonly [what: string, command: RequestName, payload: Bytes, detail: RegExp];
const VIOLATIONS: readonly ViolationRow[] = [
  ['a wrong tag', 'GET_SINK_INPUT_INFO', SINK_INPUT.with(0, ascii('B')), /byte 0 .*expected u32, got u8/],
  ['an unknown tag', 'GET_SINK_INPUT_INFO', SINK_INPUT.with(0, 0x7f), /expected u32, got byte 0x7f/],
  ['no end of a text', 'GET_SERVER_INFO', [ascii('t'), 97, 98], /without its end/],
  ['no name', 'GET_SINK_INFO', [...wire.u32(1), ...wire.text(null)], /expected text, got noText/],
  ['the empty payload', 'GET_SERVER_INFO', [], /got the end of the frame/],
  ['a u32 cut short', 'GET_SINK_INPUT_INFO', [ascii('L'), 0, 0], /ends within 4 bytes/],
  ['a boolean that is neither true nor false', 'GET_SINK_INPUT_INFO', BAD_BOOLEAN, /expected/],
  ['more channels than bytes', 'GET_SERVER_INFO', TOO_FEW_POSITIONS, /ends within 200/],
  ['a byte left over', 'GET_SERVER_INFO', [...SERVER, 0], /1 bytes left over/],
  [
    'a list with garbage at its end',
    'GET_SINK_INPUT_INFO_LIST',
    [...SINK_INPUT, ascii('L'), 1],
    /ends within/,
  ],
  ['an acknowledgement with content', 'SET_SINK_MUTE', wire.u32(1), /5 bytes left over/],
  ['a property longer than the frame', 'GET_SINK_INPUT_INFO', TOO_LONG, /ends within/],
  ['a property whose length is no u32', 'GET_SINK_INPUT_INFO', WRONG_TYPE, /expected u32, got volume/],
  ['a property with two lengths', 'GET_SINK_INPUT_INFO', TWO_LENGTHS, /announced/],
  ['4 billion ports, of which none comes', 'GET_SINK_INFO', TOO_MANY_PORTS, /expected text, got noText/],
];
for (const [what, command, payload, detail] of VIOLATIONS) {
  test(`${what} is a violation`, () =>
    assert.throws(() => decode(command, payload), { name: 'WireError', message: detail }));
}
