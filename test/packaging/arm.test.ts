// Runs the packages for ARM under emulation: the packaged daemon, on a Node of that architecture
// (packaging/arm.mjs), with a real sound server of this machine. The tests do not show how fast a board is.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Daemon } from '../contract/daemon.js';
import { startPulseAudio } from '../sound/servers.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { buildPackage, extracted, flagsOf, output, packageIn, run } from './built-package.js';

// build/test/packaging/arm.test.js -> the project's root
const MAKER = fileURLToPath(new URL('../../../packaging/arm.mjs', import.meta.url));
const skip = skipReason({ programs: ['apt-get', 'dpkg-deb', 'pulseaudio', 'pactl'], root: true });
/** An emulated processor is ten times slower than this machine's, and this machine may be busy. */
const EMULATED_MS = 180_000;

const EMULATORS = Object.entries({ arm64: 'qemu-aarch64', armhf: 'qemu-arm' });

describe('the packages for ARM', { skip }, () => {
  /** The folder with the emulators, and with the root of each architecture. */
  let machinesFolder = '';
  let whyNot = '';
  before(async () => {
    try {
      machinesFolder = (await output(process.execPath, MAKER)).trim();
    } catch (error) {
      if (process.env['TONEARM_REQUIRE_ALL'] === '1') throw error;
      whyNot = `cannot be emulated here: ${String(error).split('\n').slice(0, 3).join(' ')}`;
    }
  });

  for (const [architecture, emulator] of EMULATORS) {
    test(`${architecture}: the daemon starts, answers, follows a change, carries out a command, ends`, async (t) => {
      if (whyNot !== '') return t.skip(whyNot);
      const folder = temporaryFolder(t);
      await buildPackage('--arch', architecture, '--compress', 'none', '--out', folder);
      const tree = await extracted(packageIn(folder, 'tonearm', architecture), folder);
      const root = join(machinesFolder, architecture);
      const program = join(machinesFolder, emulator);
      const programArguments = ['-L', root, join(root, 'usr/bin/node')];
      const emulatedNode = [program, ...programArguments].join(' ');
      const { stdout } = await run(program, [...programArguments, '-p', 'process.arch']);
      assert.equal(stdout.trim(), architecture === 'arm64' ? 'arm64' : 'arm');

      const sound = await startPulseAudio();
      t.after(() => sound.stop());
      const daemon = await Daemon.start({
        // The packaged command sets MALLOC_ARENA_MAX, too (packaging/deb/tonearm).
        env: { ...sound.env, MALLOC_ARENA_MAX: '1' },
        config: 'systemd: {enabled: false}\n',
        entry: join(tree, 'usr/lib/tonearm/main.js'),
        nodeArguments: flagsOf(tree),
        // `shift` removes this machine's Node, and the emulated one takes its place.
        launcher: ['sh', '-c', `shift; exec ${emulatedNode} "$@"`, 'sh'],
        startMs: EMULATED_MS,
      });
      t.after(() => daemon.stop());
      const isUp = async () => (await daemon.health()).backends['audio']?.state === 'up';
      await until('the audio backend is up', isUp, EMULATED_MS);
      // `startPulseAudio` makes these two sinks.
      const outputs = await daemon.read<{ name: string }[]>('/audio/outputs');
      assert.deepEqual(outputs.map(({ name }) => name).sort(), ['kitchen', 'living']);

      const stream = await daemon.events('?types=audio.output.updated');
      await sound.pactl('set-sink-volume', 'kitchen', '33%');
      await stream.until(
        ({ events }) => events.some(({ data }) => /"name":"kitchen".*"volume":0\.33/.test(data)),
        'the change of the volume',
        EMULATED_MS,
      );
      const answer = await daemon.post('/audio/outputs/living/volume', { volume: 0.44 });
      assert.ok(answer.status < 300, answer.text);
      assert.match(await sound.pactl('get-sink-volume', 'living'), / 44% /);

      daemon.signal('SIGTERM');
      await until('the daemon has ended', () => !daemon.isAlive(), EMULATED_MS);
      assert.match(daemon.log, /"shutting down"/);
    });
  }
});
