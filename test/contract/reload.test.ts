// The built daemon reads its configuration again at SIGHUP (docs/configuration.md, "Reloading"). Each
// group of keys takes effect, while streams stay open and everything else stays as it was. A wrong
// configuration changes nothing.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from '../../src/client/connect.js';
import type { Live } from '../../src/client/live.js';
import { tonearm } from '../../src/client/routes.js';
import type { ServerRecord } from '../../src/protocol/actor/schemas.js';
import type { EventConsumer } from '../consumer/consumer.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { send } from '../tools/http.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY, audioForAll } from './audio-node.js';
import { Daemon, ENTRY, type Health, NO_BACKENDS } from './daemon.js';

const OTHER_LOOPBACK = '127.0.0.5';
const RELOAD_LOGGED = /"msg":"the configuration (was read again|is wrong)/;

describe('the configuration of a daemon that runs', {
  skip: skipReason({ programs: ['pulseaudio', 'pactl'] }),
}, () => {
  const audible = audioForAll();
  let stream: EventConsumer;
  let live: Live;
  before(async () => {
    stream = await audible.daemon.events('?snapshot=1');
    live = connect(tonearm(`http://127.0.0.1:${audible.daemon.port}`));
    await live.ready;
  });
  after(() => live.close());

  /**
   * Replaces the file in one step, because the daemon may be reading it. `apiKeys` are further keys of
   * `api`, each behind a comma: `, control: false`.
   */
  function writeConfig(config: string, apiKeys = ''): void {
    const { directory, port } = audible.daemon;
    const file = join(directory, 'config.yaml');
    writeFileSync(`${file}.new`, `api: {port: ${port}${apiKeys}}\n${config}`);
    renameSync(`${file}.new`, file);
  }

  /**
   * Writes the configuration as `writeConfig` does, and makes the daemon read it. Waits until the log has a
   * line that matches `lastLine`. Returns the lines logged meanwhile.
   */
  async function reload(config: string, apiKeys = '', lastLine = RELOAD_LOGGED): Promise<string> {
    const { daemon } = audible;
    const logStart = daemon.log.length;
    const lines = (): string => daemon.log.slice(logStart);
    writeConfig(config, apiKeys);
    daemon.signal('SIGHUP');
    await until('the configuration was read', () => lastLine.test(lines()));
    assert.equal(stream.ended, false);
    return lines();
  }

  const get = (path: string, more: object = {}) => send(audible.daemon.port, { path, ...more });
  const statusOf = async (path: string, more?: object) => (await get(path, more)).status;
  const readHealth = async () => JSON.parse((await get('/health')).text) as Health;
  /** The text has the time at which the backend's state began, so a restart of the backend changes it. */
  const readAudioHealth = async () => JSON.stringify((await readHealth()).backends['audio']);

  test('a reload of a wrong configuration changes nothing, and logs each problem in a line', async () => {
    const healthBefore = await readAudioHealth();
    const lines = await reload('pulseaudio: {enabled: maybe}\nbind: []\n');
    const problems = lines.split('\n').filter((line) => /"msg":"[^"]*config\.yaml:\d+:\d+: /.test(line));
    assert.equal(problems.length, 2, lines);
    assert.match(lines, /pulseaudio\.enabled: must be true or false/);
    assert.match(lines, /the configuration is wrong: nothing was changed/);
    assert.equal(await readAudioHealth(), healthBefore);
    assert.equal(await statusOf('/audio'), 200);
  });

  test('a reload of an unchanged configuration leaves everything as it is', async () => {
    const healthBefore = await readAudioHealth();
    assert.match(await reload(AUDIO_ONLY), /"changed":"nothing"/);
    assert.equal(await readAudioHealth(), healthBefore);
  });

  test('a reload changes the settings that the gateway reads at each request', async () => {
    const healthBefore = await readAudioHealth();
    const api =
      ', hosts: [music.example.org], control: false, ui: {enabled: false, volumeStep: 3}, cors: {origins: ["http://app.lan"]}';
    const origin = { Origin: 'http://app.lan' };
    const readSettings = async () => {
      const server = JSON.parse((await get('/server')).text) as ServerRecord;
      const { paths } = JSON.parse((await get('/openapi.json')).text) as { paths: Record<string, object> };
      return {
        host: await statusOf('/server', { headers: { Host: 'music.example.org' } }),
        origin: (await get('/server', { headers: origin })).headers['access-control-allow-origin'],
        // No such operation exists, so the status is 404, and 403 with `control: false`.
        post: await statusOf('/audio/server/nothing', { method: 'POST' }),
        page: await statusOf('/ui'),
        control: server.control,
        step: server.volume_step,
        commands: Object.values(paths).some((methods) => 'post' in methods),
      };
    };
    const defaults = {
      host: 403,
      origin: undefined,
      post: 404,
      page: 200,
      control: true,
      step: 0.05,
      commands: true,
    };
    assert.deepEqual(await readSettings(), defaults);
    assert.match(await reload(AUDIO_ONLY, api), /"changed":"[^"]*api\.control/);
    // `volumeStep` is in percent, and `step` is a fraction: 3 becomes 0.03.
    const changed = { host: 200, origin: 'http://app.lan', post: 403, page: 404, control: false };
    assert.deepEqual(await readSettings(), { ...changed, step: 0.03, commands: false });
    assert.equal(await readAudioHealth(), healthBefore);
    await reload(AUDIO_ONLY);
    assert.deepEqual(await readSettings(), defaults);
  });

  test('a reload that changes bind opens and closes addresses at once', async () => {
    const atOtherAddress = { path: '/server', host: OTHER_LOOPBACK };
    await reload(`${AUDIO_ONLY}bind: [127.0.0.1, ${OTHER_LOOPBACK}]\n`);
    assert.equal((await send(audible.daemon.port, atOtherAddress)).status, 200);
    await reload(AUDIO_ONLY);
    await assert.rejects(send(audible.daemon.port, atOtherAddress), /ECONNREFUSED/);
  });

  test('a reload changes logLevel, and logs the keys that need a restart', async () => {
    const otherPort = await freePort();
    // The line that `RELOAD_LOGGED` matches has the level `info`, so it is not logged here.
    const lines = await reload(`${AUDIO_ONLY}logLevel: warn\n`, ', sse: {maxClients: 7}', /maxClients takes/);
    assert.match(lines, /api\.sse\.maxClients takes effect with the next start/);
    assert.doesNotMatch(lines, /"level":"info"/);
    // `reload` cannot be used here, because it always writes the port that the daemon has.
    const { directory } = audible.daemon;
    writeFileSync(join(directory, 'config.yaml'), `api: {port: ${otherPort}}\n${AUDIO_ONLY}logLevel: info\n`);
    const logStart = audible.daemon.log.length;
    const linesSince = (): string => audible.daemon.log.slice(logStart);
    audible.daemon.signal('SIGHUP');
    await until('the configuration was read', () => RELOAD_LOGGED.test(linesSince()));
    assert.match(linesSince(), /api\.port takes effect with the next start/);
    assert.doesNotMatch(linesSince(), /"restarted"/);
    assert.equal(await statusOf('/server'), 200);
    await assert.rejects(
      send(otherPort, { path: '/server' }),
      /ECONNREFUSED/,
      'nothing listens at the new port before the next start',
    );
    // This reload gives the keys the values of the start again, so no key needs a restart any more.
    assert.doesNotMatch(await reload(AUDIO_ONLY), /takes effect/);
  });

  test('a reload restarts a backend whose settings have changed, and no other', async () => {
    await reload(`${AUDIO_ONLY}players: {enabled: true}\n`);
    // Until its first report, the backend is `connecting` with a detail that ends in `has not reported yet`.
    // This pattern matches every other detail.
    const reportedDetail = /(?<!has not reported yet)$/;
    await audible.daemon.untilBackend('players', 'connecting', reportedDetail);
    const playersBefore = JSON.stringify((await readHealth()).backends['players']);
    const relabelled = `${AUDIO_ONLY}players: {enabled: true}\npulseaudio: {outputs: {living: {label: Parlour}}}\n`;
    assert.match(await reload(relabelled), /"restarted":"audio"/);
    await audible.daemon.untilBackend('audio', 'up');
    await until('the output has its label', () =>
      [...live.state.outputs.values()].some(({ label }) => label === 'Parlour'),
    );
    assert.equal(JSON.stringify((await readHealth()).backends['players']), playersBefore);
    assert.equal(live.state.connection.status, 'live');
    // `restarts` counts the deaths of the thread, but no restarts by a reload.
    assert.equal((await readHealth()).backends['audio']?.restarts, 0);
  });

  test('a reload adds and removes backends with their routes, also for clients that are connected', async () => {
    const { daemon } = audible;
    assert.match(await reload(`${AUDIO_ONLY}bluetooth: {enabled: true}\n`), /"started":"bluetooth"/);
    // The test above has enabled `players`, and this reload has stopped it.
    await until(
      'the client knows only audio and bluetooth',
      () => [...live.state.backends.keys()].join() === 'audio,bluetooth',
    );
    assert.equal(await statusOf('/players'), 404);
    assert.notEqual(await statusOf('/bluetooth'), 404);
    assert.match(await reload(AUDIO_ONLY), /"stopped":"bluetooth"/);
    await until('the client has removed bluetooth', () => !live.state.backends.has('bluetooth'));
    // This reload has also restarted audio, because the configuration no longer has the label of the test
    // above.
    await until('the client has the outputs again', () => live.state.outputs.size > 0);
    assert.equal(await statusOf('/bluetooth'), 404);
    assert.match(await reload(NO_BACKENDS), /"stopped":"audio"/);
    await until('the client has removed the outputs', () => live.state.outputs.size === 0);
    assert.equal(await statusOf('/audio'), 404);
    assert.deepEqual((await readHealth()).backends, {});
    await reload(AUDIO_ONLY);
    await daemon.untilBackend('audio', 'up');
    await until('the client has the outputs', () => live.state.outputs.size > 0);
    assert.deepEqual([...live.state.backends.keys()], ['audio']);
    assert.equal(live.state.connection.status, 'live');
  });

  test('after many SIGHUPs in succession the daemon has the newest configuration, and has restarted nothing', async () => {
    const { daemon } = audible;
    const healthBefore = await readAudioHealth();
    const readStep = async () => (JSON.parse((await get('/server')).text) as ServerRecord).volume_step;
    // Most of these signals arrive while the configuration is being read.
    for (let count = 0; count < 20; count += 1) {
      writeConfig(AUDIO_ONLY, ', ui: {volumeStep: 2}');
      daemon.signal('SIGHUP');
    }
    // `reload` may return when an earlier signal is logged, so the effect is awaited as well.
    await reload(AUDIO_ONLY, ', ui: {volumeStep: 3}');
    await until('the last configuration has its effect', async () => (await readStep()) === 0.03);
    assert.equal(await readAudioHealth(), healthBefore, daemon.log.slice(-6000));
    assert.equal(stream.ended, false);
  });
});

test('a daemon that gets SIGTERM during a reload ends', async (t) => {
  const daemon = await Daemon.start({ config: `players: {enabled: true}\n${NO_BACKENDS}` }, t);
  writeFileSync(join(daemon.directory, 'config.yaml'), `api: {port: ${daemon.port}}\n${NO_BACKENDS}`);
  // This reload takes a while, because it has to stop the backend `players`.
  daemon.signal('SIGHUP');
  daemon.signal('SIGTERM');
  assert.equal(await daemon.status(), 0);
});

test('the daemon ends when its terminal is closed', {
  skip: skipReason({ programs: ['script'] }),
}, async (t) => {
  const home = temporaryFolder(t);
  const config = join(home, 'config.yaml');
  const port = await freePort();
  writeFileSync(config, `api: {port: ${port}}\n${NO_BACKENDS}`);
  const command = `exec '${process.execPath}' '${ENTRY}' --allow-root --config '${config}'`;
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home, SHELL: '/bin/sh' },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  t.after(() => terminal.kill('SIGKILL'));
  const answers = async () => (await send(port, { path: '/server' })).status === 200;
  await until('the daemon answers', answers);
  // The other end of the terminal goes, as when a window is closed. The daemon then gets SIGHUP, which must
  // end it here instead of reloading the configuration.
  terminal.kill('SIGKILL');
  await once(terminal, 'close');
  const isUnreachable = () =>
    answers().then(
      () => false,
      () => true,
    );
  await until('the daemon has ended', isUnreachable);
});
