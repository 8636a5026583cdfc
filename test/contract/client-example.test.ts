// README's program does what it says, on the built daemon and a real sound server.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Program, startProgram } from '../sound/program.js';
import { startPulseAudio } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY, type Output } from './audio-node.js';
import { Daemon } from './daemon.js';
import { PROJECT, readmeExample } from './readme-example.js';

test("README's program keeps volumes down, tells what plays, and outlives the daemon", {
  skip: lacks({ programs: ['pulseaudio', 'pactl', 'pacat'] }),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-example-'));
  const sound = await startPulseAudio();
  const daemon = await Daemon.start({ env: sound.env, config: AUDIO_ONLY });
  let program: Program | undefined;
  try {
    await daemon.backend('audio', 'up');
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(PROJECT, join(folder, 'node_modules/tonearm'));
    writeFileSync(join(folder, 'limit.mjs'), readmeExample('js'));
    const log = join(folder, 'log');
    const args = [join(folder, 'limit.mjs'), `http://127.0.0.1:${daemon.port}`];
    program = startProgram(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '' }, log });
    const says = (line: RegExp) => until(`it says ${line}`, () => line.test(readFileSync(log, 'utf8')));
    const areKeptDown = () =>
      until('all are at 60 %', async () => {
        const outputs = await daemon.read<readonly Output[]>('/audio/outputs');
        return outputs.length > 0 && outputs.every(({ volume }) => volume === 0.6);
      });
    await says(/^live/m);
    await areKeptDown();
    await sound.play({ name: 'News', sink: 'kitchen' });
    await says(/^plays: News$/m);
    await daemon.restart();
    await says(/^lost The service on the node has ended$/m);
    await says(/^lost[\s\S]*^live/m);
    await sound.pactl('set-sink-volume', 'kitchen', '90%');
    await areKeptDown();
    assert.equal(program.alive(), true);
  } finally {
    await program?.end();
    await daemon.stop();
    await sound.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
