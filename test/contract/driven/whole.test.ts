// The table is whole: every key of the configuration, every operation and every event has a row that drives
// the built daemon, and no row names what does not exist.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS, type OperationName } from '../../../src/protocol/actor/operations.js';
import { BLUETOOTH_ROWS } from './bluetooth-rows.js';
import { BROKER_ROWS } from './broker-rows.js';
import { HTTP_ROWS } from './http-rows.js';
import { INPUT_ROWS } from './input-rows.js';
import { NETWORK_ROWS } from './network-rows.js';
import { PLAYER_ROWS } from './player-rows.js';
import { REQUIRED } from './row.js';
import { SOUND_ROWS } from './sound-rows.js';
import { UNIT_ROWS } from './unit-rows.js';

/** The rows by the name of their file, which is beside this one. */
const ROWS = {
  'http-rows.ts': HTTP_ROWS,
  'sound-rows.ts': SOUND_ROWS,
  'input-rows.ts': INPUT_ROWS,
  'unit-rows.ts': UNIT_ROWS,
  'player-rows.ts': PLAYER_ROWS,
  'bluetooth-rows.ts': BLUETOOTH_ROWS,
  'network-rows.ts': NETWORK_ROWS,
  'broker-rows.ts': BROKER_ROWS,
};

/**
 * The file to which a row belongs. The pattern is tried on the name of the key or event that the row drives,
 * or on the backend of its operation. For example, `^players?` matches `players.ignore` and `player.added`.
 */
const PLACES: readonly (readonly [pattern: RegExp, file: keyof typeof ROWS])[] = [
  [/^(?:pulseaudio|audio)\b/, 'sound-rows.ts'],
  [/^(?:systemd|service|power|upgrade)\b/, 'unit-rows.ts'],
  [/^players?\b/, 'player-rows.ts'],
  [/^bluetooth\b/, 'bluetooth-rows.ts'],
  [/^(?:discovery|node)\b/, 'network-rows.ts'],
  [/^mqtt\b/, 'broker-rows.ts'],
];

/** The result is '' for an operation without a backend. */
function backendOf(name: OperationName): string {
  const operation = OPERATIONS[name];
  return 'backend' in operation ? operation.backend : '';
}

/**
 * The file for the row of a requirement such as `key players.ignore` or `operation muteOutput`. If no
 * pattern of `PLACES` matches, the requirement concerns HTTP itself.
 */
function placeOf(required: string): string {
  const [kind, name = ''] = required.split(' ');
  const subject = kind === 'operation' ? backendOf(name as OperationName) : name;
  return PLACES.find(([pattern]) => pattern.test(subject))?.[1] ?? 'http-rows.ts';
}

const driven = new Set<string>(Object.values(ROWS).flatMap((rows) => rows.flatMap(({ drives }) => drives)));

test('every key, operation and event has a row that drives the built daemon', () => {
  const missing = REQUIRED.filter((required) => !driven.has(required));
  const advice = missing.map(
    (name) =>
      `- '${name}': add { drives: ['${name}'], title, run } to test/contract/driven/${placeOf(name)}, where \`run\` ` +
      'shows its effect in the built daemon, not that it is accepted; for a key also what happens without the key',
  );
  assert.deepEqual(missing, [], `no row drives\n${advice.join('\n')}`);
});

test('every row drives keys, operations and events that exist', () => {
  const unknown = [...driven].filter((name) => !REQUIRED.includes(name));
  assert.deepEqual(unknown, [], 'take these out of the rows of test/contract/driven/');
});
