// Starts mpv with Debian's mpv-mpris, for tests. mpv's true state is read from its own socket, not over the
// bus.

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { remark } from '../remark.js';
import { until } from '../until.js';
import type { Session } from './session.js';

/** The Debian package that puts mpv on the bus, and a file of this package. mpv starts without it, too. */
export const MPRIS_OF_MPV = { 'mpv-mpris': '/etc/mpv/scripts/mpris.so' };

const REPLY_DEADLINE_MS = 10_000;
const STARTS_MAX = 3;

interface Reply {
  readonly request_id?: number;
  readonly error: string;
  readonly data?: unknown;
}

export type Mpv = ReturnType<typeof launchMpv>;

/**
 * Starts an mpv that plays the album, and that stays open after the last track. Resolves when it plays. One
 * of thirty mpvs hung at its start. Such an mpv answers nothing on its own socket, and is started again.
 * Every other failure rejects.
 */
export async function startMpv(session: Session): Promise<Mpv> {
  for (let starts = 1; ; starts += 1) {
    const mpv = launchMpv(session);
    try {
      await until('mpv plays', async () => Number(await mpv.get('time-pos')) > 0);
      return mpv;
    } catch (error) {
      const isHanging = mpv.program.alive() && (await mpv.get('pid').catch(() => undefined)) === undefined;
      if (starts === STARTS_MAX || !isHanging) throw error;
      remark('mpv answers nothing on its own socket, and is started anew');
      await mpv.program.end('SIGKILL');
    }
  }
}

function launchMpv({ path, run, files }: Session) {
  const socket = path('mpv.socket');
  const flags = ['--no-video', '--no-terminal', '--idle', '--ao=pulse', '--hr-seek=yes'];
  const program = run('mpv', [...flags, `--input-ipc-server=${socket}`, ...files]);
  const command = (...words: MpvCommand): Promise<unknown> => askMpv(socket, ...words);
  return {
    program,
    command,
    /** Reads a property by its name in mpv's manual. */
    get: (property: string) => command('get_property', property),
  };
}

type MpvCommand = readonly (string | number | boolean)[];

/**
 * `path` is the socket of `--input-ipc-server`. Rejects if mpv answers with an error, or does not answer in
 * time.
 */
async function askMpv(path: string, ...command: MpvCommand): Promise<unknown> {
  const socket = connect({ path });
  const signal = AbortSignal.timeout(REPLY_DEADLINE_MS);
  try {
    await once(socket, 'connect', { signal });
    socket.write(`${JSON.stringify({ command, request_id: 1 })}\n`);
    // mpv also sends lines with events between its answers.
    for await (const line of createInterface({ input: socket, signal })) {
      const reply = JSON.parse(line) as Reply;
      if (reply.request_id !== 1) continue;
      if (reply.error !== 'success') throw new Error(`mpv: ${command.join(' ')}: ${reply.error}`);
      return reply.data;
    }
    throw new Error('mpv closed its socket');
  } finally {
    socket.destroy();
  }
}
