// Proof of the harness of test/sound: both kinds of server start, do as they are told, restart, and leave nothing behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Listed } from '../sound/pactl.js';
import type { SoundServer } from '../sound/server.js';
import { SOUND_SERVERS, startPulseAudio } from '../sound/servers.js';
import { until } from '../until.js';
import { lacks } from './requirements.js';

const PROGRAMS = ['pulseaudio', 'pactl', 'pacat', 'pipewire', 'pipewire-pulse', 'wireplumber', 'dbus-daemon'];
const skip = lacks({ programs: PROGRAMS });

const names = async (server: SoundServer): Promise<string[]> =>
  (await server.sinks()).map((sink) => sink.name ?? '').sort();

async function input(server: SoundServer, id: number): Promise<Listed> {
  const listed = (await server.sinkInputs()).find((each) => each.index === id);
  assert.ok(listed, `sink input ${id} is listed`);
  return listed;
}

/** `accepted` when somebody listens, else the code of the error. */
function knock(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve('accepted');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

for (const { kind, start } of SOUND_SERVERS) {
  describe(`a private ${kind}`, { skip, concurrency: 3 }, () => {
    test('has the sinks that were asked for, the first as default, in a private directory', async (t) => {
      const server = await start({ sinks: [{ name: 'one', description: 'Number one' }, { name: 'two' }] });
      t.after(() => server.stop());
      assert.deepEqual(await names(server), ['one', 'two']);
      assert.equal((await server.pactl('get-default-sink')).trim(), 'one');
      assert.equal(statSync(server.directory).mode & 0o777, 0o700);
      const info = await server.pactl('info');
      assert.equal(/PipeWire/.test(info), kind === 'pipewire');
    });

    test('gets and loses sinks', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      await server.addSink('garden', 'Garden');
      assert.deepEqual(await names(server), ['garden', 'kitchen', 'living']);
      await server.removeSink('kitchen');
      assert.deepEqual(await names(server), ['garden', 'living']);
    });

    test('plays a stream with the names and properties that were given', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const playing = await server.play({
        app: 'Radio',
        name: 'News',
        sink: 'kitchen',
        props: { 'x.test': 'yes' },
      });
      const { properties } = await input(server, playing.id);
      assert.equal(properties['application.name'], 'Radio');
      assert.equal(properties['media.name'], 'News');
      assert.equal(properties['x.test'], 'yes');
      await playing.stop();
      assert.deepEqual(await server.sinkInputs(), []);
    });

    test('holds 150 streams of one connection, and names of any kind', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const odd = ['', 'a\nb\r\nc', 'x'.repeat(60_000)];
      const exotic = '🎵 Café – ☕';
      const client = await server.streams('crowd');
      const plain = Array.from({ length: 149 - odd.length }, (_, i) => `stream ${i}`);
      const streams = await client.open(
        [...odd, ...plain, exotic].map((name, i) => ({
          sink: i % 2 === 0 ? 'living' : 'kitchen',
          props: { 'media.name': name },
        })),
      );
      assert.equal(new Set(streams.map(({ id }) => id)).size, 150);
      const listed = await until('all streams are listed', async () => {
        const inputs = await server.sinkInputs();
        return inputs.length === 150 && inputs;
      });
      const seen = new Map(listed.map(({ index, properties }) => [index, properties['media.name']]));
      for (const [i, name] of odd.entries()) assert.equal(seen.get(streams[i]?.id ?? -1), name);
      // In pactl's JSON what is not ASCII is "(null)".
      assert.ok((await server.pactl('list', 'sink-inputs')).includes(`media.name = "${exotic}"`));
      await streams[0]?.remove();
      await until('one stream is gone', async () => (await server.sinkInputs()).length === 149);
      await client.close();
      await until('all streams are gone', async () => (await server.sinkInputs()).length === 0);
    });

    test('lets a stream be uncorked and renamed, and on PulseAudio begin at a volume', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const client = await server.streams();
      const [stream] = await client.open([{ sink: 'living', volumes: [0x8000, 0x8000] }]);
      assert.ok(stream);
      await stream.cork(false);
      await stream.rename('new name');
      await until('name and volume are as they were set', async () => {
        const { properties, volume } = await input(server, stream.id);
        const levels = Object.values(volume).map(({ value }) => value);
        // PipeWire may set its own level when a stream begins.
        return (
          properties['media.name'] === 'new name' && (kind === 'pipewire' || levels.join() === '32768,32768')
        );
      });
      assert.equal(await stream.hasVolume(), true);
    });

    test('comes back at the same place with the same sinks after being killed', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      await server.addSink('garden');
      await server.kill('SIGKILL');
      assert.equal(await knock(server.socketPath), 'ECONNREFUSED');
      await server.restart();
      assert.equal(await knock(server.socketPath), 'accepted');
      assert.deepEqual(await names(server), ['garden', 'kitchen', 'living']);
    });

    test('stands still and goes on', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      server.freeze();
      let answered = false;
      const answer = server.pactl('info').then(() => {
        answered = true;
      });
      assert.equal(await knock(server.socketPath), 'accepted');
      assert.equal(answered, false);
      server.thaw();
      await answer;
    });

    test('is gone with its directory after stop, even when it was frozen', async () => {
      const server = await start();
      await server.play();
      server.freeze();
      await server.stop();
      assert.equal(existsSync(server.directory), false);
    });
  });
}

test('a PulseAudio without module-always-sink can have no sink at all', { skip }, async (t) => {
  const server = await startPulseAudio({ sinks: [], alwaysSink: false });
  t.after(() => server.stop());
  assert.deepEqual(await names(server), []);
});

test('a passthrough stream has no volume on PulseAudio', { skip }, async (t) => {
  const server = await startPulseAudio();
  t.after(() => server.stop());
  const client = await server.streams();
  const [stream] = await client.open([{ sink: 'living', passthrough: true, corked: false }]);
  assert.ok(stream);
  assert.equal(await stream.hasVolume(), false);
});

test('a server that cannot start says why and leaves nothing behind', { skip }, async () => {
  const before = new Set(readdirSync(tmpdir()));
  await assert.rejects(startPulseAudio({ sinks: [{ name: 'not a name' }] }), /did not come up/);
  const mine = readdirSync(tmpdir()).filter(
    (name) => name.startsWith('tonearm-pulseaudio-') && !before.has(name),
  );
  for (const name of mine) await until(`${name} is another test's`, () => !existsSync(join(tmpdir(), name)));
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
  test(`servers that were forgotten die with their process: ${end}`, { skip }, async (t) => {
    const pids = await endingProcess(t, end);
    assert.ok(pids.length >= 7, `pulseaudio, four of PipeWire and two players: ${pids.length}`);
  });
}
