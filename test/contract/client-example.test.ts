// The example for Node must work as documented, on the built daemon and a real sound server.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type Output, startAudio } from './audio-node.js';
import { exampleFile, PROJECT } from './documented.js';

test('examples/limit.mjs limits volumes, prints what plays, and outlives the daemon', {
  skip: lacks({ programs: ['pulseaudio', 'pactl', 'pacat'] }),
}, async (t) => {
  const folder = temporaryFolder(t);
  const { sound, daemon } = await startAudio(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(PROJECT, 'dist-client'), join(folder, 'node_modules/tonearm-client'));
  writeFileSync(join(folder, 'limit.mjs'), exampleFile('limit.mjs'));
  const log = join(folder, 'log');
  const args = [join(folder, 'limit.mjs'), `http://127.0.0.1:${daemon.port}`];
  const program = startProgram(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '' }, log });
  t.after(() => program.end());
  const says = (line: RegExp) =>
    until(`the example prints ${line}`, () => line.test(readFileSync(log, 'utf8')));
  const areKeptDown = () =>
    until('all outputs are at 60 %', async () => {
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
});
