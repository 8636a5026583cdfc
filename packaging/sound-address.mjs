// Finds the sound server that the daemon would use, with the daemon's own search, and checks that it
// answers. It starts nothing.

import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const CONNECT_DEADLINE_MS = 2000;
const SOURCES = join(fileURLToPath(new URL('..', import.meta.url)), 'src');
const SEARCH = `
  export { findServer, readMachineId } from './actors/audio/server-address.js';
  export { homeDirectory } from './host/user-directories.js';
`;

/** The daemon's search, built from the sources, because no bundle of the daemon has it alone. */
async function daemonSearch() {
  const stdin = { contents: SEARCH, resolveDir: SOURCES, loader: 'ts' };
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  const [{ contents }] = outputFiles;
  return import(`data:text/javascript;base64,${Buffer.from(contents).toString('base64')}`);
}

/**
 * Only a connection shows whether a server is there, because a socket file outlives its server. If systemd
 * listens in place of a server, the connection starts the server.
 */
function answers(path) {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: CONNECT_DEADLINE_MS });
    const settle = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
  });
}

/**
 * Resolves with the `path` of a sound server that can be reached. Where there is none, `elsewhere` may be a
 * sentence about a configured server that has no socket on this machine.
 */
export async function reachableSoundServer(env = process.env, uid = process.getuid()) {
  const { findServer, readMachineId, homeDirectory } = await daemonSearch();
  const found = await findServer({ env, uid, home: homeDirectory(), machineId: readMachineId() });
  if (!found.ok) return { elsewhere: found.error };
  for (const path of found.value.paths) {
    if (await answers(path)) return { path };
  }
  return { elsewhere: found.value.addressProblem };
}
