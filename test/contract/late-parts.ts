// The table of the parts that the built program loads only when they are used. Each row uses its part, and
// fails if the part cannot be loaded. The table is tried on every built form: the bundles of the checkout, an
// unpacked package, an image.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type {
  HealthRecord,
  NodeRecord,
  PlayerRecord,
  SleepRecord,
} from '../../src/protocol/actor/schemas.js';
import { scriptedServer } from '../actors/audio/scripted-server.js';
import { privateBus } from '../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';
import { until } from '../until.js';
import { Daemon, type DaemonOptions, ENTRY, NO_BACKENDS } from './daemon.js';

/** How a built form is run: its `main.js`, the flags of Node, and the program that starts Node. */
export type BuiltForm = Pick<DaemonOptions, 'entry' | 'launcher' | 'nodeArguments'>;

export const LATE_PART_PROGRAMS = ['dbus-daemon'];

/** Nothing listens at this port, which is the one of the discard protocol. */
const NOBODY = '127.0.0.1:9';
const COMMAND_MAX_MS = 60_000;
const OUT_OF_RANGE = { volume: 7 };
const BAD_BODY = 'urn:tonearm:problem:bad-body';

/**
 * Starts a daemon of this form, with players and discovery. `run` runs the program of the form with
 * arguments, such as `progress --help`, until it ends.
 */
async function startForm(t: TestContext, form: BuiltForm) {
  const bus = await privateBus(t);
  const discovery = `discovery: {enabled: true, nodes: ["http://${NOBODY}"]}`;
  const config = `players: {enabled: true, fetchCovers: true}\n${discovery}\n${NO_BACKENDS}`;
  const daemon = await Daemon.start({ ...form, config, env: { DBUS_SESSION_BUS_ADDRESS: bus.address } }, t);
  const { launcher = [], nodeArguments = [], entry = ENTRY } = form;
  const command = [...launcher, process.execPath, ...nodeArguments, entry];
  const [program = '', ...firstArguments] = command;
  const env = { PATH: process.env['PATH'] ?? '', HOME: daemon.directory, XDG_RUNTIME_DIR: daemon.directory };
  const options = { env, encoding: 'utf8', timeout: COMMAND_MAX_MS } as const;
  const run = (...args: readonly string[]) => spawnSync(program, [...firstArguments, ...args], options);
  return { form, bus, daemon, run };
}

/** Starts a daemon of the form on a scripted sound server, and waits until its audio backend is up. */
async function startWithSound(t: TestContext, form: BuiltForm): Promise<Daemon> {
  const { socketPath } = await scriptedServer(t);
  const env = { PULSE_SERVER: `unix:${socketPath}` };
  const daemon = await Daemon.start({ ...form, config: 'systemd: {enabled: false}\n', env }, t);
  await daemon.untilBackend('audio', 'up');
  return daemon;
}

type RunningForm = Awaited<ReturnType<typeof startForm>>;

/** Uses a part, and fails if the part cannot be loaded. */
type LatePartUse = (form: RunningForm, t: TestContext) => Promise<void>;

function prints(output: RegExp, ...args: readonly string[]): LatePartUse {
  return async ({ run }) => {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stderr], [0, ''], args.join(' '));
    assert.match(stdout, output);
  };
}

/** The arguments name the configuration, because the machine may have one of its own. */
function checksConfig(output: RegExp): LatePartUse {
  return (form, t) => {
    const file = join(form.daemon.directory, 'config.yaml');
    return prints(output, '--check-config', '--config', file)(form, t);
  };
}

/** `tonearm ctl` finds the daemon by the configuration of its user. */
const printsThisNode: LatePartUse = (form, t) => {
  const { directory } = form.daemon;
  mkdirSync(join(directory, '.config/tonearm'), { recursive: true });
  copyFileSync(join(directory, 'config.yaml'), join(directory, '.config/tonearm/config.yaml'));
  return prints(/^api_sw: tonearm$/m, 'ctl', 'server')(form, t);
};

/** The use of each part, by the path of its module below `src/`, without the ending. */
export const LATE_PARTS: Readonly<Record<string, LatePartUse>> = {
  'supervisor/config/yaml': checksConfig(/^players:\n {2}enabled: true\n {2}fetchCovers: true$/m),
  'cli/served': checksConfig(/^# open http:\/\/localhost:\d+\//m),
  // Before `--check-config` reads files, it looks for an invoking user.
  'cli/invoking-user': checksConfig(/^players:$/m),
  'supervisor/config/load': printsThisNode,
  'cli/progress': prints(/^Usage: tonearm progress /, 'progress', '--help'),
  'cli/bench/bench': prints(/^Usage: tonearm bench /, 'bench', '--help'),
  'cli/trace/trace': prints(/^Usage: tonearm trace /, 'trace', '--help'),
  'gateway/openapi': async ({ daemon }) => {
    const { openapi } = await daemon.read<{ readonly openapi: string }>('/openapi.json');
    assert.match(openapi, /^3\.1/);
  },
  'gateway/metrics': async ({ daemon }) => {
    assert.match((await daemon.get('/metrics')).text, /^tonearm_build_info\{/m);
  },
  'gateway/body-schemas': async ({ daemon }) => {
    // No player `scripted` exists yet. The answer is not 404, because the body is checked first.
    const answer = await daemon.post('/players/scripted/volume', OUT_OF_RANGE);
    assert.deepEqual([answer.status, JSON.parse(answer.text).type], [400, BAD_BODY], answer.text);
  },
  'actors/discovery/configured-nodes': async ({ daemon }) => {
    const isUnreachable = async () => {
      const nodes = await daemon.read<readonly NodeRecord[]>('/nodes');
      return nodes.some(({ name, reachable }) => name === NOBODY && reachable === false);
    };
    await until('the node of the configuration is unreachable', isUnreachable);
  },
  'actors/audio/network': async ({ form }, t) => {
    const daemon = await startWithSound(t, form);
    const network = await daemon.read('/audio/network');
    assert.deepEqual(network, { enabled: false, addresses: [], commands: [] });
  },
  'actors/audio/sleep': async ({ form }, t) => {
    const daemon = await startWithSound(t, form);
    const { status } = await daemon.post('/audio/sleep', { minutes: 30 });
    const { active } = await daemon.read<SleepRecord>('/audio/sleep');
    assert.deepEqual([status, active], [202, true]);
  },
  'actors/audio/group-keeper': async ({ form }, t) => {
    const sound = await scriptedServer(t);
    const config = 'systemd: {enabled: false}\npulseaudio: {groups: {all: {outputs: [attic]}}}\n';
    const env = { PULSE_SERVER: `unix:${sound.socketPath}` };
    const daemon = await Daemon.start({ ...form, config, env }, t);
    await until('the health names the group that plays nowhere', async () => {
      const { backends } = await daemon.read<HealthRecord>('/health');
      return backends.audio?.detail?.includes('The group "all" plays nowhere');
    });
  },
  'actors/audio/listen-keeper': async ({ form }, t) => {
    const daemon = await startWithSound(t, form);
    // This part refuses the command with 404, because there is no input `none`.
    const { status } = await daemon.post('/audio/inputs/none/listen/stop', {});
    assert.equal(status, 404);
  },
  'actors/players/web-cover': async ({ bus, daemon }, t) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const location = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cover.png`;
    await ScriptedPlayer.start(t, bus, 'scripted', { Metadata: metadata({ 'mpris:artUrl': location }) });
    const isListed = async () => (await daemon.read<readonly PlayerRecord[]>('/players')).length > 0;
    await until('the player is listed', isListed);
    // The node fetches no cover from an address of the local network, but redirects the client to the cover.
    // If the part could not be loaded, the answer would be 502.
    const answer = await daemon.get('/players/scripted/cover');
    assert.deepEqual([answer.status, answer.headers['location']], [307, location], answer.text);
    assert.equal(connections, 0);
  },
};

/** Uses each late part of the built form. The error names the part that could not be loaded. */
export async function loadsItsLateParts(t: TestContext, form: BuiltForm): Promise<void> {
  const running = await startForm(t, form);
  await running.daemon.untilBackend('players', 'up');
  for (const [name, use] of Object.entries(LATE_PARTS)) {
    await use(running, t).catch((cause: unknown) => {
      throw new Error(`${join('src', name)} was not loaded\n${running.daemon.log}`, { cause });
    });
  }
}
