// Scenarios of a fresh node: the package is installed, and tonearm-setup makes it the service of pi.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Health } from '../../contract/daemon.js';
import { until } from '../../until.js';
import { CONFIG, type Node, POWER_CONFIG, RULE } from '../node.js';

const SETUP_FILE = `${CONFIG}/conf.d/50-setup.yaml`;
const ADDRESS = '10.77.0.5';
const MAY_RESTART =
  /everybody who can reach tonearm may restart this machine and switch it off, without a password; --no-power forbids/;
const CAN_REBOOT =
  'busctl --system call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager CanReboot';

/** Matches a line of the output about a change that tonearm-setup makes. */
const CHANGE_LINE = /: (?:write|make|enable|start|remove) /;

/** Prints every file that a set-up could make, with its checksum. */
const CHECKSUM_FILES =
  'find /etc/polkit-1 /var/lib/tonearm /var/lib/systemd/linger /home -type f -o -type l 2>/dev/null | grep -v "/\\.\\(cache\\|local\\)/\\|/pulse/" | sort | xargs -r sha256sum 2>&1';

/**
 * Command lines that tonearm-setup refuses. The status is 64 for wrong usage, and 67 for a user who does not
 * exist. In the tests below, 73 means a file in the way, 77 a caller who is not root, and 78 a faulty
 * configuration.
 */
const REFUSED: readonly (readonly [what: string, args: string[], status: number, output: RegExp])[] = [
  ['arguments without a user', [], 64, /--user NAME is missing/],
  ['an unknown argument', ['--user', 'pi', '--now'], 64, /unknown argument '--now'/],
  ['a second user', ['--user', 'pi', '--user', 'bob'], 64, /--user is given twice/],
  ['an unknown user', ['--user', 'nobody-here'], 67, /there is no user nobody-here/],
  ['root', ['--user', 'root'], 64, /refuses to run as root/],
  ['a name with a forbidden character', ['--user', 'pi";x'], 67, /not a user name/],
  ['a path instead of a name', ['--user', '../pi'], 67, /not a user name/],
  ['--all without --uninstall', ['--all'], 64, /--all needs --uninstall/],
  ['an option without its value', ['--user', 'pi', '--bind'], 64, /--bind needs a value/],
  ['an empty value', ['--user', 'pi', '--unit='], 64, /a value is empty/],
  ['a value of two lines', ['--user', 'pi', '--bind', 'all\napi: {}'], 64, /control character/],
  ['--discovery with --uninstall', ['--uninstall', '--user', 'pi', '--discovery'], 64, /--uninstall removes/],
  ['--players with --uninstall', ['--uninstall', '--user', 'pi', '--players'], 64, /--uninstall removes/],
  ['--no-power with --uninstall', ['--uninstall', '--user', 'pi', '--no-power'], 64, /--uninstall removes/],
  [
    '--network-audio with --uninstall',
    ['--uninstall', '--user', 'pi', '--network-audio'],
    64,
    /--uninstall removes/,
  ],
  ['--network-audio without --bind', ['--user', 'pi', '--network-audio'], 64, /--network-audio needs --bind/],
  ['--unit with --uninstall', ['--uninstall', '--user', 'pi', '--unit=a.service'], 64, /--uninstall removes/],
];

/**
 * Paths that tonearm-setup must not read, because reading a FIFO, for example, would never end. `make`
 * is the script that makes the path in the folder of pi's configuration. The test 'the rule names only pi'
 * has made the user bob.
 */
const UNREADABLE_PATHS: readonly (readonly [what: string, path: string, make: string])[] = [
  ['a FIFO in the place of the configuration', 'config.yaml', 'mv config.yaml kept; mkfifo config.yaml'],
  ['a FIFO in conf.d', 'conf.d/20-pipe.yaml', 'mkfifo conf.d/20-pipe.yaml'],
  ['a device in conf.d', 'conf.d/20-zero.yml', 'ln -s /dev/zero conf.d/20-zero.yml'],
  ['a link that leads nowhere', 'conf.d/20-lost.yaml', 'ln -s lost conf.d/20-lost.yaml'],
  ["another user's file", 'conf.d/20-bob.yaml', 'install -o bob /dev/null conf.d/20-bob.yaml'],
  [
    'a FIFO in the place of a file that tonearm-setup wrote',
    'conf.d/50-power.yaml',
    'mkfifo p; mv p conf.d/50-power.yaml',
  ],
];

export function installScenarios(node: () => Node): void {
  /** Fails if `act` has changed a file that a set-up could make. */
  async function changesNothing<T>(act: () => Promise<T>): Promise<T> {
    const checksumsBefore = await node().shell(CHECKSUM_FILES);
    const outcome = await act();
    assert.equal(await node().shell(CHECKSUM_FILES), checksumsBefore);
    return outcome;
  }

  /** Fails unless tonearm-setup ends with this status and output, and has changed nothing. */
  async function isRefused(args: readonly string[], status: number, output: RegExp): Promise<void> {
    const ran = await changesNothing(() => node().setUp(...args));
    assert.equal(ran.status, status, `${ran.stdout}${ran.stderr}`);
    assert.match(ran.stderr, output);
  }

  test('apt installs the package without network, and starts nothing', async () => {
    const output = await node().installPlain();
    assert.match(output, /^tonearm: now run: tonearm-setup --user NAME --bind all/m);
    assert.equal((await node().user('tonearm', '--version')).status, 0);
    assert.equal(await node().property('ActiveState'), 'inactive');
    assert.match((await node().root('man', '-w', 'tonearm-setup')).stdout, /tonearm-setup\.8/);
  });

  for (const [what, args, status, output] of REFUSED) {
    test(`tonearm-setup refuses ${what}`, () => isRefused(args, status, output));
  }

  test('tonearm-setup refuses a caller who is not root', async () => {
    assert.equal((await node().user('/usr/sbin/tonearm-setup', '--user', 'pi')).status, 77);
  });

  test('tonearm-setup refuses to run without systemd, and then changes nothing', async () => {
    // tonearm-setup recognizes systemd by a folder in /run. The new /run is empty.
    const script = 'mount -t tmpfs tmpfs /run; exec tonearm-setup --user pi';
    const withoutSystemd = ['unshare', '--mount', 'sh', '-c', script];
    const ran = await changesNothing(() => node().root(...withoutSystemd));
    assert.deepEqual([ran.status, ran.stdout], [1, '']);
    assert.match(ran.stderr, /systemd does not run here, as in a chroot: nothing was changed/);
  });

  test('tonearm-setup names the file that it cannot write on a full disk, and changes nothing', async (t) => {
    await node().shell(
      `mount -t tmpfs -o size=64k,uid=$(id -u pi),gid=$(id -g pi) tmpfs /home/pi
      head -c 128k /dev/zero > /home/pi/full || true`,
    );
    t.after(() => node().shell('umount /home/pi'));
    await isRefused(['--user', 'pi'], 1, /\.config\/tonearm\/config\.yaml could not be written: nothing was/);
    assert.equal(await node().shell('find /home/pi'), '/home/pi\n/home/pi/full\n');
  });

  test('tonearm-setup refuses a rule that it did not write, and then changes nothing', async () => {
    await node().writeFile(RULE, '// mine\n');
    await isRefused(['--user', 'pi'], 73, /50-tonearm-pi\.rules was not written by tonearm-setup/);
    await node().shell(`rm ${RULE}`);
  });

  test('a dry run prints what it would do, and changes nothing', async () => {
    const output = await changesNothing(() => node().setUpPi('--dry-run'));
    assert.match(output, /would write \/home\/pi\/\.config\/tonearm\/config\.yaml/);
    assert.match(output, /would write \/etc\/polkit-1\/rules\.d\/50-tonearm-pi\.rules/);
    assert.match(output, /would start tonearm\.service/);
    const lines = output.split('\n');
    assert.deepEqual(lines, [...new Set(lines)], 'no line is printed twice');
    assert.equal(await node().property('ActiveState'), 'inactive');
  });

  test('after tonearm-setup --user pi the service runs and may reboot and power off', async () => {
    const output = await node().setUpPi();
    assert.match(output, MAY_RESTART);
    assert.match(output, /to let other machines reach it: tonearm-setup --user pi --bind all\n.*open http/);
    const open = 'open http://localhost:8018/ on this machine; other machines cannot reach it';
    assert.equal(lastLine(output), `tonearm-setup: ${open}`);
    await until('both actions are granted', async () => {
      const { text } = await node().ask('GET', '/power/');
      return text === '{"reboot":true,"power_off":true}';
    });
    assert.equal(await node().property('ActiveState'), 'active');
    assert.equal(await node().property('UnitFileState'), 'enabled');
    const owners = await node().shell(`stat -c "%U %a" /home/pi/.config/tonearm/config.yaml ${POWER_CONFIG}`);
    assert.equal(owners, 'pi 644\npi 644\n');
  });

  test('the rule names only pi and four permissions, and another user may reboot only with a password', async () => {
    const rule = await node().shell(`cat ${RULE}`);
    assert.deepEqual(rule.match(/"[^"]+"/g), [
      '"org.freedesktop.login1.reboot"',
      '"org.freedesktop.login1.reboot-multiple-sessions"',
      '"org.freedesktop.login1.power-off"',
      '"org.freedesktop.login1.power-off-multiple-sessions"',
      '"pi"',
    ]);
    await node().shell('useradd --create-home bob');
    const answer = await node().shell(`setpriv --reuid bob --regid bob --init-groups ${CAN_REBOOT}`);
    // `challenge` means that bob may do this only with a password.
    assert.equal(answer, 's "challenge"\n');
  });

  test('a second run changes nothing, and does not restart the service', async () => {
    const pid = await node().property('MainPID');
    const output = await changesNothing(() => node().setUpPi());
    assert.match(output, /tonearm\.service is running/);
    assert.doesNotMatch(output, CHANGE_LINE);
    assert.equal(await node().property('MainPID'), pid);
  });

  test('one set-up applies --bind, --unit and --system-unit by a reload, without a restart', async (t) => {
    const pid = await node().property('MainPID');
    // The node's own network has only a loopback, so the test adds an interface.
    await node().shell(`ip link add house0 type veth peer name house1; ip address add ${ADDRESS}/24 dev house0
      ip link set house0 up; ip link set house1 up`);
    t.after(() => node().shell('ip link delete house0'));
    // `\x27` is systemd's notation of a quote in a name. The backslash must survive in the YAML file.
    const units = ['--unit', 'mpd.service', '--unit=a\\x27b.service', '--system-unit', 'ssh.service'];
    const flags = ['--bind', 'lo', '--bind', 'eth9', '--bind=house0', ...units];
    const dryRun = await changesNothing(() => node().setUpPi(...flags, '--dry-run'));
    assert.match(dryRun, /would write .*50-setup\.yaml/);
    const output = await node().setUpPi(...flags);
    assert.match(output, /^tonearm-setup: eth9 does not exist now; it is served once it exists$/m);
    assert.equal(lastLine(output), `tonearm-setup: open http://${ADDRESS}:8018/ (house0)`);
    assert.equal((await node().shell(`curl --silent http://${ADDRESS}:8018/server`)).at(0), '{');
    await until('the units are known', async () => (await node().ask('GET', '/services')).status === 200);
    assert.deepEqual(await unitsOf(node()), ['ssh.service', 'mpd.service', 'a\\x27b.service']);
    assert.match(output, /reload tonearm\.service/);
    assert.equal(await node().property('MainPID'), pid);
    const written = await node().shell(`stat -c "%U" ${SETUP_FILE}; cat ${SETUP_FILE}`);
    assert.match(written, /^pi\n# Written by tonearm-setup: .*\nbind: \['lo', 'eth9', 'house0'\]\n/);
    assert.doesNotMatch(await node().setUpPi(...flags), CHANGE_LINE);
  });

  test('later runs keep --discovery, and the set-up warns while avahi-daemon does not run', async () => {
    const output = await node().setUpPi('--discovery');
    assert.match(output, /while avahi-daemon does not run: systemctl enable --now avahi-daemon/);
    // avahi-daemon keeps running, because in the scenarios that follow the node announces itself.
    await node().shell('systemctl start avahi-daemon.service');
    assert.doesNotMatch(await node().setUpPi('--discovery'), /avahi/);
    await node().setUpPi('--unit', 'mpd.service', '--unit', 'a\\x27b.service');
    assert.match(await node().shell(`cat ${SETUP_FILE}`), /^discovery: \{enabled: true\}$/m);
    const found = await node().shell('tonearm --check-config --config /home/pi/.config/tonearm/config.yaml');
    assert.match(found, /^discovery:\n {2}enabled: true\n {2}name: tonearm on tonearm-node$/m);
    await until('discovery is up', async () => {
      const { backends } = await node().read<Health>('/health');
      return backends['discovery']?.state === 'up';
    });
  });

  test('the daemon lists players after --players, and later runs keep this option', async () => {
    assert.equal((await node().ask('GET', '/players')).status, 404);
    await node().setUpPi('--players');
    assert.deepEqual(await until('the players are known', () => node().read('/players')), []);
    await node().setUpPi('--unit', 'mpd.service', '--unit', 'a\\x27b.service');
    assert.match(await node().shell(`cat ${SETUP_FILE}`), /^players: \{enabled: true\}$/m);
  });

  test('tonearm-setup changes nothing if the daemon refuses the configuration', async () => {
    const pid = await node().property('MainPID');
    const wrong = { unit: "mpd'}]", 'system-unit': 'no unit', bind: 'lo;reboot', mqtt: 'http://x' };
    for (const [option, value] of Object.entries(wrong)) {
      const output = new RegExp(`^tonearm-setup: --${option}: ".* is not .*nothing was changed\n$`, 's');
      await isRefused(['--user', 'pi', `--${option}`, value], 78, output);
    }
    for (const option of ['unit', 'system-unit']) {
      const twice = [`--${option}`, 'mpd.service', `--${option}`, 'mpd.service'];
      const output = new RegExp(
        `^tonearm-setup: --${option}: mpd.service is given twice\n.*nothing was changed\n$`,
      );
      await isRefused(['--user', 'pi', ...twice], 78, output);
    }
    // `service_manager` is another spelling of `systemd`. 50-setup.yaml has the section `systemd`, because
    // the test with --unit has set up units.
    await node().shell(`printf 'sound_server: {}\nservice_manager: {}\n' > ${CONFIG}/conf.d/10-old.yaml`);
    const sectionRefusal =
      /^tonearm-setup: systemd: is another spelling of service_manager, .* at \/home\/pi\/\S*10-old\.yaml:2; /;
    await isRefused(['--user', 'pi'], 78, sectionRefusal);
    await node().shell(`rm ${CONFIG}/conf.d/10-old.yaml`);
    assert.equal(await node().property('MainPID'), pid);
    // tonearm-setup has removed the copies of the configuration that it let the daemon check.
    assert.equal(await node().shell('ls -d /tmp/tmp.* 2> /dev/null || true'), '');
  });

  for (const [what, path, make] of UNREADABLE_PATHS) {
    test(`tonearm-setup refuses ${what}, and names the path`, async (t) => {
      const copy = `/root/before${CONFIG}`;
      await node().shell(`mkdir -p ${copy}; cp -aT ${CONFIG} ${copy}`);
      t.after(() => node().shell(`rm -rf ${CONFIG}; mv ${copy} ${CONFIG}`));
      await node().shell(`cd ${CONFIG}; ${make}`);
      const refused = await node().setUp('--user', 'pi', '--bind', 'lo');
      assert.equal(refused.status, 73, `${refused.stdout}${refused.stderr}`);
      const output = `tonearm-setup: ${CONFIG}/${path} is not a regular file of pi or root: move it away first\n`;
      assert.equal(refused.stderr, output);
      // Only the set-up is refused, not the removal.
      const undone = await node().setUp('--uninstall', '--user', 'pi', '--dry-run');
      assert.equal(undone.status, 0, undone.stderr);
    });
  }

  test('a link to /dev/null in conf.d is no obstacle', async (t) => {
    await node().shell(`ln -s /dev/null ${CONFIG}/conf.d/20-hidden.yaml`);
    t.after(() => node().shell(`rm ${CONFIG}/conf.d/20-hidden.yaml`));
    await node().setUpPi('--dry-run');
  });

  test('a run without options keeps the earlier options, and a new value replaces the old value of the same option', async () => {
    await changesNothing(() => node().setUpPi());
    await node().setUpPi('--bind', 'lo');
    const earlierUnits = "  user: ['mpd.service', 'a\\x27b.service']\n  system: ['ssh.service']\n";
    assert.equal(
      await node().shell(`grep -v '^#' ${SETUP_FILE}`),
      `bind: ['lo']\nsystemd:\n${earlierUnits}players: {enabled: true}\ndiscovery: {enabled: true}\n`,
    );
    await node().setUpPi('--unit', 'mpd.service');
    assert.deepEqual(await unitsOf(node()), ['ssh.service', 'mpd.service']);
  });

  test('for a user without a session --network-audio opens the sound server that is enabled for all users', async () => {
    // PulseAudio is enabled for all users of the node (node.ts). PipeWire may be installed beside it.
    const ran = await node().setUp('--user', 'bob', '--bind', 'all', '--network-audio', '--dry-run');
    assert.equal(ran.status, 0, ran.stderr);
    assert.match(ran.stdout, /would write \/home\/bob\/\.config\/pulse\/default\.pa/);
  });
}

const lastLine = (output: string): string | undefined => output.trimEnd().split('\n').at(-1);

/** Resolves with the names of the units that `/services` lists, as soon as the backend is up. */
function unitsOf(node: Node): Promise<readonly string[]> {
  return until('the units are known', async () => {
    const units = (await node.read('/services')) as readonly { readonly name: string }[];
    return units.map(({ name }) => name);
  });
}
