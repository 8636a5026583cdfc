// A fresh node: the package is installed, and tonearm-setup makes it the service of pi.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { ask } from './package-client.js';
import { installPlain, POWER_CONFIG, property, RULE, setUp, setUpPi, shell } from './package-shell.js';

const DEADLINE_MS = 20_000;
const CAN_REBOOT =
  'busctl --system call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager CanReboot';

/** Every file that a setup could make, with its text's checksum. */
const TRACES =
  'find /etc/polkit-1 /var/lib/tonearm /var/lib/systemd/linger /home -type f -o -type l 2>/dev/null | grep -v "/\\.\\(cache\\|local\\)/\\|/pulse/" | sort | xargs -r sha256sum 2>&1';

const REFUSED: readonly (readonly [what: string, args: string[], status: number, said: RegExp])[] = [
  ['no user', [], 64, /for whom/],
  ['an unknown argument', ['--user', 'pi', '--now'], 64, /unknown argument '--now'/],
  ['an unknown user', ['--user', 'nobody-here'], 67, /there is no user nobody-here/],
  ['root', ['--user', 'root'], 64, /refuses to run as root/],
  ['a name that is none', ['--user', 'pi";x'], 67, /not a user name/],
  ['a path for a name', ['--user', '../pi'], 67, /not a user name/],
  ['--all without --uninstall', ['--all'], 64, /--all goes with --uninstall/],
];

export function installScenarios(node: () => Node): void {
  test('it is installed by apt, without network, and starts nothing', async () => {
    await installPlain(node());
    assert.equal((await node().user('tonearm', '--version')).status, 0);
    assert.equal(await property(node(), 'ActiveState'), 'inactive');
    assert.match((await node().root('man', '-w', 'tonearm-setup')).stdout, /tonearm-setup\.8/);
  });

  for (const [what, args, status, said] of REFUSED) {
    test(`tonearm-setup refuses ${what}`, async () => {
      const before = await shell(node(), TRACES);
      const ran = await setUp(node(), ...args);
      assert.equal(ran.status, status, `${ran.stdout}${ran.stderr}`);
      assert.match(ran.stderr, said);
      assert.equal(await shell(node(), TRACES), before);
    });
  }

  test('tonearm-setup refuses to be run by a user', async () => {
    assert.equal((await node().user('/usr/sbin/tonearm-setup', '--user', 'pi')).status, 77);
  });

  test('tonearm-setup refuses a rule that it did not write, and then does nothing', async () => {
    await node().writeFile(RULE, '// mine\n');
    const before = await shell(node(), TRACES);
    const ran = await setUp(node(), '--user', 'pi');
    assert.equal(ran.status, 73);
    assert.match(ran.stderr, /50-tonearm-pi\.rules is not from tonearm-setup/);
    assert.equal(await shell(node(), TRACES), before);
    await shell(node(), `rm ${RULE}`);
  });

  test('a dry run says what it would do, and does nothing', async () => {
    const before = await shell(node(), TRACES);
    const said = await setUpPi(node(), '--dry-run');
    assert.match(said, /would write \/home\/pi\/\.config\/tonearm\/config\.yaml/);
    assert.match(said, /would write \/etc\/polkit-1\/rules\.d\/50-tonearm-pi\.rules/);
    assert.match(said, /would start tonearm\.service/);
    assert.equal(await shell(node(), TRACES), before);
    assert.equal(await property(node(), 'ActiveState'), 'inactive');
  });

  test('tonearm-setup --user pi: the service runs and may reboot and power off', async () => {
    const said = await setUpPi(node());
    assert.match(said, /logind says to pi: reboot challenge, power-off challenge/);
    assert.match(said, /logind says to pi now: reboot yes, power-off yes/);
    await until(
      'both to be granted',
      async () => {
        const { text } = await ask(node(), 'GET', '/power/');
        return text === '{"reboot":true,"power_off":true}';
      },
      DEADLINE_MS,
    );
    assert.equal(await property(node(), 'ActiveState'), 'active');
    assert.equal(await property(node(), 'UnitFileState'), 'enabled');
    const owners = await shell(
      node(),
      `stat -c "%U %a" /home/pi/.config/tonearm/config.yaml ${POWER_CONFIG}`,
    );
    assert.equal(owners, 'pi 644\npi 644\n');
  });

  test('the rule names pi and four permissions, and nobody else gets anything', async () => {
    const rule = await shell(node(), `cat ${RULE}`);
    assert.deepEqual(rule.match(/"[^"]+"/g), [
      '"org.freedesktop.login1.reboot"',
      '"org.freedesktop.login1.reboot-multiple-sessions"',
      '"org.freedesktop.login1.power-off"',
      '"org.freedesktop.login1.power-off-multiple-sessions"',
      '"pi"',
    ]);
    await shell(node(), 'useradd --create-home bob');
    const asked = await shell(node(), `setpriv --reuid bob --regid bob --init-groups ${CAN_REBOOT}`);
    assert.equal(asked, 's "challenge"\n');
  });

  test('a second run changes nothing, and does not restart the service', async () => {
    const before = await shell(node(), TRACES);
    const pid = await property(node(), 'MainPID');
    const said = await setUpPi(node());
    assert.match(said, /tonearm\.service runs/);
    assert.doesNotMatch(said, /: (?:write|make|enable|start|remove) /);
    assert.equal(await property(node(), 'MainPID'), pid);
    assert.equal(await shell(node(), TRACES), before);
  });
}
