// Boots the real node. A user installs the tarball of a release there, and root runs only the commands that
// install.sh names.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ServiceRecord } from '../../src/protocol/actor/schemas.js';
import { BootedNode, whyNoNode } from '../node/node.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { buildTarball } from './built-package.js';

/**
 * Unpacks the release, and adds the user ann with a unit of her own. The script starts her systemd, as a
 * login would. Unlike the node's user pi, ann does not linger.
 */
const PREPARE = `
cd /opt; tar -xzf release/tonearm-*.tar.gz; mv tonearm-* tonearm
useradd --create-home --shell /bin/bash ann; mkdir -p /home/ann/.config/systemd/user
printf '[Service]\\nExecStart=sleep infinity\\n' > /home/ann/.config/systemd/user/hello.service
chown -R ann: /home/ann; systemctl start user@$(id -u ann).service
`;
const AS_ANN = 'setpriv --reuid ann --regid ann --init-groups --reset-env env --chdir=/home/ann';
const POLKIT_RULE = '/etc/polkit-1/rules.d/50-tonearm-ann.rules';
/** tonearm-setup prints each command for root on a line of its own, behind four blanks. */
const ROOT_COMMAND = /^ {4}(.*)$/gm;
/** logind has this file while ann lingers. */
const LINGER_FILE = '/var/lib/systemd/linger/ann';

describe('the tarball on a node', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  const { node } = booted;

  /**
   * Runs a script as ann. The script must succeed. Resolves with all that it prints, also on standard error.
   * The script is `$0` of root's shell. `exec` replaces this shell by ann's, which runs the script.
   */
  async function runAsAnn(script: string): Promise<string> {
    const inside = `export XDG_RUNTIME_DIR=/run/user/$(id -u); { ${script}\n} 2>&1`;
    const ran = await node().root('sh', '-c', `exec ${AS_ANN} sh -euc "$0"`, inside);
    assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
    return ran.stdout;
  }

  before(async () => {
    const folder = temporaryFolder();
    await Promise.all([booted.boot(), buildTarball('--fast', '--out', folder)]);
    await node().install(folder, '/opt/release');
    await node().shell(PREPARE);
  });
  after(() => booted.close());

  test('a user installs the tarball, and root only runs the two commands that are printed', async () => {
    const printed = await runAsAnn('/opt/tonearm/install.sh --unit hello.service');
    assert.ok(await node().isThere(LINGER_FILE), printed);
    const commands = [...printed.matchAll(ROOT_COMMAND)].map(([, command = '']) => command);
    // `usermod` adds ann to the group audio, and `sed` makes the polkit rule that allows restarts. Lingering
    // needs no command of root.
    assert.deepEqual(
      commands.map((command) => command.split(' ')[0]),
      ['usermod', 'sed'],
      printed,
    );
    assert.match(
      printed,
      /nobody can restart this machine or switch it off through tonearm: logind does not let ann/,
    );
    await node().shell(commands.join('\n'));
    const printedLater = await until('logind lets ann restart the machine', async () => {
      const output = await runAsAnn('~/.local/bin/tonearm-setup');
      return (
        output.includes('everybody who can reach tonearm may restart this machine and switch it off') &&
        output
      );
    });
    assert.doesNotMatch(printedLater, /root can do more/);
    assert.match(await node().shell('id -nG ann'), /\baudio\b/);
  });

  test('after a restart of the machine the service carries out commands without a login, on its own Node.js', async () => {
    await node().reboot();
    const startUnit = () => node().ask('POST', '/services/user/hello.service/start');
    await until('the systemd backend carries out a command', async () => (await startUnit()).status === 202);
    await until('hello.service runs', async () => {
      const units = await node().read<readonly ServiceRecord[]>('/services');
      return units.some(({ name, running }) => name === 'hello.service' && running);
    });
    const pid = (await runAsAnn('systemctl --user show -P MainPID tonearm')).trim();
    assert.equal(
      await node().shell(`readlink /proc/${pid}/exe`),
      '/home/ann/.local/lib/tonearm/lib/tonearm/node\n',
    );
    await until(
      'the sound server carries out a command',
      async () => (await node().ask('POST', '/audio/server/mute')).status === 202,
    );
    const { text } = await node().ask('GET', '/power/');
    assert.equal(text, '{"reboot":true,"power_off":true}');
  });

  test('install.sh --uninstall also ends the lingering, and leaves what root has added', async () => {
    await runAsAnn('systemctl --user stop hello.service; ~/.local/lib/tonearm/install.sh --uninstall');
    assert.equal(await node().isThere(LINGER_FILE), false);
    const remaining = await node().shell('find /home/ann -name "*tonearm*" ! -path "*/pulse/*"');
    assert.equal(remaining, '');
    // Root's second command, `sed`, has made this rule. `rm` fails if it is gone.
    await node().shell(`rm ${POLKIT_RULE}`);
  });
});
