// Uses late parts of the package that is installed on a booted node. This file sends requests to the
// service, and runs commands. test/contract/late-parts.ts lists all late parts. Some of them are not used
// here, but package.test.ts and form-with-node.test.ts use all of them in the unpacked packages.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { CONFIG, NODE_PROGRAM, type Node } from '../node/node.js';
import { send } from '../tools/http.js';
import { until } from '../until.js';

const PLAYER = fileURLToPath(new URL('./web-player.js', import.meta.url));
const PLAYER_ON_NODE = '/opt/web-player.mjs';
const COVERS_CONFIG = `${CONFIG}/conf.d/60-covers.yaml`;

/** Commands that load a late part each, and what they print. */
const COMMANDS: readonly (readonly [command: string, prints: RegExp])[] = [
  ['--check-config', /^bind:[\s\S]*^# /m],
  ['progress --help', /^Usage: tonearm progress /],
  ['bench --help', /^Usage: tonearm bench /],
  ['trace --help', /^Usage: tonearm trace /],
];

/**
 * The player with its packages, as the text of one file. dbus-next loads `usocket` to pass file descriptors,
 * and `x11` to find the address of a bus. The player does neither, so both are left out.
 */
async function bundledPlayer(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [PLAYER],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    external: ['usocket', 'x11'],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return outputFiles[0]?.text ?? assert.fail('the player was not bundled');
}

/** Uses late parts on the node. Afterwards the service is as it was before. */
export async function useLateParts(node: Node): Promise<void> {
  for (const [command, prints] of COMMANDS) {
    const { status, stdout, stderr } = await node.user('tonearm', ...command.split(' '));
    assert.equal(status, 0, stderr);
    assert.match(stdout, prints);
  }
  const folder = `${CONFIG}/conf.d`;
  await node.userShell(
    `mkdir -p ${folder}; echo 'players: {enabled: true, fetchCovers: true}' > ${COVERS_CONFIG}`,
  );
  await node.restartService();
  await node.writeFile(PLAYER_ON_NODE, await bundledPlayer());
  const player = node.spawnUser(NODE_PROGRAM, PLAYER_ON_NODE);
  try {
    const isListed = async () => (await node.read<readonly PlayerRecord[]>('/players')).length > 0;
    await until('the player is listed', isListed);
    // web-player.ts has the name of the player and the address of the cover. This address is not public. So
    // the part that fetches covers is loaded but fetches nothing, and the answer is a redirect.
    const cover = await node.ask('GET', '/players/scripted/cover');
    assert.deepEqual(
      [cover.status, cover.headers['location']],
      [307, 'http://10.0.0.1/cover.png'],
      cover.text,
    );
    // The description of the interface and the check of a request's body are late parts, too.
    await node.read('/openapi.json');
    const refused = await send(await node.door(), {
      method: 'POST',
      path: '/players/scripted/volume',
      headers: { 'Content-Type': 'application/json' },
      body: '{"volume": 7}',
    });
    assert.match(refused.text, /Field volume must be a number between 0 and 1/);
  } finally {
    player.kill('SIGKILL');
    await node.userShell(`rm ${COVERS_CONFIG}`);
    await node.shell(`rm ${PLAYER_ON_NODE}`);
    await node.restartService();
  }
}
