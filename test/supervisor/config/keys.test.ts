// Each key of the configuration is checked under its own name. Keys and defaults are compared with docs/configuration.md in docs.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEYS, pathsIn } from '../../../src/supervisor/config/keys.js';
import { problemsIn } from './full.js';

// No key takes a number below zero, and no section takes anything but a map: each must notice by its own name.
for (const path of pathsIn(KEYS)) {
  test(`${path} is read`, async () => {
    const names = path.split('.');
    const text = `${names.map((name, depth) => `${' '.repeat(depth)}${name}:`).join('\n')} -7`;
    const place = `a:${names.length}:${names.length + (names.at(-1) ?? '').length + 2}`;
    const [problem = '', ...others] = await problemsIn(text);
    assert.deepEqual(others, []);
    assert.ok(problem.startsWith(`${place}: ${path}: must be `), problem);
    // The value of this key may be the password itself, so it is not shown.
    const end = path === 'mqtt.passwordFile' ? ': it must begin with / or ~/' : ', not -7';
    assert.ok(problem.endsWith(end), problem);
  });
}
