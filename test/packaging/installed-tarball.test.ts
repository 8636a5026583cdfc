// Boots the real node, where a user installs the tarball of a release and has root run the commands that
// install.sh names, and nothing else.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ServiceRecord } from '../../src/protocol/actor/schemas.js';
import { BootedNode, whyNoNode } from '../node/node.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { buildTarball } from './built-package.js';

/** pi's sound server, session bus and lingering are there; what ann has comes with her login. */
const PREPARE = `
cd /opt; tar -xzf release/tonearm-*.tar.gz; mv tonearm-* tonearm
useradd --create-home --shell /bin/bash ann; mkdir -p /home/ann/.config/systemd/user
printf '[Service]\\nExecStart=sleep infinity\\n' > /home/ann/.config/systemd/user/hello.service
chown -R ann: /home/ann; systemctl start user@$(id -u ann).service
`;
const AS = 'setpriv --reuid ann --regid ann --init-groups --reset-env env --chdir=/home/ann';
const RULE = '/etc/polkit-1/rules.d/50-tonearm-ann.rules';
const LINGERS = '/var/lib/systemd/linger/ann';

describe('the tarball on a node', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  const { node } = booted;

  /** Resolves with what it prints, on both streams; it must succeed. */
  async function ann(script: string): Promise<string> {
    const inside = `export XDG_RUNTIME_DIR=/run/user/$(id -u); { ${script}\n} 2>&1`;
    const ran = await node().root('sh', '-c', `exec ${AS} sh -euc "$0"`, inside);
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

  test('a user installs it, and lingers by polkit; root runs the commands that are named', async () => {
    const printed = await ann('/opt/tonearm/install.sh --unit hello.service');
    assert.ok(await node().isThere(LINGERS), printed);
    const commands = [...printed.matchAll(/^ {4}(.*)$/gm)].map(([, command = '']) => command);
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
    const again = await until('logind grants it', async () => {
      const output = await ann('~/.local/bin/tonearm-setup');
      return (
        output.includes('everybody who can reach tonearm may restart this machine and switch it off') &&
        output
      );
    });
    assert.doesNotMatch(again, /root can do more/);
    assert.match(await node().shell('id -nG ann'), /\baudio\b/);
  });

  test('it runs without a login after a restart of the machine, on its own Node, and carries out commands', async () => {
    await node().reboot();
    const start = () => node().ask('POST', '/services/user/hello.service/start');
    await until('the backend of units', async () => (await start()).status === 202);
    await until('hello.service runs', async () => {
      const units = await node().read<readonly ServiceRecord[]>('/services');
      return units.some(({ name, running }) => name === 'hello.service' && running);
    });
    const pid = (await ann('systemctl --user show -P MainPID tonearm')).trim();
    assert.equal(
      await node().shell(`readlink /proc/${pid}/exe`),
      '/home/ann/.local/lib/tonearm/lib/tonearm/node\n',
    );
    await until(
      'the sound server',
      async () => (await node().ask('POST', '/audio/server/mute')).status === 202,
    );
    const { text } = await node().ask('GET', '/power/');
    assert.equal(text, '{"reboot":true,"power_off":true}');
  });

  test('install.sh --uninstall also ends the lingering, and leaves to root what root has added', async () => {
    await ann('systemctl --user stop hello.service; ~/.local/lib/tonearm/install.sh --uninstall');
    assert.equal(await node().isThere(LINGERS), false);
    const left = await node().shell('find /home/ann -name "*tonearm*" ! -path "*/pulse/*"');
    assert.equal(left, '');
    await node().shell(`rm ${RULE}`);
  });
});
