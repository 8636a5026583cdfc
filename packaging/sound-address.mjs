// Where a sound server would be, and whether one answers there. Looks and connects; starts nothing.

import { connect } from 'node:net';
import { join } from 'node:path';

const CONNECT_DEADLINE_MS = 2000;

/** Socket paths in the order in which clients of PulseAudio try them. PULSE_SERVER, when set, stands alone. */
function soundSocketPaths(env, uid) {
  if (env.PULSE_SERVER) {
    return env.PULSE_SERVER.split(/\s+/)
      .map((address) => address.replace(/^\{[^}]*\}/, '').replace(/^unix:/, ''))
      .filter((address) => address.startsWith('/'));
  }
  return [
    ...(env.PULSE_RUNTIME_PATH ? [join(env.PULSE_RUNTIME_PATH, 'native')] : []),
    join(env.XDG_RUNTIME_DIR || `/run/user/${uid}`, 'pulse/native'),
  ];
}

/** A socket file outlives its server, and socket activation answers without one: only a connection shows whether a server is there. */
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

/** The socket path of a sound server that can be reached; undefined when there is none. */
export async function reachableSoundServer(env = process.env, uid = process.getuid()) {
  for (const path of soundSocketPaths(env, uid)) {
    if (await answers(path)) return path;
  }
  return undefined;
}
