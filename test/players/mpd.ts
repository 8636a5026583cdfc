// Starts MPD with mpDris2, for tests. MPD plays to a null output at the speed of the clock. Tests command
// MPD by its client mpc, without tonearm.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from '../until.js';
import type { Session } from './session.js';

const execute = promisify(execFile);
const DEADLINE_MS = 10_000;

export const MPD = 'org.mpris.MediaPlayer2.mpd';

/**
 * Starts MPD and mpDris2. Resolves when MPD has read the album, perhaps before mpDris2 is on the bus. `mpc`
 * resolves with what mpc prints. `bridge` is the program mpDris2, which offers MPD on the bus.
 */
export async function startMpd(session: Session) {
  const directory = session.path('mpd');
  const socket = session.path('mpd', 'socket');
  mkdirSync(directory);
  writeFileSync(session.path('mpd', 'mpd.conf'), configuration(session.path('album'), directory, socket));
  session.run('mpd', ['--no-daemon', session.path('mpd', 'mpd.conf')]);
  const env = { ...session.env, MPD_HOST: socket };
  const mpc = async (...words: readonly string[]): Promise<string> =>
    (await execute('mpc', words, { env, timeout: DEADLINE_MS })).stdout;
  await until('MPD answers', async () => (await mpc('status')) !== '');
  await mpc('--wait', 'update');
  const bridgeEnv = { MPD_HOST: socket, HOME: directory };
  const bridge = session.run('mpDris2', ['--music-dir', session.path('album')], bridgeEnv);
  return { mpc, bridge };
}

function configuration(music: string, directory: string, socket: string): string {
  return `
music_directory "${music}"
playlist_directory "${directory}"
db_file "${directory}/database"
bind_to_address "${socket}"
log_file "${directory}/log"
zeroconf_enabled "no"
audio_output {
  type "null"
  name "nowhere"
  sync "yes"
}
`;
}
