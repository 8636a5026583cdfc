// The steps of "Adding a backend" in docs/development/adding.md must be enough for a route, an event, a
// command and a place in the OpenAPI document. The steps of "Adding a bridge" must be enough for a bridge
// that receives the backend's record, and whose command is carried out.

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
    const count = source.split(text).length - 1;
    assert.equal(count, 1, `${file} has ${JSON.stringify(text)} once`);
    // In a replacement, `@` stands for the replaced text.
    // A function as the second argument of `replace` keeps `$` in a text as it is.
    const newText = replacement.replace('@', () => text);
    const newSource = source.replace(text, () => newText);
    writeFileSync(join(folder, file), newSource);
  }
  const newFiles = { [BACKEND_FILE]: BACKEND_WORKER, [BRIDGE_FILE]: BRIDGE_WORKER };
  for (const [file, text] of Object.entries(newFiles)) {
    mkdirSync(dirname(join(folder, file)));
    writeFileSync(join(folder, file), text);
  }
}

/** Runs Node in a folder. If Node fails, the error has the output of Node. */
function runNode(folder: string, ...args: readonly string[]): void {
  execFileSync(process.execPath, [...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
}

/** `documentedFile` is the new file's path as docs/development/adding.md has it. */
const EXAMPLES = [
  { what: 'backend', edits: EDITS, documentedFile: BACKEND_FILE.replace('bell', 'NAME') },
  { what: 'bridge', edits: BRIDGE_EDITS, documentedFile: BRIDGE_FILE.replace('clapper', 'NAME') },
];
for (const { what, edits, documentedFile } of EXAMPLES) {
  test(`the documentation lists the places in which the example of a ${what} is added`, () => {
    const page = readFileSync(join(PROJECT, 'docs/development/adding.md'), 'utf8');
    const fromHeading = page.split(`\n## Adding a ${what}\n`)[1];
    const section = fromHeading?.split('\n## ')[0] ?? '';
    const listed = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map((row) => row[1]);
    const changed = new Set([...edits.map(([file]) => file), documentedFile]);
    assert.deepEqual(listed.sort(), [...changed].sort());
  });
}

test('an example backend works with its route, event and command, and an example bridge can send this command', async (t) => {
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
  // The stream is read raw, because the tests' consumer refuses events that docs/events.md does not list.
  const request = 'GET /events?types=bell.updated HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const stream = new RawConnection(daemon.port).write(request);
  t.after(() => stream.destroy());
  await stream.until((text) => text.includes('connected'));
  assert.equal((await daemon.post('/bell/ring')).status, 202);
  await stream.until((text) => /^event: bell\.updated\n(?:id: .*\n)?data: \{"rings":1\}$/m.test(text));
  assert.deepEqual(await daemon.read('/bell'), { rings: 1 });

  // The bridge rings a bell that has never rung. The bridge's detail in /health is the newest record of the
  // bell.
  const bridgedDaemon = await Daemon.start({ config: `clapper: {enabled: true}\n${config}`, entry }, t);
  const readBridgeDetail = async () => (await bridgedDaemon.health()).backends['clapper']?.detail;
  await until('the bridge has rung the bell', async () => (await readBridgeDetail()) === '{"rings":1}');
});
