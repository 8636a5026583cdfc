// The steps of "Adding a backend" in ARCHITECTURE.md must be enough for a route, an event, a command and a
// place in the OpenAPI document. The steps of "Adding a bridge" must be enough for a bridge that receives the
// backend's record, and whose command is carried out.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';
import { PROJECT } from './documented.js';
import {
  BACKEND_FILE,
  BACKEND_WORKER,
  BRIDGE_EDITS,
  BRIDGE_FILE,
  BRIDGE_WORKER,
  EDITS,
} from './example-backend.js';

/** Copies the project into the folder, and adds the example's backend and bridge to this copy. */
function addExample(folder: string): void {
  for (const name of ['src', 'packaging', 'package.json', 'tsconfig.json']) {
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, text, replacement] of [...EDITS, ...BRIDGE_EDITS]) {
    const source = readFileSync(join(folder, file), 'utf8');
    assert.equal(source.split(text).length, 2, `${file} has ${JSON.stringify(text)} once`);
    const edited = source.replace(text, () => replacement.replace('@', () => text));
    writeFileSync(join(folder, file), edited);
  }
  for (const [file, text] of Object.entries({
    [BACKEND_FILE]: BACKEND_WORKER,
    [BRIDGE_FILE]: BRIDGE_WORKER,
  })) {
    mkdirSync(dirname(join(folder, file)));
    writeFileSync(join(folder, file), text);
  }
}

/** Runs Node in a folder; throws with its output when it fails. */
function runNode(folder: string, ...args: readonly string[]): void {
  execFileSync(process.execPath, [...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
}

for (const [what, edits, worker] of [
  ['backend', EDITS, BACKEND_FILE.replace('bell', 'NAME')],
  ['bridge', BRIDGE_EDITS, BRIDGE_FILE.replace('clapper', 'NAME')],
] as const) {
  test(`the documentation lists the places in which the example of a ${what} is added`, () => {
    const page = readFileSync(join(PROJECT, 'ARCHITECTURE.md'), 'utf8').split(`\n## Adding a ${what}\n`)[1];
    const listed = [...(page?.split('\n## ')[0] ?? '').matchAll(/^\| `([^`]+)` \|/gm)].map((row) => row[1]);
    const edited = new Set([...edits.map(([file]) => file), worker]);
    assert.deepEqual(listed.sort(), [...edited].sort());
  });
}

test('an example backend answers its route, sends its event and obeys its command, also from an example bridge', async (t) => {
  const folder = temporaryFolder(t);
  addExample(folder);
  runNode(folder, join(PROJECT, 'node_modules/typescript/bin/tsc'), '-p', '.');
  runNode(folder, 'packaging/build.mjs', '--dist-only');
  const config = `bell: {enabled: true}\n${NO_BACKENDS}`;
  const entry = join(folder, 'dist/main.js');
  const daemon = await Daemon.start({ config, entry }, t);
  await daemon.untilBackend('bell', 'up');
  assert.deepEqual(await daemon.read('/bell'), { rings: 0 });
  const { paths } = await daemon.read<{ paths: Record<string, object> }>('/openapi.json');
  const methods = [paths['/bell'], paths['/bell/ring']].map((path) => Object.keys(path ?? {}));
  assert.deepEqual(methods, [['get'], ['post']]);
  // The tests' own consumer refuses events that docs/events.md does not list.
  const request = 'GET /events?types=bell.updated HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const stream = new RawConnection(daemon.port).write(request);
  t.after(() => stream.destroy());
  await stream.until((text) => text.includes('connected'));
  assert.equal((await daemon.post('/bell/ring')).status, 202);
  await stream.until((text) => /^event: bell\.updated\n(?:id: .*\n)?data: \{"rings":1\}$/m.test(text));
  assert.deepEqual(await daemon.read('/bell'), { rings: 1 });
  const bridgedDaemon = await Daemon.start({ config: `clapper: {enabled: true}\n${config}`, entry }, t);
  const readBridgeDetail = async () => (await bridgedDaemon.health()).backends['clapper']?.detail;
  await until('the bridge has got the event', async () => (await readBridgeDetail()) === '{"rings":1}');
});
