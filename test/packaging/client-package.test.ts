// The two npm packages, client and daemon, as others get them: npm installs them without a network. Programs
// that use the client are compiled against its types, and run.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { startAudio } from '../contract/audio-node.js';
import { LATE_PART_PROGRAMS, loadsItsLateParts } from '../contract/late-parts.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { output, run } from './built-package.js';

// build/test/packaging/client-package.test.js -> the project's root
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/**
 * The limit may have to grow with what a node can do: the tables of routes and events are a fifth of the
 * bundle.
 */
const BUNDLE_MAX_BYTES = 6200;

const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  noEmit: true,
  target: 'es2022',
  skipLibCheck: false,
};
const NODE_TYPES = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] };
/**
 * The kinds of project: a module for Node, CommonJS for Node, a module for browsers that a bundler builds,
 * and a module for no platform in particular.
 */
const PROJECTS = {
  node: { module: 'nodenext', lib: ['es2022'], ...NODE_TYPES },
  commonjs: { module: 'node16', lib: ['es2022'], ...NODE_TYPES },
  browser: { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] },
  bare: { module: 'node16', lib: ['es2022'], types: [] },
};

/** A user's program. It compiles only if the types refuse the marked lines, and allow all others. */
const USER_PROGRAM = `
import { type BodyOf, connect, type Live, type OutputRecord, positionOf, ProblemError, tonearm } from 'tonearm-client';

const node = tonearm('http://node.local:8018', { timeoutMs: 1000, headers: { Authorization: 'Basic bTpt' } });
export async function quieter(live: Live): Promise<number | undefined> {
  const body: BodyOf<'volume'> = { delta: -0.1 };
  try {
    await node.setOutputVolume('living', body);
    await node.setOutputVolume(3, { volume: 1 });
    await node.muteClient('News');
    await node.startUnit('user', 'mpd.service');
    await node.unitLog('user', 'mpd.service', { lines: 5 });
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'no-such-output') return error.status satisfies number;
  }
  // @ts-expect-error It needs a volume or a delta.
  await node.setOutputVolume('living', { loud: true });
  // @ts-expect-error It takes a volume or a delta, not both.
  await node.setOutputVolume('living', { volume: 0.5, delta: 0.1 });
  // @ts-expect-error There are two scopes.
  await node.startUnit('global', 'mpd.service');
  // @ts-expect-error It is read only.
  live.state.outputs.set(1, undefined);
  // @ts-expect-error There is no such slice.
  live.subscribe('chairs', () => undefined);
  live.subscribe('defaultOutput', (output) => output?.volume satisfies number | undefined);
  live.subscribe('server', (server) => server?.control satisfies boolean | undefined);
  const { server } = await live.ready;
  (await node.with({ headers: { 'X-Of': server?.hostname ?? '' }, timeoutMs: 500 }).cover('mpd')).size satisfies number;
  live.subscribe('clients', (clients) => clients.get(3)?.volume satisfies number | undefined);
  const [output] = live.state.outputs.values();
  const known: OutputRecord | undefined = output;
  const state: 'running' | 'idle' | 'suspended' | 'unknown' | undefined = known?.state;
  const [player] = live.state.players.values();
  const position = player && positionOf(player, live.nodeTime());
  return state === 'running' ? position : live.state.upgrade?.run?.percent;
}
export const live = connect(node, {
  types: ['audio.updated', 'audio.removed'],
  onEvent: (event) => event.type === 'power.action' && (event.data.action satisfies 'reboot' | 'poweroff'),
  onChange: (state, changed) => changed.includes('units') && state.connection.problem?.detail,
});
`;

/** Programs with `fetch` and `AbortSignal` can also have this. The project `bare` has neither. */
const WITH_PLATFORM = `
export async function picture(signal: AbortSignal): Promise<Blob> {
  const other = tonearm(new URL('http://node.local:8018'), { fetch: (...args) => fetch(...args) });
  connect(other, { signal }).close();
  return other.with({ signal }).cover('mpd');
}
`;

/** Prints a stack, which must have the names of the sources. */
const FAILING = `
import { tonearm } from 'tonearm-client';
try {
  tonearm('localhost:8018');
} catch (error) {
  console.log(error.stack);
}
`;

/** A CommonJS program, which asks a node that does not answer. */
const REQUIRING = `
const { tonearm, ProblemError } = require('tonearm-client');
tonearm('http://127.0.0.1:1').outputs().catch((error) => console.log(error instanceof ProblemError, error.code));
`;

/**
 * Prints the names of the outputs as soon as it has them, and ends. `close` calls `onChange` once more, with
 * the status `closed`.
 */
const PRINTING = `
import { connect, tonearm } from 'tonearm-client';
const live = connect(tonearm(process.argv[2]), {
  onChange: ({ outputs, connection }) => {
    if (outputs.size === 0 || connection.status === 'closed') return;
    console.log(connection.status, [...outputs.values()].map(({ name }) => name).join());
    live.close();
  },
});
`;

describe('the packed client', { skip: skipReason({ programs: ['npm'] }) }, () => {
  const folder = temporaryFolder({ after });
  const clientPath = (...path: readonly string[]) => join(folder, 'node_modules/tonearm-client', ...path);
  const daemonProgram = () => join(folder, 'node_modules/.bin/tonearm');
  let npmOutput = '';
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

  before(async () => {
    // The build is there already. A new one would replace the files that other tests use at this moment.
    const pack = ['pack', '--ignore-scripts', '--pack-destination', folder, '.', './dist-client'];
    await run('npm', pack, { cwd: ROOT });
    const archives = readdirSync(folder).map((name) => `./${name}`);
    write('package.json', '{"type": "module"}');
    const install = ['install', '--offline', '--no-audit', '--no-fund', ...archives];
    const { stdout, stderr } = await run('npm', install, { cwd: folder });
    npmOutput = `${stdout}${stderr}`;
  });

  async function compiles(kind: keyof typeof PROJECTS, files: readonly string[]): Promise<void> {
    const compilerOptions = { ...STRICT, ...PROJECTS[kind] };
    write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const compiling = run(process.execPath, [tsc, '-p', folder]);
    await compiling.catch((error: { stdout: string }) => assert.fail(error.stdout));
  }

  test('npm installs the client and the daemon without any dependency, and warns of nothing', () => {
    assert.match(npmOutput, /^added 2 packages/m);
    assert.doesNotMatch(npmOutput, /EBADENGINE|deprecated|vulnerab/);
    const installed = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(installed, ['tonearm', 'tonearm-client']);
    assert.ok(existsSync(clientPath('LICENSE')));
  });

  test("the links of the daemon's README lead to files of its package", () => {
    const installed = (path: string) => join(folder, 'node_modules/tonearm', path);
    const links = readFileSync(installed('README.md'), 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g);
    const targets = [...links].map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target));
    assert.ok(targets.includes('packaging/page.png'), targets.join());
    const missing = targets.filter((target) => !existsSync(installed(target)));
    assert.deepEqual(missing, []);
  });

  test('the daemon that npm links runs, and has the licences of the packages that it contains', async () => {
    assert.match(await output(daemonProgram(), '--check-config'), /^bind:/);
    const notices = readFileSync(join(folder, 'node_modules/tonearm/dist/third-party-notices.txt'), 'utf8');
    const names = [
      'uws-pack',
      '@btc-vision/uwebsockets.js',
      'piscina',
      'mqtt',
      'dbus-next',
      'pino',
      'typebox',
      'yaml',
      'preact',
    ];
    for (const name of names) {
      const heading = `=+\n${name} [\\d.]+\n=+\n`;
      // The text of the licence must not be missing.
      const licenceBeginning = '.{40}';
      assert.match(notices, new RegExp(`^${heading}\n${licenceBeginning}`, 'ms'), name);
    }
  });

  test(
    'the installed daemon loads each of its late parts',
    {
      skip: skipReason({ programs: LATE_PART_PROGRAMS }),
    },
    (t) => loadsItsLateParts(t, { entry: join(folder, 'node_modules/tonearm/dist/main.js') }),
  );

  test("the daemon's package has the client, too, as tonearm/client", async () => {
    write('client-of-daemon.js', "import { connect } from 'tonearm/client'; console.log(typeof connect);");
    assert.equal(await output(process.execPath, join(folder, 'client-of-daemon.js')), 'function\n');
  });

  const declarations = () => readdirSync(clientPath()).filter((name) => name.endsWith('.d.ts'));

  test(`the client is one module of at most ${BUNDLE_MAX_BYTES} bytes with gzip, and imports nothing`, (t) => {
    const bundle = readFileSync(clientPath('client.js'));
    const { length: gzipBytes } = gzipSync(bundle, { level: 9 });
    t.diagnostic(`${bundle.length} bytes, ${gzipBytes} with gzip`);
    assert.ok(gzipBytes <= BUNDLE_MAX_BYTES, `${gzipBytes} bytes`);
    // `require` and `process` are missing in browsers.
    assert.doesNotMatch(bundle.toString(), /\bimport\b|\brequire\b|\bprocess\b/);
  });

  test('the declarations of the client import only each other, and have no any', () => {
    assert.ok(declarations().length > 3);
    for (const name of declarations()) {
      const text = readFileSync(clientPath(name), 'utf8');
      assert.doesNotMatch(text, /\bany\b/, name);
      for (const [, target = ''] of text.matchAll(/(?:from|import\() ?'([^']*)'/g))
        assert.ok(existsSync(clientPath(target.replace(/\.js$/, '.d.ts'))), `${name}: ${target}`);
    }
  });

  for (const kind of ['node', 'commonjs', 'browser', 'bare'] as const) {
    test(`the client compiles in a project of the kind ${kind}`, async () => {
      const text = kind === 'bare' ? USER_PROGRAM : USER_PROGRAM + WITH_PLATFORM;
      const name = kind === 'commonjs' ? 'user.cts' : 'user.ts';
      write(name, text);
      await compiles(kind, [name]);
    });
  }

  test('a CommonJS program can require the client', async () => {
    write('required.cjs', REQUIRING);
    assert.equal(await output(process.execPath, join(folder, 'required.cjs')), 'true unreachable\n');
  });

  test('stacks of the client have the names of its sources', async () => {
    write('failing.js', FAILING);
    const stack = await output(process.execPath, '--enable-source-maps', join(folder, 'failing.js'));
    assert.match(stack, /at checkedAddress \(.*src\/client\/routes\.ts:\d+/);
  });

  test('the client has a README of its own', () => {
    // The daemon's README does not speak of `live.ready`.
    assert.match(readFileSync(clientPath('README.md'), 'utf8'), /live\.ready/);
  });

  test("the types of the client are neither wider nor narrower than the daemon's", async () => {
    const text = readFileSync(clientPath('records.d.ts'), 'utf8');
    const names = text.match(/(?<=^export type )(?:\w+Record|Upgrade\w+|Player\w+)(?= =)/gm) ?? [];
    assert.ok(names.length > 10, names.join());
    // `Same` is `true` for two equal types, such as `Same<string, string>`. It is `never` for the unequal
    // types in `Same<string, string | number>`, and then the line that assigns `true` does not compile.
    const same = names.map((name) => `export const ${name}: Same<Client.${name}, Daemon.${name}> = true;`);
    const lines = [
      `import type * as Daemon from '${ROOT}src/protocol/actor/schemas.js';`,
      "import type * as Client from 'tonearm-client';",
      'type Same<A, B> = [A, B] extends [B, A] ? true : never;',
      `export const functions: Same<Client.Routes, import('${ROOT}src/client/records.js').Routes> = true;`,
      'type Names = keyof Client.Bodies | Daemon.BodyName;',
      'export const bodies: { [K in Names]: Same<Client.BodyOf<K>, Daemon.BodyOf<K>> } = {} as { [K in Names]: true };',
      ...same,
    ];
    write('same.ts', lines.join('\n'));
    await compiles('node', ['same.ts']);
  });

  test('on another system the installed daemon says that it needs Linux', async () => {
    write('mac.cjs', "Object.defineProperty(process, 'platform', { value: 'darwin' })");
    const nodeArguments = ['--require', join(folder, 'mac.cjs'), daemonProgram()];
    await assert.rejects(run(process.execPath, nodeArguments), {
      code: 126,
      stderr: /needs Linux .* darwin /,
    });
  });

  test('the client runs in a program of Node', {
    skip: skipReason({ programs: ['pulseaudio'] }),
  }, async (t) => {
    const { daemon } = await startAudio(t);
    write('program.js', PRINTING);
    const url = `http://127.0.0.1:${daemon.port}`;
    const printed = await output(process.execPath, join(folder, 'program.js'), url);
    assert.equal(printed, 'live living,kitchen\n');
  });
});
