// Starts Mopidy with mopidy-mpris, for tests. A test fills the tracklist over Mopidy's own JSON-RPC, as
// Mopidy's web clients do, and not through tonearm.

import { mkdirSync, writeFileSync } from 'node:fs';
import { freePort } from '../tools/free-port.js';
import { until } from '../until.js';
import type { Session } from './session.js';

export const MOPIDY = 'org.mpris.MediaPlayer2.mopidy';

export type Mopidy = Awaited<ReturnType<typeof startMopidy>>;

/** Starts Mopidy with an empty tracklist, as after every boot. Resolves when Mopidy answers. */
export async function startMopidy(session: Session) {
  // Mopidy accepts neither a socket nor port 0.
  const port = await freePort();
  mkdirSync(session.path('mopidy'));
  const config = session.path('mopidy', 'mopidy.conf');
  writeFileSync(config, configuration(session, port));
  session.run('mopidy', ['--config', config], { HOME: session.path('mopidy') });
  const call = async (method: string, params: object = {}): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: `core.${method}`, params });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/mopidy/rpc`, { method: 'POST', headers, body });
    const { result, error } = (await answer.json()) as { readonly result: unknown; readonly error?: unknown };
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  await until('Mopidy answers', () => call('playback.get_state').then((state) => state === 'stopped'));
  /** Adds files to the end of the tracklist. */
  const add = (files: readonly string[]): Promise<unknown> =>
    call('tracklist.add', { uris: files.map((file) => `file://${encodeURI(file)}`) });
  return { call, add };
}

/** With `sync=true` Mopidy plays to nowhere at the speed of the clock. */
function configuration(session: Session, port: number): string {
  const directory = session.path('mopidy');
  return `
[core]
cache_dir = ${directory}/cache
config_dir = ${directory}/config
data_dir = ${directory}/data
[audio]
output = fakesink sync=true
[http]
enabled = true
hostname = 127.0.0.1
port = ${port}
zeroconf =
[mpd]
enabled = false
[file]
media_dirs = ${session.path('album')}
[mpris]
enabled = true
bus_type = session
`;
}
