// Defines a row of the table: the keys of the configuration, the operations and the events that it drives in
// the built daemon, and the test that shows their effect. `declareRows` runs the rows, and checks that each
// row has driven what it lists.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { EVENTS, type EventType } from '../../../src/protocol/actor/collections.js';
import { OPERATION_NAMES, OPERATIONS, type OperationName } from '../../../src/protocol/actor/operations.js';
import { KEYS, pathsIn } from '../../../src/supervisor/config/keys.js';
import type { Driver } from './driver.js';

/**
 * A key, an operation or an event that a row drives, such as `key api.port`, `operation muteOutput` or
 * `event audio.updated`.
 */
export type Driven = `key ${string}` | `operation ${OperationName}` | `event ${EventType}`;

/** `N` is the node that all rows of one test file share. */
export interface Row<N> {
  readonly drives: readonly Driven[];
  readonly title: string;
  readonly run: (node: N) => Promise<void>;
}

/** A node with one driver for each of its daemons. */
export interface DrivenNode {
  readonly drivers: readonly Driver[];
}

const paths = pathsIn(KEYS);
const isSection = (path: string): boolean => paths.some((other) => other.startsWith(`${path}.`));

/** Every key, operation and event, each of which must have a row. */
export const REQUIRED: readonly string[] = [
  ...paths.filter((path) => !isSection(path)).map((path) => `key ${path}`),
  ...OPERATION_NAMES.map((name) => `operation ${name}`),
  ...Object.keys(EVENTS).map((type) => `event ${type}`),
];

/**
 * True if a daemon of the node has carried out the operation, or has sent the event, since the row began. A
 * key is driven if the configuration of a daemon has it.
 */
function isDriven(driven: string, drivers: readonly Driver[]): boolean {
  const [kind = '', name = ''] = driven.split(' ');
  if (kind === 'key') return drivers.some(({ config }) => hasKey(parse(config), name));
  if (kind === 'event') return drivers.some((driver) => driver.receivedTypes().has(name));
  const { method, path } = OPERATIONS[name as OperationName];
  // An example is `^POST /audio/outputs/[^/]+/mute/?(\?.*)?$`. The end allows a query.
  const requestPattern = new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?(\\?.*)?$`);
  return drivers.some(({ succeeded }) => succeeded.some((request) => requestPattern.test(request)));
}

/** An example of `path` is `api.port`. */
function hasKey(config: unknown, path: string): boolean {
  let content = config;
  for (const word of path.split('.')) {
    if (typeof content !== 'object' || content === null || !Object.hasOwn(content, word)) return false;
    content = (content as Readonly<Record<string, unknown>>)[word];
  }
  return true;
}

/** Declares a test for each row. Each test calls `node` to get the started node. */
export function declareRows<N extends DrivenNode>(rows: readonly Row<N>[], node: () => N): void {
  for (const { drives, title, run } of rows) {
    test(title, async () => {
      const { drivers } = node();
      for (const driver of drivers) driver.beginRow();
      await run(node());
      const notDriven = drives.filter((driven) => !isDriven(driven, drivers));
      assert.deepEqual(notDriven, [], 'the row lists these, but has not driven them');
    });
  }
}
