// Checks `tonearm ctl` on the built daemon: its changes, its output, its exit statuses, its watch during a
// restart of the daemon, and how it finds the node (docs/ctl.md).

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { EXIT, type ExitName } from '../../src/cli/ctl/statuses.js';
import type { OutputRecord } from '../../src/protocol/actor/schemas.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { skipReason } from '../tools/requirements.js';
import { spawned } from '../tools/spawned.js';
import { until } from '../until.js';
import { AUDIO_ONLY, audioForAll, hasValues } from './audio-node.js';
import { Daemon, ENTRY, NO_BACKENDS } from './daemon.js';

const skip = skipReason({ programs: ['pulseaudio', 'pactl'] });
const COMMAND_MAX_MS = 60_000;
const home = temporaryFolder({ after });
const ENV = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home };

interface CtlResult {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

function ctl(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CtlResult> {
  const options = { env: { ...ENV, ...env }, timeout: COMMAND_MAX_MS };
  return new Promise((resolve) => {
    execFile(process.execPath, [ENTRY, 'ctl', ...args], options, (error, out, err) => {
      const status = error === null ? 0 : Number(error.code);
      resolve({ status, out, err });
    });
  });
}

/** Runs `tonearm ctl` with the words of `line`. The command must succeed. Resolves with its output. */
async function runLine({ port }: { readonly port: number }, line: string): Promise<string> {
  const { status, out, err } = await ctl(['--node', `localhost:${port}`, ...line.split(' ')]);
  assert.deepEqual([status, err], [0, ''], line);
  return out;
}

async function startServer(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe('tonearm ctl on a node with sound', { skip }, () => {
  const config = `${AUDIO_ONLY}pulseaudio: {outputs: {kitchen: {label: "Küche"}}}\n`;
  const node = audioForAll({ config });
  const readKitchen = async (): Promise<OutputRecord | undefined> => {
    const outputs = await node.daemon.read<readonly OutputRecord[]>('/audio/outputs');
    return outputs.find(({ name }) => name === 'kitchen');
  };
  const runChange = async (line: string, values: Partial<OutputRecord>): Promise<void> => {
    assert.equal(await runLine(node.daemon, line), '', 'a command that makes a change prints nothing');
    await until(line, async () => hasValues((await readKitchen()) ?? {}, values));
  };

  test('tonearm ctl finds an output by name, id, or label in upper or lower case, and changes its volume', async () => {
    await runChange('output-volume kitchen 40%', { volume: 0.4 });
    await runChange('output-volume KÜCHE +5%', { volume: 0.45 });
    await runChange('output-volume küche -5%', { volume: 0.4 });
    await runChange(`output-volume ${(await readKitchen())?.id} volume=0.3`, { volume: 0.3 });
  });

  test('tonearm ctl mutes and unmutes an output, and toggles its mute', async () => {
    await runChange('mute-output küche on', { muted: true });
    await runChange('mute-output küche toggle', { muted: false });
    await runChange('mute-output küche', { muted: true });
    await runChange('mute-output küche off', { muted: false });
  });

  test('tonearm ctl prints the outputs as a table, and as the JSON of the node', async () => {
    await runChange('output-volume kitchen 25%', { volume: 0.25 });
    const rows = (await runLine(node.daemon, 'outputs')).trimEnd().split('\n');
    assert.match(rows[0] ?? '', /^name +label +volume +muted +default/);
    assert.match(rows.find((row) => row.startsWith('kitchen')) ?? '', /^kitchen +Küche +25% +no +no/);
    const json = JSON.parse(await runLine(node.daemon, 'outputs --json'));
    assert.deepEqual(json, await node.daemon.read('/audio/outputs'));
  });

  test('tonearm ctl prints the answers to reading operations as lines and as JSON', async () => {
    for (const name of 'server health audio audio-server inputs cards clients sleep network'.split(' ')) {
      assert.notEqual(await runLine(node.daemon, name), '', name);
      JSON.parse(await runLine(node.daemon, `${name} --json`));
    }
    assert.match(JSON.parse(await runLine(node.daemon, 'openapi')).openapi, /^3\.1/);
    assert.match(await runLine(node.daemon, 'server'), /^api_sw: tonearm$/m);
    assert.match(await runLine(node.daemon, 'health'), /^waiting: -\nbackends\.audio\.state: up$/m);
  });

  const refusals: readonly (readonly [line: string, exit: ExitName, message: RegExp])[] = [
    ['output-volum kitchen 1', 'usage', /near it: output-volume/],
    ['output-volume kitchen 120%', 'badValue', /^tonearm: ctl: output-volume: .*volume/],
    ['output-volume attic 1', 'notFound', /There is no output "attic"; there is .*kitchen \(Küche\)/],
    // The node has no backend for players.
    ['player-volume mpv 1', 'unavailable', /^tonearm: ctl: player-volume: /],
    // The source `living.monitor` is a monitor, so it is no input. There is no output `nowhere` either.
    ['listen-to-input living.monitor nowhere', 'notFound', /^tonearm: ctl: listen-to-input: /],
    // The output has no ports.
    ['output-port kitchen none', 'conflict', /^tonearm: ctl: output-port: /],
  ];
  for (const [line, exit, message] of refusals)
    test(`tonearm ctl ${line} prints an error of one line, and ends with the status ${exit}`, async () => {
      const { port } = node.daemon;
      const { status, out, err } = await ctl(['--node', `127.0.0.1:${port}`, ...line.split(' ')]);
      assert.deepEqual([status, out], [EXIT[exit], ''], err);
      assert.match(err, message);
      assert.equal(err.split('\n').length, 2, 'the error is one line');
    });

  test('tonearm ctl refuses a name that fits several streams of sound, and lists these streams', async () => {
    const streams = [
      await node.sound.play({ app: 'One', name: 'song' }),
      await node.sound.play({ app: 'Two', name: 'Song' }),
    ];
    await until(
      'both streams are listed',
      async () => (await runLine(node.daemon, 'clients')).match(/song/gi)?.length === 2,
    );
    const { status, err } = await ctl(['--node', `127.0.0.1:${node.daemon.port}`, 'mute-client', 'SONG']);
    assert.equal(status, EXIT.conflict, err);
    assert.match(err, /client: "SONG" may be \d+ \([Ss]ong\), \d+ \([Ss]ong\)/);
    for (const stream of streams) await stream.stop();
  });

  test('tonearm ctl reads through a redirection, but a command that is redirected fails', async (t) => {
    const port = await startServer(t, ({ url = '' }, reply) => {
      reply.writeHead(301, { Location: `http://localhost:${node.daemon.port}${url}` }).end();
    });
    assert.match(await runLine({ port }, 'server'), /^api_sw: tonearm$/m);
    // After a 301, `fetch` sends a `GET` in place of the `POST`. The node answers this `GET` with 200,
    // although no sleep has begun.
    const { status, err } = await ctl(['--node', `localhost:${port}`, 'start-sleep', '30']);
    assert.equal(status, EXIT.notTonearm, err);
  });

  test('tonearm ctl watch continues after a restart of the daemon, and ends at an interrupt', async (t) => {
    const { port } = node.daemon;
    const command = [process.execPath, ENTRY, 'ctl', '--node', `localhost:${port}`, 'watch', 'audio.output'];
    const plain = spawned(t, ENV, command);
    const json = spawned(t, ENV, [...command, '--json']);
    const untilPrinted = (text: string): Promise<unknown> =>
      until(`both watches print ${text}`, () => plain.out().includes(text) && json.out().includes(text));
    await untilPrinted('"name":"kitchen"');
    await runChange('output-volume kitchen 61%', { volume: 0.61 });
    await untilPrinted('"volume":0.61');
    await node.daemon.restart();
    await until('the watch reports the return', () => /the node is there again/.test(plain.err()));
    await node.daemon.untilBackend('audio', 'up');
    await runChange('output-volume kitchen 62%', { volume: 0.62 });
    await untilPrinted('"volume":0.62');
    assert.match(
      plain.err(),
      /^tonearm: ctl: watch: .*; trying again\ntonearm: ctl: watch: the node is there again\n$/,
    );
    assert.match(plain.out(), /^audio\.output\.updated \[\{/);
    for (const event of json.out().trimEnd().split('\n'))
      assert.equal(JSON.parse(event).type, 'audio.output.updated');
    for (const { child } of [plain, json]) child.kill('SIGINT');
    await Promise.all([plain.ended, json.ended]);
    for (const { child } of [plain, json]) assert.equal(child.signalCode, 'SIGINT');
  });

  test('tonearm ctl watch ends when its reader has closed the pipe', async (t) => {
    // `$0` is Node, and `$1` is main.js. The last line that bash prints is the exit status of the watch.
    const command = `"$0" "$1" ctl --node localhost:${node.daemon.port} watch audio.output | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const { out, ended } = spawned(t, ENV, ['bash', '-c', command, process.execPath, ENTRY]);
    await until('the first event is printed', () => out().startsWith('audio.output.updated'));
    // The watch must print a further event to notice that the pipe is closed. Each run of
    // `mute-output kitchen` toggles the mute (docs/ctl.md, "Operations"), and so makes an event.
    await until('the watch has ended', async () => {
      await runLine(node.daemon, 'mute-output kitchen');
      return /\n0\n$/.test(out());
    });
    await ended;
  });
});

test('tonearm ctl finds the node by TONEARM_NODE or else by the configuration on this machine, and prints why it finds no node', async (t) => {
  const daemon = await Daemon.start({ config: NO_BACKENDS }, t);
  const config = join(home, '.config/tonearm');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.yaml'), `api: {port: ${daemon.port}}\n`);
  const found = await ctl(['server']);
  assert.match(found.out, /^api_sw: tonearm$/m, found.err);
  // This password file is missing. The command never reads it, because the user may have no right to do so.
  const broker = 'mqtt: {enabled: true, url: "mqtt://b", passwordFile: ~/none}';
  writeFileSync(join(config, 'config.yaml'), `api: {port: ${daemon.port}}\n${broker}\n`);
  const withoutPasswordFile = await ctl(['server']);
  assert.equal(withoutPasswordFile.status, 0, withoutPasswordFile.err);
  writeFileSync(join(config, 'config.yaml'), `api: {port: ${await freePort()}}\n`);
  const unreachable = await ctl(['server']);
  assert.equal(unreachable.status, EXIT.unreachable);
  assert.match(
    unreachable.err,
    /^tonearm: ctl: server: The node cannot be reached, http:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED/,
  );
  // A watch tries again only if it has been connected before (cli/ctl/watch.ts).
  assert.equal((await ctl(['watch'])).status, EXIT.unreachable, 'a watch that was never connected ends');
  const named = await ctl(['server'], { TONEARM_NODE: `http://localhost:${daemon.port}/` });
  assert.match(named.out, /^api_sw: tonearm$/m, named.err);
  writeFileSync(join(config, 'config.yaml'), 'api: {port: many}\n');
  const misconfigured = await ctl(['server']);
  assert.equal(misconfigured.status, EXIT.badConfig);
  assert.match(misconfigured.err, /config\.yaml:1:13: api\.port: /);
});

test('on a node with api.control false, tonearm ctl reads, and a change ends with the status forbidden', async (t) => {
  const daemon = await Daemon.start({ config: NO_BACKENDS, api: 'control: false' }, t);
  const node = `localhost:${daemon.port}`;
  const { status, err } = await ctl(['--node', node, 'power-off']);
  assert.equal(status, EXIT.forbidden, err);
  assert.match(err, /^tonearm: ctl: power-off: /);
  assert.match((await ctl(['--node', node, 'server'])).out, /^control: no$/m);
});

test('tonearm ctl sends the user and the password of an address to a proxy, and prints no password', async (t) => {
  const daemon = await Daemon.start({ config: NO_BACKENDS }, t);
  const expected = `Basic ${Buffer.from('pi:a%b@c').toString('base64')}`;
  const port = await startServer(t, ({ headers, url = '' }, reply) => {
    if (headers.authorization !== expected) reply.writeHead(401).end('who are you?');
    else
      request({ port: daemon.port, path: url.replace('/node', '') }, (answer) => {
        reply.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(reply);
      }).end();
  });
  // Each address below contains the password `a%b@c`. The address of `byHost` does not escape the `%`. This
  // is allowed, because `%b%` is no escape.
  const byUrl = await ctl(['--node', `http://pi:a%25b%40c@localhost:${port}/node/`, 'server']);
  assert.match(byUrl.out, /^api_sw: tonearm$/m, byUrl.err);
  const byHost = await ctl(['--node', `pi:a%b%40c@localhost:${port}`, 'server']);
  assert.match(byHost.out, /^api_sw: tonearm$/m, byHost.err);
  const otherUser = await ctl(['--node', `http://nobody:a%25b%40c@localhost:${port}/node`, 'server']);
  assert.equal(otherUser.status, EXIT.forbidden, otherUser.err);
  const printed = [byUrl, byHost, otherUser].map(({ out, err }) => out + err).join('\n');
  assert.doesNotMatch(printed, /a%b@c|a%25b%40c|a%b%40c/);
});

test('tonearm ctl ends with the status notTonearm if another program answers', async (t) => {
  const port = await startServer(t, (_, reply) => reply.end('<p>hello</p>'));
  for (const line of ['server', 'pause-players']) {
    const { status, err } = await ctl(['--node', `localhost:${port}`, line]);
    assert.equal(status, EXIT.notTonearm, err);
  }
});

test('tonearm ctl needs no node to print help and version, and to refuse wrong usage', async () => {
  const help = await ctl(['--help']);
  assert.equal(help.status, 0);
  assert.match(help.out, /^ {2}output-volume OUTPUT VOLUME\|DELTA +Sets or shifts the volume of an output$/m);
  const helpOfCommand = await ctl(['start-sleep', '--help']);
  assert.match(helpOfCommand.out, /^Usage: tonearm ctl start-sleep MINUTES \[FADE\]$/m);
  assert.match((await ctl(['--version'])).out, /^\d+\.\d+\.\d+\n$/);
  assert.equal((await ctl([])).status, EXIT.usage);
  assert.equal((await ctl(['--node', 'http://', 'server'])).status, EXIT.usage);
});
