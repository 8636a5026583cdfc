// The harness of test/sound leaves nothing behind, however its servers and its process end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { SOUND_SERVERS, startPulseAudio } from '../sound/servers.js';
import { until } from '../until.js';
import { lacks } from './requirements.js';

const PROGRAMS = ['pulseaudio', 'pactl', 'pacat', 'pipewire', 'pipewire-pulse', 'wireplumber', 'dbus-daemon'];
const skip = lacks({ programs: PROGRAMS });

for (const { kind, start } of SOUND_SERVERS) {
  describe(`a private ${kind}`, { skip, concurrency: 3 }, () => {
    test('has ended with its directory after stop, even when it was frozen', async () => {
      const server = await start();
      await server.play();
      server.freeze();
      await server.stop();
      assert.equal(existsSync(server.directory), false);
    });
  });
}

test('a sound server that cannot start names the reason and leaves nothing behind', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-harness-'));
  const { TMPDIR: shared } = process.env;
  t.after(() => {
    if (shared === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = shared;
    rmdirSync(folder);
  });
  // It needs its own folder, because other files start servers at the same time.
  process.env['TMPDIR'] = folder;
  await assert.rejects(startPulseAudio({ sinks: [{ name: 'not a name' }] }), /did not come up/);
  assert.deepEqual(readdirSync(folder), []);
});

/** Starts servers in a process of its own, which then ends in the given way; gives their process ids. */
async function endingProcess(t: { after(clean: () => void): void }, end: string): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-harness-'));
  t.after(() => rmdirSync(folder));
  const script = `
    import { SOUND_SERVERS } from '${new URL('../sound/servers.js', import.meta.url).href}';
    import { readFileSync } from 'node:fs';
    const servers = await Promise.all(SOUND_SERVERS.map(({ start }) => start()));
    await Promise.all(servers.map((server) => server.play()));
    const children = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim();
    if (${JSON.stringify(end)} === 'SIGKILL') {
      // The last resort of a killed process is its parent, who removes the directories.
      console.log(JSON.stringify({ children, directories: servers.map(({ directory }) => directory) }));
      process.kill(process.pid, 'SIGKILL');
    }
    console.log(JSON.stringify({ children, directories: [] }));
    if (${JSON.stringify(end)} === 'throw') throw new Error('on purpose');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  const { children, directories }: { children: string; directories: string[] } = JSON.parse(output);
  const pids = children.split(' ').map(Number);
  await until('the servers have died with their process', () => pids.every((pid) => !running(pid)));
  for (const directory of directories) rmSync(directory, { recursive: true });
  return pids;
}

/** A process that is no zombie. */
function running(pid: number): boolean {
  return existsSync(`/proc/${pid}/exe`);
}

for (const end of ['return', 'throw', 'SIGKILL']) {
  test(`sound servers die with their process: ${end}`, { skip }, async (t) => {
    const pids = await endingProcess(t, end);
    assert.ok(pids.length >= 7, `pulseaudio, four of PipeWire and two players: ${pids.length}`);
  });
}
