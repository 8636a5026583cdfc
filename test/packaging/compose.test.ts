// The compose file gives the container all that the daemon needs of the node. The image itself:
// image.test.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

// build/test/packaging/compose.test.js -> the project's root
const FILE = new URL('../../../packaging/compose.yaml', import.meta.url);

test("the container has the node's machine id, of which its identifier for MQTT is made, and cannot change it", () => {
  const { services } = parse(readFileSync(FILE, 'utf8')) as {
    services: { tonearm: { volumes: readonly string[] } };
  };
  assert.ok(services.tonearm.volumes.includes('/etc/machine-id:/etc/machine-id:ro'));
});
