// A user's session for real players, private to its test: a session bus, a sound server and an album to play. It knows
// no player.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, type Program, startProgram } from '../sound/program.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import { until } from '../until.js';
import { COVER, type Tone, writeTone } from './tones.js';

export const ALBUM = 'Ton & Töne';
/** In their order on the album, each in a file of its title. */
export const TONES: readonly Tone[] = [
  { title: 'Été', artist: 'Sinus "A"', album: ALBUM, seconds: 60 },
  { title: 'Two', artist: 'Cosinus', album: ALBUM, seconds: 50 },
];

export class Session {
  readonly sound: SoundServer;
  readonly env: Environment;
  readonly #bus: Program;

  private constructor(sound: SoundServer, bus: Program) {
    this.sound = sound;
    this.env = sound.env;
    this.#bus = bus;
  }

  static async start(): Promise<Session> {
    const sound = await startPulseAudio();
    const args = ['--session', '--nofork', '--nopidfile', `--address=unix:path=${sound.directory}/bus`];
    const log = join(sound.directory, 'bus.log');
    const session = new Session(sound, startProgram('dbus-daemon', args, { env: sound.env, log }));
    mkdirSync(session.path('album'));
    for (const tone of TONES) writeTone(session.tone(tone.title), tone);
    writeFileSync(session.cover, COVER);
    await until('the bus listens', () => {
      const stat = statSync(session.path('bus'), { throwIfNoEntry: false });
      return stat?.isSocket() === true;
    });
    return session;
  }

  path(...names: readonly string[]): string {
    return join(this.sound.directory, ...names);
  }

  tone(title: string): string {
    return this.path('album', `${title}.wav`);
  }

  /** The picture beside the tones. */
  get cover(): string {
    return this.path('album', 'cover.png');
  }

  async stop(): Promise<void> {
    await this.#bus.end();
    await this.sound.stop();
  }
}
