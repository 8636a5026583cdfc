// Checks which folders and files of the node the container gets by the compose file. image.test.ts tests the
// image.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

// build/test/packaging/compose.test.js -> the project's root
const FILE = new URL('../../../packaging/compose.yaml', import.meta.url);

interface ComposeFile {
  readonly services: { readonly tonearm: { readonly volumes: readonly string[] } };
}

const volumesOf = (text: string): readonly string[] => (parse(text) as ComposeFile).services.tonearm.volumes;

test('the lines for Avahi are valid after they are uncommented', () => {
  const text = readFileSync(FILE, 'utf8').replaceAll('# - /run', '- /run');
  const expected = ['/run/avahi-daemon:/run/avahi-daemon:ro', '/run/dbus:/run/dbus:ro'];
  assert.deepEqual(volumesOf(text).slice(-2), expected);
});

test("the container can read, but not change, the node's machine id, from which the MQTT identifier is computed", () =>
  assert.ok(volumesOf(readFileSync(FILE, 'utf8')).includes('/etc/machine-id:/etc/machine-id:ro')));
