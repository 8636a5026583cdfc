// Boots Debians that have systemd, and nothing else that tonearm uses. install.sh installs the tarball of a
// release on them. First the user ann runs it for herself, without root's rights. Later root runs it for pi.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bootNode, type Node, type Ran, whyNoNode } from '../node/node.js';
import { temporaryFolder } from '../temporary-folder.js';
import { buildTarball, output } from './built-package.js';

// build/test/packaging/installed-bare.test.js -> the project's root
const BARE = fileURLToPath(new URL('../../../packaging/bare.mjs', import.meta.url));

/** Puts two releases on the node. The older one has a file that the newer one lacks. */
const PREPARE = `
cd /opt; tar -xzf release/tonearm-*.tar.gz; mv tonearm-* newer; cp -R newer older; touch older/share/man/man1/gone.1
useradd --create-home ann
`;
/**
 * Lists every path that an installation could make or remove. The cache is left out, because the service may
 * keep compiled code there at any time.
 */
const LIST_PATHS =
  'find /etc /usr /var/lib /home /run/user -xdev ! -path "*/journal/*" ! -path "/run/user/*/systemd/*" ! -path "*/.cache/tonearm*"';

const AS_ANN = 'setpriv --reuid ann --regid ann --init-groups --reset-env env --chdir=/home/ann';

/** Returns shell commands. After them the shell runs `replacement` in place of the program `name`. */
const replaced = (name: string, replacement: string): string =>
  `mkdir /tmp/p; printf '#!/bin/sh\\n${replacement}\\n' > /tmp/p/${name}; chmod 755 /tmp/p/${name}; PATH=/tmp/p:$PATH`;

/**
 * Installations by root that are refused before anything is changed. The commands of `prepare` run first;
 * `:` does nothing. A mount that they make is gone after the row. install.sh ends with `status`, and prints
 * only `line`. The status is 64 for wrong usage, 67 for a user who does not exist, 73 for a file in the way,
 * 126 for a machine that cannot run the program, and 1 for any other reason.
 */
const REFUSED: readonly (readonly [
  what: string,
  prepare: string,
  args: string,
  status: number,
  line: RegExp,
])[] = [
  ['a call without a user', ':', '', 64, /--user NAME is missing/],
  ['an unknown user', ':', '--user nobody-here', 67, /there is no user nobody-here/],
  ['an unknown option', ':', '--user pi --now', 64, /unknown argument '--now'/],
  ['an option of the Debian package', ':', '--user pi --with-upgrade', 64, /is for the Debian package/],
  ['an option beside --uninstall', ':', '--user pi --uninstall', 64, /--uninstall takes no other option/],
  ['to remove what is not there', ':', '--uninstall', 1, /nothing is installed below \/usr\/local/],
  ['a machine without systemd', 'mount -t tmpfs tmpfs /run', '--user pi', 1, /systemd does not run here/],
  ['another processor', replaced('uname', 'echo riscv64'), '--user pi', 126, /and this machine is riscv64/],
  ['an old C library', replaced('getconf', 'echo glibc 2.27'), '--user pi', 126, /machine has glibc 2\.27/],
  ['another C library', replaced('getconf', 'exit 1'), '--user pi', 126, /machine has another C library/],
  [
    'a Node that does not run',
    'mount --bind /dev/null /opt/newer/lib/tonearm/node',
    '--user pi',
    126,
    /the Node in this folder does not run here: .* Permission denied$/,
  ],
  [
    "a file that is somebody else's",
    'mount -t tmpfs tmpfs /usr/local/bin; touch /usr/local/bin/tonearm',
    '--user pi',
    73,
    /\/usr\/local\/bin\/tonearm was not installed by this/,
  ],
  // 60 MB are less than an installation needs.
  [
    'a full disk',
    'mount -t tmpfs -o size=60m tmpfs /usr/local/lib',
    '--user pi',
    1,
    /\/usr\/local\/lib\/tonearm could not be written: nothing was changed\. .*No space left/,
  ],
];

const FOLDER_OF_ANN = '/home/ann/.local/lib/tonearm';
const UNIT_OF_ANN = '/home/ann/.config/systemd/user/tonearm.service';
const FOLDER_OF_ROOT = '/usr/local/lib/tonearm';

/** Makes some of the files that install.sh of an old checkout made, and the list of these files. */
const FROM_CHECKOUT = `
cd /usr/local; mkdir -p lib/tonearm share/tonearm; touch bin/tonearm lib/tonearm/main.js share/tonearm/config.example.yaml
printf '%s\\n' bin/tonearm lib/tonearm/main.js share/tonearm/config.example.yaml > lib/tonearm/installed-files
`;

for (const debian of ['12', '13']) {
  describe(`the tarball on a bare Debian ${debian}`, { skip: whyNoNode('debootstrap') }, () => {
    let booted: Node | undefined;
    const node = (): Node => booted ?? assert.fail('the node has not booted');
    /** Runs a script as ann. Root's shell has the script in `$0`, and becomes ann's shell, which runs it. */
    const tryAsAnn = (script: string): Promise<Ran> =>
      node().root('sh', '-c', `exec ${AS_ANN} sh -euc "$0"`, script);

    /** Runs a script as ann. The script must succeed. Resolves with what it prints, on both streams. */
    async function runAsAnn(script: string): Promise<string> {
      const { status, stdout, stderr } = await tryAsAnn(`${script} 2>&1`);
      assert.equal(status, 0, `${stdout}${stderr}`);
      return stdout;
    }

    /** A property of ann's service. */
    const propertyOfAnn = async (name: string): Promise<string> =>
      (await runAsAnn(`XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user show -P ${name} tonearm`)).trim();

    const listPaths = async (): Promise<ReadonlySet<string>> =>
      new Set((await node().shell(LIST_PATHS)).split('\n'));

    /** Fails if `act` adds or removes a path. Resolves with the outcome of `act`. */
    async function changesNothing<T>(act: () => Promise<T>): Promise<T> {
      const earlier = await listPaths();
      const outcome = await act();
      const later = await listPaths();
      const added = [...later].filter((path) => !earlier.has(path));
      const removed = [...earlier].filter((path) => !later.has(path));
      assert.deepEqual({ added, removed }, { added: [], removed: [] });
      return outcome;
    }

    /** Fails unless the command prints one line, ends with this status, and changes nothing. */
    async function mustRefuse(act: () => Promise<Ran>, status: number, line: RegExp): Promise<void> {
      const ran = await changesNothing(act);
      assert.deepEqual([ran.status, ran.stdout], [status, ''], ran.stderr);
      assert.match(ran.stderr, /^[^\n]+\n$/);
      assert.match(ran.stderr.trimEnd(), line);
    }

    before(async () => {
      const root = (await output(process.execPath, BARE, debian)).trimEnd().split('\n').at(-1);
      const folder = temporaryFolder();
      await buildTarball('--fast', '--out', folder);
      const soundServer = 'none';
      booted = await bootNode(soundServer, root);
      await node().install(folder, '/opt/release');
      await node().shell(PREPARE);
    });
    after(() => booted?.close());

    test('a bare Debian has neither Node nor a session bus', async () => {
      const os = await node().shell('cat /etc/os-release');
      assert.ok(os.includes(`VERSION_ID="${debian}"`), os);
      const found = await node().root('sh', '-c', 'command -v node || ls /run/user/*/bus');
      assert.equal(found.stdout, '');
    });

    test('the installer refuses a user who is not logged in', async () => {
      const act = () => tryAsAnn('/opt/newer/install.sh');
      await mustRefuse(act, 1, /the systemd of ann does not run: nothing was changed\. Log in as ann first/);
    });

    test('a user installs the tarball below ~/.local, and the installer names what root could add', async () => {
      await node().shell('systemctl start user@$(id -u ann).service');
      const rehearsed = await changesNothing(() => runAsAnn('/opt/older/install.sh --dry-run'));
      assert.match(rehearsed, /would copy \d+ files to \/home\/ann\/\.local\/lib\/tonearm/);
      const printed = await runAsAnn('/opt/older/install.sh');
      for (const command of ['usermod --append --groups audio ann', 'loginctl enable-linger ann'])
        assert.ok(printed.includes(`\n    ${command}\n`), printed);
      assert.match(printed, /no session bus runs for ann, .*\n/);
      assert.match(printed, /\ntonearm-setup: open http:\/\/localhost:8018\/ .*\n$/);
      assert.deepEqual(await Promise.all(['FragmentPath', 'UnitFileState'].map(propertyOfAnn)), [
        UNIT_OF_ANN,
        'enabled',
      ]);
      const exe = await node().shell(`readlink /proc/${await propertyOfAnn('MainPID')}/exe`);
      assert.equal(exe, `${FOLDER_OF_ANN}/lib/tonearm/node\n`);
      const { text } = await node().ask('GET', '/server');
      // The version is 12 or 13, so it begins with 1.
      assert.match(text, /"os_version":"Debian GNU\/Linux 1/);
    });

    test('the service reloads its configuration', async () => {
      const muteServer = () => node().ask('POST', '/audio/server/mute');
      // 503 means that the node has no sound server, and 403 that the configuration forbids commands.
      assert.equal((await muteServer()).status, 503);
      const pid = await propertyOfAnn('MainPID');
      await runAsAnn(`echo 'api: {control: false}' > ~/.config/tonearm/conf.d/60-own.yaml
        XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user reload tonearm`);
      assert.equal((await muteServer()).status, 403);
      assert.equal(await propertyOfAnn('MainPID'), pid);
    });

    test('a newer install.sh upgrades: the set-up stays, and the service is restarted', async () => {
      const settings = 'cat ~/.config/tonearm/config.yaml ~/.config/tonearm/conf.d/*';
      const earlier = { pid: await propertyOfAnn('MainPID'), settings: await runAsAnn(settings) };
      assert.ok(await node().isThere('/home/ann/.local/share/man/man1/gone.1'));
      await changesNothing(() => runAsAnn('/opt/newer/install.sh --dry-run'));
      const printed = await runAsAnn('/opt/newer/install.sh');
      assert.match(printed, /the set-up stays as it was, and services that ran were restarted\n$/);
      assert.equal((await node().ask('GET', '/server')).status, 200);
      assert.notEqual(await propertyOfAnn('MainPID'), earlier.pid);
      assert.equal(await runAsAnn(settings), earlier.settings);
      // install.sh keeps the new and the old files in folders `.tonearm.*` only while it works.
      const leftOver = await node().root('find', '/home/ann', '-name', 'gone.1', '-o', '-name', '.tonearm.*');
      assert.equal(leftOver.stdout, '');
    });

    test("root's install.sh refuses a user whose own tonearm would hide root's", async () => {
      const act = () => node().root('/opt/newer/install.sh', '--user', 'ann');
      await mustRefuse(act, 73, /ann has a tonearm of their own, which would hide this one/);
    });

    test('install.sh --uninstall leaves only what the user wrote', async () => {
      await changesNothing(() => runAsAnn(`${FOLDER_OF_ANN}/install.sh --uninstall --dry-run`));
      await runAsAnn(`${FOLDER_OF_ANN}/install.sh --uninstall`);
      const left = await node().shell(
        'find /home/ann /run/user -name "*tonearm*" -o -path "*tonearm/*" | sort',
      );
      // The test of the reload has written 60-own.yaml as ann.
      const config = '/home/ann/.config/tonearm';
      assert.equal(left, `${config}\n${config}/conf.d\n${config}/conf.d/60-own.yaml\n`);
      assert.equal(await node().isThere('/home/ann/.local'), false);
      assert.equal(await propertyOfAnn('ActiveState'), 'inactive');
    });

    for (const [what, prepare, args, status, line] of REFUSED) {
      test(`root's install.sh refuses ${what}`, async (t) => {
        t.after(() => node().shell('rm -rf /tmp/p'));
        const script = `${prepare}; exec /opt/newer/install.sh ${args}`;
        await mustRefuse(() => node().root('unshare', '--mount', 'sh', '-euc', script), status, line);
      });
    }

    test("root's install.sh refuses to install beside the Debian package", async (t) => {
      await node().shell('mkdir /usr/lib/tonearm; touch /usr/lib/tonearm/main.js');
      t.after(() => node().shell('rm -r /usr/lib/tonearm'));
      const act = () => node().root('/opt/newer/install.sh', '--user', 'pi');
      await mustRefuse(act, 73, /the package of tonearm is installed: nothing was changed/);
    });

    test('root installs below /usr/local for a user, over the files of an earlier checkout', async () => {
      await node().shell(FROM_CHECKOUT);
      const args = ['--user', 'pi', '--bind', 'all', '--no-power'];
      const ran = await node().root('/opt/older/install.sh', ...args);
      assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
      assert.equal(await node().property('FragmentPath'), '/usr/local/lib/systemd/user/tonearm.service');
      assert.match(await node().shell('id -nG pi'), /\baudio\b/);
      assert.equal(await node().isThere('/usr/local/share/tonearm'), false, 'a file of the checkout is gone');
      assert.equal((await node().user('tonearm', '--version')).status, 0);
      assert.equal((await node().ask('GET', '/server')).status, 200);
    });

    test('tonearm-setup names no command of apt where there is no apt', async () => {
      const script = 'mount --bind /dev/null /usr/bin/apt; exec tonearm-setup --user pi';
      const { status, stdout, stderr } = await node().root('unshare', '--mount', 'sh', '-euc', script);
      assert.equal(status, 0, stderr);
      assert.match(
        stdout,
        /no sound server runs .*: install pipewire-pulse, or what this system calls it, and/,
      );
      assert.doesNotMatch(stdout, /apt install/);
    });

    test("a user's install.sh refuses to hide root's installation", async () => {
      const act = () => tryAsAnn('/opt/newer/install.sh');
      await mustRefuse(act, 73, /tonearm is installed below \/usr\/local: .* tonearm-setup --user ann$/);
    });

    test('an upgrade on a full disk leaves the older installation as it is', async () => {
      // The disk of /mnt is also at /usr/local/lib. Its 200 MB have room for one installation, but not for a
      // second one beside it. `cmp` fails if the list of its files has changed.
      const script = `mount -t tmpfs -o size=200m tmpfs /mnt; cp -a /usr/local/lib/. /mnt
        mount --bind /mnt /usr/local/lib; find /mnt | sort > /tmp/before; status=0
        /opt/newer/install.sh || status=$?
        find /mnt | sort | cmp - /tmp/before; exit $status`;
      const act = () => node().root('unshare', '--mount', 'sh', '-euc', script);
      await mustRefuse(act, 1, /\/usr\/local\/lib\/tonearm could not be written: nothing was changed/);
    });

    test("root's next install.sh needs no option, and restarts the service", async () => {
      const pid = await node().property('MainPID');
      const ran = await node().root('/opt/newer/install.sh');
      assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
      assert.notEqual(await node().property('MainPID'), pid);
      assert.equal((await node().ask('GET', '/server')).status, 200);
      assert.match(
        await node().shell('cat /home/pi/.config/tonearm/conf.d/50-setup.yaml'),
        /^bind: \['all'\]$/m,
      );
    });

    test('root uninstalls, and nothing is left', async () => {
      const ran = await node().root(`${FOLDER_OF_ROOT}/install.sh`, '--uninstall');
      assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
      const left = await node().shell(
        'find /etc /usr /var/lib /home/pi -xdev -name "*tonearm*" ! -path "*/journal/*"; id -nG pi',
      );
      // This is only the line of `id`: pi is in no group but its own.
      assert.equal(left, 'pi\n');
    });
  });
}
