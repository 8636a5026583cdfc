// Tests the search for the sound server: first the rules, then the files, then the backend. pactl shows
// which server libpulse finds with the same files.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import fileSystem from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { AudioBackend } from '../../../src/actors/audio/backend.js';
import {
  configuredSockets,
  type FoundServer,
  findServer,
  readMachineId,
  usualSockets,
} from '../../../src/actors/audio/server-address.js';
import { TIMING } from '../../../src/actors/audio/timing.js';
import { FILE_WAIT_MAX_MS } from '../../../src/actors/small-file.js';
import { systemClock } from '../../../src/host/clock.js';
import type { Variables } from '../../../src/host/user-directories.js';
import { failed, success } from '../../../src/protocol/actor/result.js';
import { startPulseAudio } from '../../sound/servers.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { skipReason } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { Recorder } from '../recorder.js';
import { scriptedServer } from './scripted-server.js';
import { AUDIO_SETTINGS } from './start-backend.js';

const XDG_ENV = { XDG_RUNTIME_DIR: '/run/user/1000' };
const RUNTIME_SOCKET = '/run/user/1000/pulse/native';
/** The folder m1-runtime is a link, which libpulse makes if there is no runtime directory. */
const LINKED_SOCKET = '/pi/.config/pulse/m1-runtime/native';
const SYSTEM_SOCKET = '/run/pulse/native';
const UNIX_ONLY = 'tonearm speaks to a Unix socket only';

const context = (env: Variables, home = '/pi') => ({ env, uid: 42, home, machineId: 'm1' });

describe('if PULSE_SERVER names no server, the usual sockets are tried', () => {
  const NO_DEFAULT_SERVER = undefined;
  const rows: readonly (readonly [what: string, env: Variables, paths: readonly string[]])[] = [
    [
      "the user's sockets are tried before the system's socket",
      XDG_ENV,
      [RUNTIME_SOCKET, LINKED_SOCKET, SYSTEM_SOCKET],
    ],
    [
      'the runtime directory is found by the user id if XDG_RUNTIME_DIR is empty',
      { XDG_RUNTIME_DIR: '' },
      ['/run/user/42/pulse/native', LINKED_SOCKET, SYSTEM_SOCKET],
    ],
    [
      'the socket of PULSE_RUNTIME_PATH is tried first',
      { ...XDG_ENV, PULSE_RUNTIME_PATH: '/p' },
      ['/p/native', RUNTIME_SOCKET, LINKED_SOCKET, SYSTEM_SOCKET],
    ],
    [
      'the linked socket is in the directory of XDG_CONFIG_HOME',
      { ...XDG_ENV, XDG_CONFIG_HOME: '/c' },
      [RUNTIME_SOCKET, '/c/pulse/m1-runtime/native', SYSTEM_SOCKET],
    ],
  ];
  for (const [what, env, paths] of rows) {
    test(what, () => assert.deepEqual(usualSockets(context(env), NO_DEFAULT_SERVER), { paths }));
  }

  test('the sockets that depend on an unknown home or machine id are left out', () => {
    const expected = { paths: [RUNTIME_SOCKET, SYSTEM_SOCKET] };
    const withoutHome = context(XDG_ENV, '');
    assert.deepEqual(usualSockets(withoutHome, NO_DEFAULT_SERVER), expected);
    const withoutMachineId = { ...context(XDG_ENV), machineId: undefined };
    assert.deepEqual(usualSockets(withoutMachineId, NO_DEFAULT_SERVER), expected);
  });

  const origin = 'default-server of /f';
  test('the socket of client.conf is tried between the sockets of the user and of the system', () =>
    assert.deepEqual(usualSockets(context(XDG_ENV), { origin, addressText: 'unix:/a' }), {
      paths: [RUNTIME_SOCKET, LINKED_SOCKET, '/a', SYSTEM_SOCKET],
    }));

  test("the system's socket is left out if client.conf names a server on the network", () =>
    assert.deepEqual(usualSockets(context(XDG_ENV), { origin, addressText: 'tcp:h' }), {
      paths: [RUNTIME_SOCKET, LINKED_SOCKET],
      addressProblem: `${origin} is tcp:h: ${UNIX_ONLY}`,
    }));
});

describe('a server that PULSE_SERVER names excludes all others', () => {
  const origin = 'PULSE_SERVER';
  const sockets = (...paths: string[]): FoundServer => success({ paths });
  const rows: readonly (readonly [value: string, expected: FoundServer])[] = [
    ['unix:/a/b', sockets('/a/b')],
    ['/a/b', sockets('/a/b')],
    ['{m1}unix:/a/b', sockets('/a/b')],
    // `{m2}` is the id of another machine, so the address after it does not count on `m1`.
    ['{m2}tcp:h /a', sockets('/a')],
    [
      '{m1}/a  unix:/b tcp:host:4713 /a',
      success({
        paths: ['/a', '/b'],
        addressProblem: `${origin} is {m1}/a  unix:/b tcp:host:4713 /a: ${UNIX_ONLY}`,
      }),
    ],
  ];
  for (const [value, expected] of rows)
    test(`only the Unix sockets of this machine are taken from ${value}`, () =>
      assert.deepEqual(configuredSockets({ origin, addressText: value }, 'm1'), expected));

  // An abstract socket and a relative path are refused, too.
  const unreachable = ['tcp:h', 'tcp4:h:1', 'tcp6:[::1]', 'host', 'unix:@abstract', 'unix:a', '{m2}unix:/a'];
  for (const value of unreachable) {
    test(`${value} cannot be reached, and the error names it`, () => {
      const detail = `PULSE_SERVER is ${value}: ${UNIX_ONLY}`;
      assert.deepEqual(configuredSockets({ origin, addressText: value }, 'm1'), failed(detail));
    });
  }

  test('an address for another machine counts if the id of this machine is unknown', () =>
    assert.deepEqual(
      configuredSockets({ origin, addressText: '{m2}unix:/a' }, undefined),
      success({ paths: ['/a'] }),
    ));
});

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Returns the addresses that libpulse tries, in order, as pactl logs them. Fails if a server answers. */
async function addressesTriedByPactl(env: Variables): Promise<readonly string[]> {
  const verboseEnv = { PATH: process.env['PATH'], PULSE_LOG: '4', ...env };
  const output = await promisify(execFile)('pactl', ['info'], { env: verboseEnv }).then(
    () => assert.fail('a server answers'),
    (error: { readonly stderr: string }) => error.stderr,
  );
  const tried = [...output.matchAll(/Trying to connect to (?:unix:)?(\S+)\.\.\./g)];
  // libpulse writes /var/run, which is a link to /run.
  return tried.map(([, path = '']) => path.replace(/^\/var\/run\//, '/run/'));
}

test('a file for the machine id is passed over if it is missing or empty', (t) => {
  const folder = temporaryFolder(t);
  const files = ['missing', 'empty', 'full'].map((name) => join(folder, name));
  writeFileSync(join(folder, 'empty'), '\n');
  assert.equal(readMachineId(files), undefined);
  writeFileSync(join(folder, 'full'), 'm1\n');
  assert.equal(readMachineId(files), 'm1');
});

describe('client.conf', () => {
  const CONF = '.config/pulse/client.conf';
  const COMMENTED = [
    '# default-server = /x',
    '; default-server = /y',
    '',
    '[section]',
    '  default-server =  unix:/a # a',
    '',
  ].join('\n');
  const rows: readonly (readonly [
    what: string,
    textsByPath: Readonly<Record<string, string>>,
    namedPaths?: readonly string[],
  ])[] = [
    ['names a server', { [CONF]: 'default-server = /a\n' }, ['/a']],
    ['has comments and sections', { [CONF]: COMMENTED }, ['/a']],
    [
      'names two servers, of which the last one counts',
      { [CONF]: 'default-server=/a\ndefault-server=/b' },
      ['/b'],
    ],
    ['cancels its server by a line without a value', { [CONF]: 'default-server=/a\ndefault-server=' }],
    [
      'has a folder client.conf.d beside it, in which the last file by name counts',
      {
        [CONF]: 'default-server = /a',
        [`${CONF}.d/20.conf`]: 'default-server = /c',
        [`${CONF}.d/10.conf`]: 'default-server = /b',
        [`${CONF}.d/30.txt`]: 'default-server = /d',
      },
      ['/c'],
    ],
    [
      'is also in the folder .pulse, which comes first',
      { '.pulse/client.conf': 'default-server = /a', [CONF]: 'default-server = /b' },
      ['/a'],
    ],
    // Without a client.conf, neither libpulse nor the daemon reads client.conf.d.
    ['does not exist, although client.conf.d exists', { [`${CONF}.d/10.conf`]: 'default-server = /b' }],
    ['does not mention a server', { [CONF]: 'autospawn = no\n' }],
  ];
  /** The sockets of a user whose home is also the runtime directory. */
  const userSockets = (home: string) => [
    join(home, 'pulse/native'),
    join(home, '.config/pulse/m1-runtime/native'),
  ];

  for (const [what, textsByPath, namedPaths] of rows) {
    test(`the sockets are right for a client.conf that ${what}`, {
      skip: skipReason({ programs: ['pactl'] }),
    }, async (t) => {
      const home = temporaryFolder(t);
      for (const [name, text] of Object.entries(textsByPath)) write(join(home, name), text);

      const env = { HOME: home, XDG_RUNTIME_DIR: home };
      const found = await findServer(context(env, home));
      const [runtime = '', linked = ''] = userSockets(home);
      assert.deepEqual(found, success({ paths: [runtime, linked, ...(namedPaths ?? []), SYSTEM_SOCKET] }));

      // Unlike the daemon, libpulse tries no other socket if client.conf names one. It never tries the linked
      // socket here, because it makes the link only if there is no runtime directory (server-address.ts).
      assert.deepEqual(await addressesTriedByPactl(env), namedPaths ?? [runtime, SYSTEM_SOCKET]);
    });
  }

  test('client.conf is read in the home directory, even if XDG_CONFIG_HOME names another directory', {
    skip: skipReason({ programs: ['pactl'] }),
  }, async (t) => {
    const home = temporaryFolder(t);
    const config = join(home, 'other');
    write(join(home, CONF), 'default-server = /a');
    write(join(config, 'pulse/client.conf'), 'default-server = /b');
    const env = { HOME: home, XDG_RUNTIME_DIR: home, XDG_CONFIG_HOME: config };

    const found = await findServer(context(env, home));
    const linked = join(config, 'pulse/m1-runtime/native');
    const paths = [join(home, 'pulse/native'), linked, '/a', SYSTEM_SOCKET];
    assert.deepEqual(found, success({ paths }));
    assert.deepEqual(await addressesTriedByPactl(env), ['/a']);
  });

  test('client.conf of XDG_CONFIG_HOME is not read, even if there is no other client.conf', {
    skip: skipReason({ programs: ['pactl'] }),
  }, async (t) => {
    const home = temporaryFolder(t);
    const config = join(home, 'other');
    write(join(config, 'pulse/client.conf'), 'default-server = /b');
    const env = { HOME: home, XDG_RUNTIME_DIR: home, XDG_CONFIG_HOME: config };

    const runtime = join(home, 'pulse/native');
    const paths = [runtime, join(config, 'pulse/m1-runtime/native'), SYSTEM_SOCKET];
    assert.deepEqual(await findServer(context(env, home)), success({ paths }));
    assert.deepEqual(await addressesTriedByPactl(env), [runtime, SYSTEM_SOCKET]);
  });

  const FOLDER_ROWS: readonly (readonly [what: string, file: string, namedPaths: readonly string[]])[] = [
    ['replaces both client.conf files of the home directory', 'own/client.conf', ['/b']],
    [
      'replaces both client.conf files of the home directory, even without a client.conf in the folder',
      'own/other.conf',
      [],
    ],
  ];
  for (const [what, file, namedPaths] of FOLDER_ROWS) {
    test(`the folder of PULSE_CONFIG_PATH ${what}`, {
      skip: skipReason({ programs: ['pactl'] }),
    }, async (t) => {
      const home = temporaryFolder(t);
      write(join(home, '.pulse/client.conf'), 'default-server = /a');
      write(join(home, CONF), 'default-server = /a');
      write(join(home, file), 'default-server = /b');
      const env = { HOME: home, XDG_RUNTIME_DIR: home, PULSE_CONFIG_PATH: join(home, 'own') };

      const [runtime = '', linked = ''] = userSockets(home);
      const paths = [runtime, linked, ...namedPaths, SYSTEM_SOCKET];
      assert.deepEqual(await findServer(context(env, home)), success({ paths }));
      const tried = await addressesTriedByPactl(env);
      assert.deepEqual(tried, namedPaths.length > 0 ? namedPaths : [runtime, SYSTEM_SOCKET]);
    });
  }

  test('the file of PULSE_CLIENTCONFIG replaces every other client.conf, and PULSE_SERVER replaces even this file', async (t) => {
    const home = temporaryFolder(t);
    write(join(home, CONF), 'default-server = /a');
    write(join(home, 'other.conf'), 'default-server = /b');
    write(join(home, 'own/client.conf'), 'default-server = /d');
    const env = {
      PULSE_CLIENTCONFIG: join(home, 'other.conf'),
      PULSE_CONFIG_PATH: join(home, 'own'),
      XDG_RUNTIME_DIR: home,
    };

    const paths = [...userSockets(home), '/b', SYSTEM_SOCKET];
    assert.deepEqual(await findServer(context(env, home)), success({ paths }));

    const found = await findServer(context({ ...env, PULSE_SERVER: '/c' }, home));
    assert.deepEqual(found, success({ paths: ['/c'] }));
  });

  test('only client.conf decides if client.conf.d cannot be read in time', async (t) => {
    const home = temporaryFolder(t);
    write(join(home, CONF), 'default-server = /a');
    const hangingReaddir = t.mock.method(fileSystem, 'readdir', () => new Promise(() => undefined));
    // Without this call, `import { readdir }` in the files under test would still be the real function.
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.timers.reset();
      hangingReaddir.mock.restore();
      syncBuiltinESMExports();
    });
    t.mock.timers.enable({ apis: ['setTimeout'] });

    const finding = findServer(context({ XDG_RUNTIME_DIR: home }, home));
    while (hangingReaddir.mock.callCount() === 0) await new Promise(setImmediate);
    t.mock.timers.tick(FILE_WAIT_MAX_MS);

    assert.deepEqual(await finding, success({ paths: [...userSockets(home), '/a', SYSTEM_SOCKET] }));
  });

  test('a network server that client.conf names is reported with the path of client.conf', async (t) => {
    const home = temporaryFolder(t);
    write(join(home, CONF), 'default-server = tcp:hifi:4713');
    const addressProblem = `default-server of ${join(home, CONF)} is tcp:hifi:4713: ${UNIX_ONLY}`;
    const paths = userSockets(home);
    const found = await findServer(context({ XDG_RUNTIME_DIR: home }, home));
    assert.deepEqual(found, success({ paths, addressProblem }));
  });
});

describe('the backend', { timeout: 60_000 }, () => {
  function startRecordedBackend(t: TestContext, env: Variables, home: string) {
    const recorder = new Recorder();
    const settings = { ...AUDIO_SETTINGS, serveCookie: false };
    const backend = new AudioBackend(settings, context(env, home), recorder, systemClock, TIMING);
    t.after(() => backend.stop());
    return recorder;
  }

  test('reports that PULSE_SERVER names a server on the network, and connects to no other server', async (t) => {
    const server = await scriptedServer(t);
    const home = dirname(server.socketPath);
    // The socket moves to the usual path, where the backend would find it without PULSE_SERVER.
    mkdirSync(join(home, 'pulse'));
    renameSync(server.socketPath, join(home, 'pulse/native'));

    const recorder = startRecordedBackend(t, { PULSE_SERVER: 'tcp:hifi:4713', XDG_RUNTIME_DIR: home }, home);
    const detail = `PULSE_SERVER is tcp:hifi:4713: ${UNIX_ONLY}`;
    await until('the address is reported', () => recorder.state === `connecting: ${detail}`);
    assert.equal(server.connections(), 0);
  });

  test('reports the network server that client.conf names, if the user has no socket', async (t) => {
    const home = temporaryFolder(t);
    write(join(home, '.config/pulse/client.conf'), 'default-server = tcp:hifi:4713');
    const recorder = startRecordedBackend(t, { XDG_RUNTIME_DIR: home }, home);
    await until('the reason is published', () => recorder.state !== '');
    assert.match(
      recorder.state,
      new RegExp(`pulse/native; default-server of .* is tcp:hifi:4713: ${UNIX_ONLY}$`),
    );
  });

  test('reports the usual socket if there is no sound server at all', async (t) => {
    const home = temporaryFolder(t);
    const recorder = startRecordedBackend(t, { XDG_RUNTIME_DIR: home }, home);
    await until('the reason is published', () => recorder.state !== '');
    assert.match(recorder.state, new RegExp(`^connecting: .*: connect ENOENT ${home}/pulse/native$`));
  });

  const needsPulseAudio = { skip: skipReason({ programs: ['pulseaudio', 'pactl'] }) };
  test(
    'finds a real server by client.conf, and by a link of libpulse that appears after the first attempt',
    needsPulseAudio,
    async (t) => {
      const sound = await startPulseAudio();
      t.after(() => sound.stop());
      const homeWithFile = temporaryFolder(t);
      write(join(homeWithFile, '.config/pulse/client.conf'), `default-server = unix:${sound.socketPath}`);

      const homeWithLink = temporaryFolder(t);
      mkdirSync(join(homeWithLink, '.config/pulse'), { recursive: true });

      const recorderByLink = startRecordedBackend(t, { XDG_RUNTIME_DIR: homeWithLink }, homeWithLink);
      await until('the first attempt has failed', () => recorderByLink.state.startsWith('connecting: '));

      symlinkSync(dirname(sound.socketPath), join(homeWithLink, '.config/pulse/m1-runtime'));
      const recorderByFile = startRecordedBackend(t, { XDG_RUNTIME_DIR: homeWithFile }, homeWithFile);
      await until('both backends are up', () => recorderByFile.isUp && recorderByLink.isUp);
    },
  );
});
