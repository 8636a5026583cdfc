// Starts VLC with its MPRIS module, for tests. VLC's true tracklist is read over the session bus by busctl,
// without tonearm.

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from '../until.js';
import type { Session } from './session.js';

const execute = promisify(execFile);
const DEADLINE_MS = 10_000;

export const VLC = 'org.mpris.MediaPlayer2.vlc';

/** Starts a VLC that plays the files, by default the album. Resolves when its tracklist has them. */
export async function startVlc(session: Session, files = session.files): Promise<void> {
  const flags = ['--intf', 'dummy', '--control', 'dbus', '--no-video', '--aout', 'pulse'];
  session.run(programFor(session), [...flags, ...files], { HOME: session.path() });
  const hasTracks = async (): Promise<boolean> => (await trackIds(session)).length === files.length;
  await until('VLC has its tracks', hasTracks);
}

/** The ids in VLC's tracklist, in order. */
export async function trackIds(session: Session): Promise<readonly string[]> {
  const property = [VLC, '/org/mpris/MediaPlayer2', 'org.mpris.MediaPlayer2.TrackList', 'Tracks'];
  const args = [`--address=unix:path=${session.path('bus')}`, '--json=short', 'get-property', ...property];
  const { stdout } = await execute('busctl', args, { timeout: DEADLINE_MS });
  return (JSON.parse(stdout) as { readonly data: readonly string[] }).data;
}

/**
 * The program to start. VLC's launcher refuses to run if `geteuid` returns 0, the id of root. So root gets a
 * copy that calls `getppid` instead: this name has the same length, and a parent's id is not 0. Only the
 * launcher is copied, because the player itself is in VLC's libraries.
 */
function programFor(session: Session): string {
  if (process.getuid?.() !== 0) return 'vlc';
  const copy = session.path('vlc');
  const launcher = readFileSync('/usr/bin/vlc', 'latin1').replace('geteuid', 'getppid');
  writeFileSync(copy, launcher, { encoding: 'latin1', mode: 0o700 });
  return copy;
}
