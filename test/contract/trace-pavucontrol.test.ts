// `tonearm trace` under pavucontrol, which also uses extensions of PulseAudio's modules, whose values are shown by type: it connects, reads everything, and stays.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startProgram } from '../sound/program.js';
import { startPulseAudio } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { trace } from './tracer.js';

const DEADLINE_MS = 90_000;
/** GTK starts slowly on a busy machine. */
const WINDOW_MS = 60_000;
/** The requests of its start. */
const ASKED = [
  ...['GET_SERVER_INFO', 'GET_CLIENT_INFO_LIST', 'GET_CARD_INFO_LIST', 'GET_SINK_INFO_LIST', 'SUBSCRIBE'],
  ...['GET_SOURCE_INFO_LIST', 'GET_SINK_INPUT_INFO_LIST', 'GET_SOURCE_OUTPUT_INFO_LIST'],
  ...['EXTENSION', 'CREATE_RECORD_STREAM'],
];

/** A screen without a device. Answers with its name. */
async function screen(t: TestContext): Promise<string> {
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '800x600x24', '-nolisten', 'tcp', '-ac'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  t.after(async () => {
    server.kill('SIGTERM');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  });
  let number = '';
  server.stdio[3]?.on('data', (text: Buffer) => {
    number += text.toString();
  });
  await until('the screen exists', () => number.endsWith('\n'), WINDOW_MS);
  return `:${number.trim()}`;
}

test('all requests of pavucontrol are traced with their names', {
  timeout: DEADLINE_MS,
  skip: lacks({ programs: ['pavucontrol', 'Xvfb'] }),
}, async (t) => {
  const display = await screen(t);
  const sound = await startPulseAudio();
  t.after(() => sound.stop());
  for (const module of ['stream-restore', 'device-restore', 'device-manager']) {
    await sound.pactl('load-module', `module-${module}`);
  }
  await sound.play({ app: 'player', name: 'song' });
  const tracer = await trace(t, { env: sound.env, args: ['--json'] });
  const env = { ...sound.env, DISPLAY: display, PULSE_SERVER: `unix:${tracer.path}`, NO_AT_BRIDGE: '1' };
  const pavucontrol = startProgram('pavucontrol', [], { env, log: join(sound.directory, 'pavucontrol') });
  t.after(() => pavucontrol.end());
  const asked = (): ReadonlySet<unknown> => new Set(tracer.said().map(({ answers }) => answers));
  await until('all requests have been answered', () => ASKED.every((name) => asked().has(name)), WINDOW_MS);
  await sound.pactl('set-sink-volume', 'living', '37%');
  const hears = (): boolean =>
    tracer.said().some(({ fields }) => JSON.stringify(fields)?.includes('sink change') ?? false);
  await until('pavucontrol gets a change', hears);
  assert.ok(pavucontrol.alive());
  await pavucontrol.end();
  await until('the connection of pavucontrol has ended', () =>
    tracer.said().some(({ note }) => note?.startsWith('closed')),
  );
  for (const line of tracer.said()) {
    if (line.note !== undefined) continue;
    const isExtension = [line.command, line.answers].includes('EXTENSION');
    const isNamed =
      typeof line.command === 'string' &&
      (isExtension || line.unnamed === undefined) &&
      line.problem === undefined;
    assert.ok(isNamed, JSON.stringify(line));
  }
});
