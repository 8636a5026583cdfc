// A user's session for real players, private to its test: a session bus, a sound server and an album to
// play. The session starts no player itself: mpv.ts, cmus.ts and the others do.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, type Program, startProgram } from '../sound/program.js';
import { startPulseAudio } from '../sound/servers.js';
import { until } from '../until.js';
import { COVER, type Tone, writeTone } from './tones.js';

export const ALBUM = 'Ton & Töne';
/**
 * The tracks in the order of the album. Their tags have characters beyond ASCII, quotes and an ampersand,
 * which must arrive unchanged.
 */
export const TRACKS: readonly Tone[] = [
  { title: 'Été', artist: 'Sinus "A"', album: ALBUM, seconds: 60 },
  { title: 'Two', artist: 'Cosinus', album: ALBUM, seconds: 50 },
];

export type Session = Awaited<ReturnType<typeof startSession>>;

export async function startSession() {
  const sound = await startPulseAudio();
  const { env, directory } = sound;
  const path = (...names: readonly string[]): string => join(directory, ...names);
  /** The path of a track. */
  const fileOf = (title: string): string => path('album', `${title}.wav`);
  /** The picture beside the tracks. */
  const cover = path('album', 'cover.png');
  const programs: Program[] = [];
  /** Starts a program that ends with the session. */
  const run = (command: string, args: readonly string[], moreEnv: Environment = {}): Program => {
    const program = startProgram(command, args, { env: { ...env, ...moreEnv }, log: path('programs.log') });
    programs.push(program);
    return program;
  };
  // `env` has the address of this bus (sound/server.ts).
  run('dbus-daemon', ['--session', '--nofork', '--nopidfile', `--address=unix:path=${path('bus')}`]);
  mkdirSync(path('album'));
  for (const track of TRACKS) writeTone(fileOf(track.title), track);
  writeFileSync(cover, COVER);
  await until('the bus listens', () => statSync(path('bus'), { throwIfNoEntry: false })?.isSocket() === true);
  const stop = async (): Promise<void> => {
    for (const program of programs.toReversed()) await program.end();
    await sound.stop();
  };
  return { env, path, fileOf, files: TRACKS.map(({ title }) => fileOf(title)), cover, run, stop };
}
