// Checks the compose file: it gives the container certain folders and files of the node. image.test.ts tests
// the image.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

// build/test/packaging/compose.test.js -> the project's root
const FILE = new URL('../../../packaging/compose.yaml', import.meta.url);

interface ComposeFile {
  readonly services: {
    readonly tonearm: {
      readonly user: string;
      readonly environment: { readonly XDG_RUNTIME_DIR: string };
      readonly volumes: readonly string[];
    };
  };
}

const serviceOf = (text: string) => (parse(text) as ComposeFile).services.tonearm;
const volumesOf = (text: string): readonly string[] => serviceOf(text).volumes;

test('the lines for Avahi are valid after they are uncommented', () => {
  const text = readFileSync(FILE, 'utf8').replaceAll('# - /run', '- /run');
  const expected = ['/run/avahi-daemon:/run/avahi-daemon:ro', '/run/dbus:/run/dbus:ro'];
  assert.deepEqual(volumesOf(text).slice(-2), expected);
});

test("the container sees the user's runtime directory also if logind mounts it later", () => {
  const { user, environment, volumes } = serviceOf(readFileSync(FILE, 'utf8'));
  assert.equal(environment.XDG_RUNTIME_DIR, `/run/user/${user.split(':')[0]}`);
  assert.ok(volumes.includes('/run/user:/run/user:rslave'), volumes.join());
});

test("the container can read, but not change, the node's machine id, from which the MQTT identifier is computed", () =>
  assert.ok(volumesOf(readFileSync(FILE, 'utf8')).includes('/etc/machine-id:/etc/machine-id:ro')));
