// Scenarios of the later life of the package: other users, Bluetooth, an upgrade, removal and purge, and
// install.sh.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyCheckout } from '../../packaging/built-package.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { CONFIG, type Node } from '../node.js';

/**
 * install.sh in a copy of the checkout. The node may lack the checkout itself: it lies in /tmp, for
 * instance, and the node has a /tmp of its own, or the node has the root of another Debian.
 */
const INSTALL_SCRIPT = '/opt/checkout/packaging/install.sh';
/**
 * Paths that packaging does not read. They would take half a gigabyte of the node's memory. The folders of
 * npm packages stay, also empty ones, because packaging/npm-packages.mjs checks that they exist.
 */
const UNREAD = [
  './.git',
  './build*',
  './dist*',
  './node_modules/.cache',
  '*_darwin_*.node',
  '*_win32_*.node',
  // Only the compiler is left out, because the check of the page reads the libraries beside it.
  './node_modules/@typescript/*/lib/tsc',
  './node_modules/@biomejs/*/*',
  './node_modules/playwright-core/*',
];
/**
 * Everything on the node that has tonearm in its name, except logs, dpkg's own list and the packages
 * themselves.
 */
export const FIND_LEFT =
  'find /etc /usr/bin /usr/sbin /usr/lib /usr/share /usr/local /var/lib /home /run/user -name "*tonearm*" ! -path "*/journal/*" ! -path "/var/lib/dpkg/info/tonearm.list" 2>/dev/null | sort';

interface Refusal {
  readonly why: string;
  readonly args: readonly string[];
  readonly status: number;
}
/**
 * Calls that install.sh refuses while nothing is installed. The status is 67 for a user who does not exist,
 * 64 for wrong usage, and 1 for any other reason.
 */
const REFUSALS: readonly Refusal[] = [
  { why: 'an unknown user', args: ['--user', 'nobody-here'], status: 67 },
  { why: 'an unknown option', args: ['--user', 'pi', '--now', '--dry-run'], status: 64 },
  { why: 'nothing to remove', args: ['--user', 'pi', '--uninstall'], status: 1 },
];

export function removeScenarios(node: () => Node): void {
  test("another user is set up beside pi, and the removal for this user leaves pi's service running", async () => {
    // The scenarios of package-install.ts have made the user bob. pi's service has taken the port 8018.
    const home = '/home/bob/.config/tonearm';
    const withTakenPort = await node().setUp('--user', 'bob');
    assert.equal(withTakenPort.status, 1, withTakenPort.stdout);
    assert.match(withTakenPort.stdout, /let bob linger/);
    assert.match(withTakenPort.stdout, /add bob to the group audio/);
    assert.match(
      withTakenPort.stderr,
      /^tonearm: cannot listen on \S+ port 8018: the port is taken by a program of the user with the id \d+; api\.port .*\n.* did not start; .*systemctl --user -M bob@ /m,
    );
    await node().shell(`echo 'api: {port: 8019}' > ${home}/config.yaml`);
    const withFreePort = await node().setUp('--user', 'bob');
    assert.equal(withFreePort.status, 0, `${withFreePort.stdout}${withFreePort.stderr}`);
    assert.match(withFreePort.stdout, /config\.yaml exists: it is kept as it is/);
    assert.match(await node().shell('id -nG bob'), /\baudio\b/);
    const dryRun = await node().setUp('--uninstall', '--user', 'bob', '--dry-run');
    assert.match(dryRun.stdout, /would stop letting bob linger\n.*would take bob out of the group audio/);
    assert.equal((await node().setUp('--uninstall', '--user', 'bob')).status, 0);
    const left = await node().shell(
      `${FIND_LEFT} | grep bob || true
      ls /var/lib/systemd/linger; find ${home} -type f`,
    );
    // Only bob's configuration is left, and only pi lingers.
    assert.equal(left, `${home}\npi\n${home}/config.yaml\n`);
    assert.doesNotMatch(await node().shell('id -nG bob'), /\baudio\b/);
    assert.equal((await node().ask('GET', '/power/')).status, 200, "pi's service continues");
    assert.match((await node().setUp('--uninstall', '--user', 'bob')).stdout, /nothing was set up for bob/);
  });

  test('--bluetooth prepares BlueZ and WirePlumber even while bluez is missing, and --uninstall undoes this', async () => {
    const bluezConfig = '/etc/bluetooth/main.conf';
    const unit = '/run/systemd/system/bluetooth.service';
    const listTraces = `find /home/dora/.config/wireplumber -type f 2> /dev/null | xargs -r cat; id -nG dora
      find /home/dora -type d -empty | sort
      systemctl show --property=Restart bluetooth; ls -d /etc/systemd/system/bluetooth* 2> /dev/null || true`;
    const forDora = async (...args: readonly string[]): Promise<string> => {
      const { status, stdout, stderr } = await node().setUp('--user', 'dora', ...args);
      assert.equal(status, 0, `${stdout}${stderr}`);
      return stdout;
    };
    // The id is fixed. Otherwise carl, the user of the next test, would get the same id while dora's manager
    // is about to end.
    await node().shell(`useradd --uid 1900 --create-home dora; getent group bluetooth || groupadd --system bluetooth
      install -D -o dora /dev/stdin /home/dora/.config/tonearm/config.yaml <<END\napi: {port: 8019}\nEND
      chown -R dora: /home/dora; mkdir -p /etc/bluetooth; printf '[General]\n#Class = 0x000100\n[Policy]\n' > ${bluezConfig}
      printf '[Service]\nExecStart=true\n' > ${unit}; systemctl daemon-reload`);
    const before = await node().shell(`${listTraces}; cat ${bluezConfig}`);
    assert.match(await forDora('--bluetooth', '--dry-run'), /would have phones see a loudspeaker/);
    assert.equal(await node().shell(`${listTraces}; cat ${bluezConfig}`), before);
    const output = await forDora('--bluetooth');
    assert.match(output, /^tonearm-setup: Bluetooth .* without bluez: apt install bluez, /m);
    const prepared = await node().shell(listTraces);
    // WirePlumber 0.4 has the setting `with-logind`, newer versions have `seat-monitoring`.
    assert.match(prepared, /seat-monitoring = disabled|\["with-logind"\] = false/);
    assert.match(prepared, /Restart=on-failure/);
    assert.match(await node().shell('id -nG dora'), /\bbluetooth\b/);
    // tonearm-setup has put a remark and the class of a loudspeaker below `[General]`.
    const [, , classLine] = (await node().shell(`cat ${bluezConfig}`)).split('\n');
    assert.equal(classLine, 'Class = 0x000414');
    // A second set-up has nothing to change.
    assert.doesNotMatch(await forDora(), /: (?:write|make|add|have|enable|start|restart) /);
    const undone = await forDora('--uninstall');
    assert.equal(await node().shell(`${listTraces}; cat ${bluezConfig}`), before, undone);
    await node().shell(`userdel --force --remove dora 2> /dev/null
      rm ${bluezConfig} ${unit}; systemctl daemon-reload`);
  });

  test('the removal for a user who is gone leaves nothing, not even lingering', async () => {
    const config = '/home/carl/.config/tonearm/config.yaml';
    await node().shell(`useradd --create-home carl
      install -D -o carl /dev/stdin ${config} <<END\napi: {port: 8019}\nEND
      chown -R carl: /home/carl; tonearm-setup --user carl; test -e /var/lib/systemd/linger/carl
      systemctl stop user@$(id -u carl).service; userdel --force --remove carl 2> /dev/null`);
    const output = (await node().setUp('--uninstall', '--user', 'carl')).stdout;
    assert.match(output, /remove \/var\/lib\/systemd\/linger\/carl/);
    assert.equal(await node().shell(`ls /var/lib/systemd/linger; ${FIND_LEFT} | grep carl || true`), 'pi\n');
  });

  test('an upgrade of the package restarts the running service', async () => {
    const pid = await node().property('MainPID');
    await node().apt('install', './tonearm_0.1.0-2_*.deb');
    assert.equal(await node().property('ActiveState'), 'active');
    assert.notEqual(await node().property('MainPID'), pid);
    assert.equal((await node().ask('GET', '/server')).status, 200);
  });

  test('removal and purge leave the configuration of the user, and nothing else', async () => {
    await node().shell(`echo 'logLevel: warn' >> ${CONFIG}/config.yaml`);
    // Bob lingers only because of this set-up, so the removal of the package also ends bob's manager. The
    // first test of this file has left bob a configuration with a free port.
    assert.equal((await node().setUp('--user', 'bob')).status, 0);
    const output = await node().apt('remove', 'tonearm');
    assert.doesNotMatch(output, /fail/i);
    assert.match(output, /config\.yaml was changed since it was written: it is kept/);
    assert.equal(await node().property('ActiveState'), 'inactive');
    assert.equal(await node().shell('ls -d "/run/user/$(id -u bob)/tonearm" 2> /dev/null || true'), '');
    await node().apt('purge', 'tonearm');
    // logind keeps a user's runtime directory for ten seconds after the user's last service has ended. It
    // does so even if the user is removed in the meantime.
    const hasOnlyPi = async () => (await node().shell('ls /run/user')) === `${node().uid}\n`;
    await until("logind has removed the others' runtime directories", hasOnlyPi);
    assert.equal(await node().shell(FIND_LEFT), `/home/bob/.config/tonearm\n${CONFIG}\n`);
    assert.equal(await node().shell(`find ${CONFIG} -type f`), `${CONFIG}/config.yaml\n`);
    assert.equal(await node().shell('ls /var/lib/systemd/linger'), 'pi\n', 'pi lingered before');
  });

  test('install.sh in a checkout installs tonearm below /usr/local, and removes it again', async () => {
    await installCheckout(node());
    const before = await node().shell(FIND_LEFT);
    const dryRun = await node().root(INSTALL_SCRIPT, '--user', 'pi', '--dry-run');
    assert.match(dryRun.stdout, /would copy \d+ files to \/usr\/local\/lib\/tonearm/, dryRun.stderr);
    assert.equal(await node().shell(FIND_LEFT), before);
    for (const { why, args, status } of REFUSALS) {
      const refused = await node().root(INSTALL_SCRIPT, ...args);
      assert.equal(refused.status, status, `${why}: ${refused.stdout}${refused.stderr}`);
      assert.equal(refused.stdout, '');
      assert.equal(await node().shell(FIND_LEFT), before);
    }
    const installed = await node().root(INSTALL_SCRIPT, '--user', 'pi');
    assert.equal(installed.status, 0, `${installed.stdout}${installed.stderr}`);
    assert.equal(await node().property('FragmentPath'), '/usr/local/lib/systemd/user/tonearm.service');
    assert.equal((await node().ask('GET', '/server')).status, 200);
    const removed = await node().root(INSTALL_SCRIPT, '--uninstall');
    assert.equal(removed.status, 0, `${removed.stdout}${removed.stderr}`);
    assert.equal(await node().shell(FIND_LEFT), before);
  });
}

async function installCheckout(node: Node): Promise<void> {
  const folder = temporaryFolder();
  await copyCheckout(folder, ...UNREAD);
  await node.install(folder, '/opt/checkout');
  // The checkout belongs to pi, like the clone of an ordinary user. install.sh builds as the owner of the
  // checkout, so that the build does not run as root.
  await node.shell('chown -R pi: /opt/checkout');
}
