// examples/ must work as documented, on the built daemon with a real sound server and a real player.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Mpv, startMpv } from '../players/mpv.js';
import { PLAYER_PROGRAMS, type PlayersNode, startPlayersNode } from '../players/node.js';
import { startSession, TONES } from '../players/session.js';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { lacks } from '../tools/requirements.js';
import { spawned } from '../tools/spawned.js';
import { until } from '../until.js';
import { type Output, startAudio } from './audio-node.js';
import { exampleFile, PROJECT } from './documented.js';

const MPV = 'org.mpris.MediaPlayer2.mpv';

async function alarm(t: TestContext, ...args: readonly string[]) {
  const program = spawned(t, process.env, [join(PROJECT, 'examples/alarm.sh'), ...args]);
  return { status: await program.ended, stdout: program.out(), stderr: program.err() };
}

describe('examples/alarm.sh', { skip: lacks({ programs: [...PLAYER_PROGRAMS, 'curl'] }) }, () => {
  let node: PlayersNode;
  let mpv: Mpv;
  let url: string;
  const living = async (): Promise<Output | undefined> =>
    (await node.daemon.read<readonly Output[]>('/audio/outputs')).find(({ name }) => name === 'living');

  before(async () => {
    node = await startPlayersNode(await startSession());
    url = `http://127.0.0.1:${node.daemon.port}`;
    mpv = await startMpv(
      node.session,
      TONES.map(({ title }) => node.session.tone(title)),
    );
    await node.player(MPV);
  });
  after(async () => {
    await mpv.program.end();
    await node.stop();
  });

  test('starts the player on a silent output, which rises to the volume', async (t) => {
    await node.change('mpv', 'pause');
    await node.player(MPV, 'paused', ({ playback_status }) => playback_status === 'Paused');
    await node.daemon.post('/audio/outputs/living/mute', { muted: true });
    const earlier = node.stream.events.length;
    assert.deepEqual(await alarm(t, url, 'living', 'mpv', '0.4', '2'), { status: 0, stdout: '', stderr: '' });
    await node.player(MPV, 'playing', ({ playback_status }) => playback_status === 'Playing');
    const { volume, muted } = (await living()) ?? assert.fail('the output has gone');
    assert.deepEqual({ volume, muted }, { volume: 0.4, muted: false });
    const volumes = node.stream.events
      .slice(earlier)
      .filter(({ type }) => type === 'audio.output.updated')
      .flatMap(({ data }) => JSON.parse(data) as readonly Output[])
      .filter(({ name }) => name === 'living')
      .map((output) => output.volume);
    const rising = volumes.slice(volumes.indexOf(0));
    const sorted = rising.toSorted((a, b) => a - b);
    assert.deepEqual(rising, sorted);
    assert.ok(new Set(rising).size > 2, `in steps: ${rising}`);
  });

  test('ends with the reason of a refusal, and with its usage where names are missing', async (t) => {
    const refused = await alarm(t, url, 'nowhere', 'mpv');
    assert.notEqual(refused.status, 0);
    assert.match(refused.stdout, /There is no output \\"nowhere\\"/);
    const { status, stderr } = await alarm(t, url);
    assert.equal(status, 64);
    assert.match(stderr, /^Usage: /);
  });
});

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
