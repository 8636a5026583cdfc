// The files of examples/ must work as documented, on the built daemon with a real sound server and a real
// player.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { startMpv } from '../players/mpv.js';
import { type PlayersNode, playersAnd, startPlayersNode } from '../players/node.js';
import { startSession } from '../players/session.js';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { spawned } from '../tools/spawned.js';
import { until } from '../until.js';
import { hasValues, type Output, startAudio } from './audio-node.js';
import { exampleFile, PROJECT } from './documented.js';

const MPV = 'org.mpris.MediaPlayer2.mpv';

describe('examples/alarm.sh', { skip: skipReason(playersAnd('curl')) }, () => {
  let node: PlayersNode;
  const runAlarmWithEnv = async (t: TestContext, env: NodeJS.ProcessEnv, ...args: readonly string[]) => {
    const url = `http://127.0.0.1:${node.daemon.port}`;
    const program = spawned(t, env, [join(PROJECT, 'examples/alarm.sh'), url, ...args]);
    return { status: await program.ended, output: program.out(), errors: program.err() };
  };
  const runAlarm = (t: TestContext, ...args: readonly string[]) => runAlarmWithEnv(t, process.env, ...args);

  before(async () => {
    node = await startPlayersNode(await startSession());
    await startMpv(node.session);
    await node.player(MPV);
  });
  after(() => node.stop());

  test('alarm.sh starts the player on a silent output, and raises the volume of the output in steps', async (t) => {
    await node.change('mpv', 'pause');
    await node.player(MPV, 'paused', ({ playback_status }) => playback_status === 'Paused');
    await node.daemon.post('/audio/outputs/living/mute', { muted: true });
    const eventCountBefore = node.stream.events.length;
    const volume = '0.4';
    const seconds = '2';
    const ran = await runAlarm(t, 'living', 'mpv', volume, seconds);
    assert.deepEqual(ran, { status: 0, output: '', errors: '' });
    await node.player(MPV, 'playing', ({ playback_status }) => playback_status === 'Playing');
    const outputs = await node.daemon.read<readonly Output[]>('/audio/outputs');
    const living = outputs.find(({ name }) => name === 'living');
    assert.deepEqual([living?.volume, living?.muted], [0.4, false]);
    const isRaised = (output: object): boolean => hasValues(output, { name: 'living', volume: 0.4 });
    await node.stream.until(
      ({ model }) => [...model.known.outputs.values()].some(isRaised),
      'the last volume',
    );
    const updates = node.stream.events
      .slice(eventCountBefore)
      .filter(({ type }) => type === 'audio.output.updated');
    const records = updates.flatMap(({ data }) => JSON.parse(data) as readonly Output[]);
    const volumes = records.filter(({ name }) => name === 'living').map((output) => output.volume);
    // alarm.sh begins with the volume 0.
    const fromSilence = volumes.slice(volumes.indexOf(0));
    const sorted = fromSilence.toSorted((a, b) => a - b);
    assert.deepEqual(fromSilence, sorted);
    assert.ok(new Set(fromSilence).size > 2, `in steps: ${fromSilence}`);
  });

  // The machine may have no locale with a decimal comma, so an `awk` of this test prints the comma. It
  // prints a point only if `LC_ALL` is `C`. alarm.sh must set this variable, so the test leaves it out.
  test('alarm.sh raises the volume also where the locale has a decimal comma', async (t) => {
    const programs = temporaryFolder(t);
    const usualPath = process.env['PATH'] ?? '';
    const script = [
      '#!/bin/sh',
      `export PATH='${usualPath}'`,
      'if [ "$LC_ALL" = C ]; then exec awk "$@"; fi',
      'awk "$@" | tr . ,',
    ];
    writeFileSync(join(programs, 'awk'), `${script.join('\n')}\n`, { mode: 0o755 });
    const { LC_ALL: _, ...inherited } = process.env;
    const env = { ...inherited, LANG: 'de_DE.UTF-8', PATH: `${programs}:${usualPath}` };
    const volume = '0.3';
    const seconds = '0.2';
    const ran = await runAlarmWithEnv(t, env, 'kitchen', 'mpv', volume, seconds);
    assert.deepEqual(ran, { status: 0, output: '', errors: '' });
    const outputs = await node.daemon.read<readonly Output[]>('/audio/outputs');
    assert.equal(outputs.find(({ name }) => name === 'kitchen')?.volume, 0.3);
  });

  test('alarm.sh prints why the node refuses a request, and prints its usage if names are missing', async (t) => {
    const refused = await runAlarm(t, 'nowhere', 'mpv');
    assert.notEqual(refused.status, 0);
    assert.match(refused.output, /There is no output \\"nowhere\\"/);
    const withoutNames = await runAlarm(t);
    // In sysexits(3), 64 is the status for wrong usage.
    assert.equal(withoutNames.status, 64);
    assert.match(withoutNames.errors, /^Usage: /);
  });
});

const skip = skipReason({ programs: ['pulseaudio', 'pactl', 'pacat'] });

test('examples/limit.mjs prints what plays, and limits volumes, also after a restart of the daemon', {
  skip,
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
  const untilPrinted = (line: RegExp) =>
    until(`the example prints ${line}`, () => line.test(readFileSync(log, 'utf8')));
  const untilLimited = () =>
    until('every output is at 60 %', async () => {
      const outputs = await daemon.read<readonly Output[]>('/audio/outputs');
      return outputs.length > 0 && outputs.every(({ volume }) => volume === 0.6);
    });
  await untilPrinted(/^live/m);
  await untilLimited();
  await sound.play({ name: 'News', sink: 'kitchen' });
  await untilPrinted(/^plays: News$/m);
  await daemon.restart();
  await untilPrinted(/^lost The service on the node has ended$/m);
  await untilPrinted(/^lost[\s\S]*^live/m);
  const stream = await daemon.events('?types=audio.output.updated');
  await sound.pactl('set-sink-volume', 'kitchen', '90%');
  // Before this change every output was at 60 %, so `untilLimited` alone would be fulfilled too early.
  await until('the volume of 90 % is an event', () =>
    stream.events.some(({ data }) => data.includes('"volume":0.9')),
  );
  await untilLimited();
  assert.equal(program.alive(), true);
});
