// Tests which files are loaded: the lookup order, conf.d, and files that cannot be read
// (docs/configuration.md, "Where files are looked for"). All files are real.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { type LoadRequest, loadSettings } from '../../../src/supervisor/config/load.js';
import { temporaryFolder } from '../../temporary-folder.js';

/** The port of a configuration that names no port. */
const DEFAULT_PORT = 8018;

/**
 * ROOT is the folder of the test. By default there is neither XDG_CONFIG_HOME nor `--config`, and the home
 * is ROOT/home.
 */
interface LoadOptions {
  /** True if XDG_CONFIG_HOME is ROOT/xdg. */
  readonly xdg?: boolean;
  /** The argument of `--config`: an absolute path, or a path below ROOT. */
  readonly config?: string;
  /** '' if the process has no home. */
  readonly home?: '';
}

/** Returns functions that load the configuration from files below the folder `root`. */
function folderAt(root: string) {
  const load = ({ xdg = false, config, home }: LoadOptions = {}) =>
    loadSettings({
      ...loadRequestFor(root),
      ...(config !== undefined && { configPath: resolve(root, config) }),
      ...(xdg && { env: { XDG_CONFIG_HOME: join(root, 'xdg') } }),
      ...(home !== undefined && { home }),
    });
  /** Resolves with the port in the settings, and with the path of the loaded file without `ROOT/`. */
  const portAndFile = async (options?: LoadOptions) => {
    const loaded = await load(options);
    assert.ok(loaded.ok, JSON.stringify(loaded));
    return [loaded.value.settings.api.port, loaded.value.source?.replace(`${root}/`, '')];
  };
  /**
   * Resolves with the problems of the file `config`. Without `config`, the lookup order decides about the
   * file. The paths in the problems omit `ROOT/`.
   */
  const problems = async (config?: string) => {
    const loaded = await load(config === undefined ? {} : { config });
    return loaded.ok ? [] : loaded.error.problems.map((line) => line.replace(`${root}/`, ''));
  };
  return { root, load, portAndFile, problems };
}

/**
 * Declares a test in a new folder, ROOT. `files` maps paths below ROOT to the contents of files. The home
 * directory is ROOT/home, and the system's configuration file is ROOT/etc/tonearm/config.yaml.
 */
function testInFolder(
  name: string,
  files: Readonly<Record<string, string | Buffer>>,
  body: (folder: ReturnType<typeof folderAt>) => Promise<void>,
): void {
  test(name, async (t) => {
    const root = temporaryFolder(t);
    for (const [path, contents] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), contents);
    }
    await body(folderAt(root));
  });
}

function loadRequestFor(root: string): LoadRequest {
  const systemConfig = join(root, 'etc/tonearm/config.yaml');
  return { env: {}, home: join(root, 'home'), hostname: 'node', uid: 7, systemConfig };
}

const USER_FOLDER = 'home/.config/tonearm';
/** Each file has a different port, by which a test recognizes the file. */
const FILE_IN_EVERY_PLACE = {
  'custom/own.yaml': 'api: {port: 1}',
  'xdg/tonearm/config.yaml': 'api: {port: 2}',
  [`${USER_FOLDER}/config.yaml`]: 'api: {port: 3}',
  'etc/tonearm/config.yaml': 'api: {port: 4}',
};

testInFolder(
  'the first existing file of the lookup order is loaded',
  FILE_IN_EVERY_PLACE,
  async ({ root, portAndFile }) => {
    const config = 'custom/own.yaml';
    assert.deepEqual(await portAndFile({ xdg: true, config }), [1, 'custom/own.yaml']);
    assert.deepEqual(await portAndFile({ xdg: true }), [2, 'xdg/tonearm/config.yaml']);
    assert.deepEqual(await portAndFile(), [3, `${USER_FOLDER}/config.yaml`]);
    rmSync(join(root, 'home'), { recursive: true });
    assert.deepEqual(await portAndFile(), [4, 'etc/tonearm/config.yaml']);
    rmSync(join(root, 'xdg'), { recursive: true });
    assert.deepEqual(await portAndFile({ xdg: true }), [4, 'etc/tonearm/config.yaml']);
    rmSync(join(root, 'etc'), { recursive: true });
    assert.deepEqual(await portAndFile(), [DEFAULT_PORT, undefined]);
  },
);

testInFolder(
  'an empty file in ~/.config is loaded, but it is ignored if there is no home or if XDG_CONFIG_HOME is set',
  { ...FILE_IN_EVERY_PLACE, [`${USER_FOLDER}/config.yaml`]: '' },
  async ({ root, portAndFile }) => {
    assert.deepEqual(await portAndFile(), [DEFAULT_PORT, `${USER_FOLDER}/config.yaml`]);
    assert.deepEqual(await portAndFile({ home: '' }), [4, 'etc/tonearm/config.yaml']);
    rmSync(join(root, 'xdg'), { recursive: true });
    assert.deepEqual(await portAndFile({ xdg: true }), [4, 'etc/tonearm/config.yaml']);
  },
);

testInFolder(
  'a missing file that --config names is a problem, and no other file is tried',
  FILE_IN_EVERY_PLACE,
  async ({ problems }) => {
    for (const config of ['custom/other.yaml', 'custom/own.yaml/config.yaml', 'nowhere/config.yaml'])
      assert.deepEqual(await problems(config), [`${config}: cannot be read: no such file or directory`]);
  },
);

// conf.d.

testInFolder(
  'the files *.yaml and *.yml of conf.d overrule config.yaml in the order of their names, and other files are left out',
  {
    'etc/tonearm/config.yaml': 'bind: all\napi: {port: 1, hosts: [a]}',
    'etc/tonearm/conf.d/20-b.yml': 'api: {port: 3}',
    'etc/tonearm/conf.d/10-a.yaml': 'api: {port: 2, hosts: [b]}',
    'etc/tonearm/conf.d/.hidden.yaml': 'bind: lo',
    'etc/tonearm/conf.d/.yaml': 'bind: lo',
    'etc/tonearm/conf.d/30.yaml~': 'api: {port: 9}',
    'etc/tonearm/conf.d/30.conf': 'api: {port: 9}',
    'etc/tonearm/conf.d/30.YAML': 'api: {port: 9}',
  },
  async ({ load }) => {
    const loaded = await load();
    assert.ok(loaded.ok, JSON.stringify(loaded));
    assert.deepEqual(loaded.value.settings.bind, ['all']);
    assert.equal(loaded.value.settings.api.port, 3);
    assert.deepEqual(loaded.value.settings.api.hosts, ['b']);
  },
);

testInFolder(
  'only the conf.d beside the loaded file is read',
  {
    'custom/own.yaml': 'bind: all',
    [`${USER_FOLDER}/conf.d/a.yaml`]: 'api: {port: 3}',
    'etc/tonearm/config.yaml': 'bind: all',
    'etc/tonearm/conf.d/a.yaml': 'api: {port: 4}',
  },
  async ({ root, portAndFile }) => {
    assert.deepEqual(await portAndFile(), [4, 'etc/tonearm/config.yaml']);
    assert.deepEqual(await portAndFile({ config: 'custom/own.yaml' }), [DEFAULT_PORT, 'custom/own.yaml']);
    mkdirSync(join(root, 'custom/conf.d'));
    writeFileSync(join(root, 'custom/conf.d/x.yaml'), 'api: {port: 5}');
    assert.deepEqual(await portAndFile({ config: 'custom/own.yaml' }), [5, 'custom/own.yaml']);
    rmSync(join(root, 'etc/tonearm/config.yaml'));
    assert.deepEqual(await portAndFile(), [DEFAULT_PORT, undefined]);
  },
);

testInFolder(
  'problems of conf.d itself and of all files in it are reported',
  { 'c/own.yaml': '' },
  async ({ root, problems }) => {
    const folder = join(root, 'c/conf.d');
    writeFileSync(folder, '');
    assert.deepEqual(await problems('c/own.yaml'), ['c/conf.d: cannot be read: not a directory']);
    rmSync(folder);
    mkdirSync(join(folder, 'folder.yaml'), { recursive: true });
    symlinkSync('nowhere', join(folder, 'link.yml'));
    writeFileSync(join(folder, 'ok.yaml'), '');
    assert.deepEqual(await problems('c/own.yaml'), [
      'c/conf.d/folder.yaml: cannot be read: it is a directory',
      'c/conf.d/link.yml: cannot be read: it is, or is behind, a broken link',
    ]);
    // The folder has three entries already. With 254 more it has 257.
    for (let count = 0; count < 254; count += 1) writeFileSync(join(folder, `${count}.yaml`), '');
    assert.deepEqual(await problems('c/own.yaml'), ['c/conf.d: more than 256 configuration files']);
  },
);

// Files that are no text.

testInFolder(
  'a file is refused if it is not UTF-8 or has more than 64 KiB',
  {
    latin1: Buffer.from('bind: lo\n# h\xe4user\nlogLevel: info\n', 'latin1'),
    // The bytes ef, bf and bd are a valid U+FFFD, the character by which decoders replace invalid bytes. The
    // invalid byte is on the next line.
    behind: Buffer.from('bind: lo\n# \xef\xbf\xbd\n# h\xe4user\n', 'latin1'),
    // The last character lacks its second byte.
    tail: Buffer.from('bind: lo\n\xc3', 'latin1'),
    utf16: Buffer.from('\ufeffbind: lo', 'utf16le'),
    huge: Buffer.alloc(64 * 1024 + 1, '#'),
    largest: Buffer.alloc(64 * 1024, '#'),
  },
  async ({ problems }) => {
    assert.deepEqual(await problems('latin1'), ['latin1:2:1: syntax: is not UTF-8']);
    assert.deepEqual(await problems('behind'), ['behind:3:1: syntax: is not UTF-8']);
    assert.deepEqual(await problems('tail'), ['tail:2:1: syntax: is not UTF-8']);
    assert.deepEqual(await problems('utf16'), ['utf16:1:1: syntax: is not UTF-8']);
    assert.deepEqual(await problems('huge'), ['huge:1:1: document: is larger than 65536 bytes']);
    assert.deepEqual(await problems('largest'), []);
  },
);

const BROKEN_LINK = 'cannot be read: it is, or is behind, a broken link';

testInFolder(
  'a directory or a broken link in the place of config.yaml is a problem, and no other file is tried',
  FILE_IN_EVERY_PLACE,
  async ({ root, portAndFile, problems }) => {
    const config = `${USER_FOLDER}/config.yaml`;
    rmSync(join(root, config));
    mkdirSync(join(root, config));
    assert.deepEqual(await problems(), [`${config}: cannot be read: it is a directory`]);
    rmSync(join(root, config), { recursive: true });
    symlinkSync('nowhere', join(root, config));
    assert.deepEqual(await problems(), [`${config}: ${BROKEN_LINK}`]);
    rmSync(join(root, USER_FOLDER), { recursive: true });
    symlinkSync('/nowhere/mounted', join(root, USER_FOLDER));
    assert.deepEqual(await problems(), [`${config}: ${BROKEN_LINK}`]);

    // A link to a folder that exists is no problem. The folder has no file at first, so the next file of the
    // order is loaded.
    rmSync(join(root, USER_FOLDER));
    mkdirSync(join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), join(root, USER_FOLDER));
    assert.deepEqual(await portAndFile(), [4, 'etc/tonearm/config.yaml']);
    writeFileSync(join(root, 'elsewhere/config.yaml'), 'api: {port: 5}');
    assert.deepEqual(await portAndFile(), [5, config]);
    symlinkSync('nowhere', join(root, 'elsewhere/conf.d'));
    assert.deepEqual(await problems(), [`${USER_FOLDER}/conf.d: ${BROKEN_LINK}`]);
  },
);

testInFolder(
  'a FIFO is a problem and does not delay the start, and /dev/null counts as an empty file',
  {},
  async ({ root, portAndFile, problems }) => {
    execFileSync('/usr/bin/env', ['mkfifo', join(root, 'fifo')]);
    assert.deepEqual(await problems('fifo'), ['fifo: cannot be read: it is a FIFO']);
    assert.deepEqual(await portAndFile({ config: '/dev/null' }), [DEFAULT_PORT, '/dev/null']);
  },
);

testInFolder(
  'a file that the daemon has no permission to read is a problem, and no other file is tried',
  FILE_IN_EVERY_PLACE,
  async ({ root }) => {
    const moduleUrl = new URL('../../../src/supervisor/config/load.js', import.meta.url).href;
    const script = `
      import { loadSettings } from ${JSON.stringify(moduleUrl)};
      console.log(JSON.stringify(await loadSettings(${JSON.stringify(loadRequestFor(root))})));`;
    chmodSync(root, 0o755);
    chmodSync(join(root, USER_FOLDER, 'config.yaml'), 0o000);
    // The user root can read every file, unless it loses two capabilities.
    const asReader =
      process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
    const [program = '', ...args] = [...asReader, process.execPath, '--input-type=module', '--eval', script];
    const output = execFileSync(program, args, { encoding: 'utf8' });
    assert.deepEqual(JSON.parse(output), {
      ok: false,
      error: {
        problems: [`${root}/${USER_FOLDER}/config.yaml: cannot be read: permission denied`],
        warnings: [],
      },
    });
  },
);

testInFolder(
  'a password file must exist, and other users must not be able to read it',
  { 'c.yaml': 'mqtt: {enabled: true, url: "mqtt://b", passwordFile: ~/secret}', 'home/secret': 'x' },
  async ({ root, problems }) => {
    const place = 'c.yaml:1:54: mqtt.passwordFile';
    const readableByOthers = `${place}: others can read this file: run chmod 600 on it`;
    const rows = [
      { mode: 0o600, expected: [] },
      { mode: 0o640, expected: [readableByOthers] },
      { mode: 0o604, expected: [readableByOthers] },
    ];
    for (const { mode, expected } of rows) {
      chmodSync(join(root, 'home/secret'), mode);
      assert.deepEqual(await problems('c.yaml'), expected);
    }
    rmSync(join(root, 'home/secret'));
    assert.deepEqual(await problems('c.yaml'), [`${place}: cannot be read: no such file or directory`]);
  },
);
