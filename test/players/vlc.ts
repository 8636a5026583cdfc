// VLC with its MPRIS module, as a test holds it. What it really holds is asked on the session bus by busctl, past tonearm.

import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Program, startProgram } from '../sound/program.js';
import { until } from '../until.js';
import type { Session } from './session.js';

const run = promisify(execFile);
const DEADLINE_MS = 10_000;

export const VLC = 'org.mpris.MediaPlayer2.vlc';

/** Plays the files. Resolves when its tracklist has them. */
export async function startVlc(session: Session, files: readonly string[]): Promise<Program> {
  const flags = ['--intf', 'dummy', '--control', 'dbus', '--no-video', '--aout', 'pulse'];
  const vlc = startProgram(programFor(session), [...flags, ...files], {
    env: { ...session.env, HOME: session.path() },
    log: session.path('vlc.log'),
  });
  await until('VLC has its tracks', async () => {
    const ids = await trackIds(session).catch(() => []);
    return ids.length === files.length;
  });
  return vlc;
}

/** The ids in VLC's tracklist, in their order. */
export async function trackIds(session: Session): Promise<readonly string[]> {
  const property = [VLC, '/org/mpris/MediaPlayer2', 'org.mpris.MediaPlayer2.TrackList', 'Tracks'];
  const args = [`--address=unix:path=${session.path('bus')}`, '--json=short', 'get-property', ...property];
  const { stdout } = await run('busctl', args, { timeout: DEADLINE_MS });
  return (JSON.parse(stdout) as { readonly data: readonly string[] }).data;
}

/** VLC's launcher refuses root, so root gets a copy that asks for another number at that place. The player itself is in its libraries. */
function programFor(session: Session): string {
  if (process.getuid?.() !== 0) return 'vlc';
  const copy = session.path('vlc');
  writeFileSync(
    copy,
    Buffer.from(readFileSync('/usr/bin/vlc', 'latin1').replace('geteuid', 'getppid'), 'latin1'),
  );
  chmodSync(copy, 0o700);
  return copy;
}
