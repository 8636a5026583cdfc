// Unit files that systemd cannot read, or reads otherwise than anybody meant: the trouble of one unit is that unit's only.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventsOfUnit, type SystemdDaemon } from './systemd-daemon.js';
import { SLEEP } from './systemd-units.js';

const GOOD = `'[Service]\\n${SLEEP.trim()}\\n'`;
const LONG = `'[Service]\\nEnvironment=A=%03000000d\\n' 1`;

/** Made in the folder of the user's units; `exists` and `starts` are what systemd itself reports for such a unit. */
const ODD: readonly (readonly [what: string, script: string, exists: boolean, starts: boolean])[] = [
  ['a link to itself', 'ln -s $1.service $1.service', false, false],
  ['a link to a folder', 'ln -s / $1.service', true, false],
  ['a file that nobody may read', `printf ${GOOD} > $1.service; chmod 0 $1.service`, false, false],
  ['a file with a line of 3 MB', `printf ${LONG} > $1.service`, true, false],
  ['a drop-in that is a folder', `printf ${GOOD} > $1.service; mkdir -p $1.service.d/x.conf`, true, true],
];
const NAMES = ODD.map((_, at) => `odd-${at}.service`);
const LISTS = `{user: [${[...NAMES, 'plain.service', 'marker.service'].join(', ')}]}`;

export function oddFileScenarios(daemon: SystemdDaemon): void {
  const remove = () => daemon.shell('cd ~/.config/systemd/user; rm -rf odd*; systemctl --user daemon-reload');
  after(remove);

  /** Checks each odd unit, and that none affects the other units. */
  async function areAsSystemdSays(): Promise<void> {
    for (const [at, [what, , exists, starts]] of ODD.entries()) {
      const name = `odd-${at}.service`;
      await daemon.sees(name, (service) => service.exists === exists);
      const [status, detail] = await daemon.post(name, 'start');
      assert.equal(status, starts ? 202 : 502, `${what}: ${detail}`);
      if (starts) assert.deepEqual(await daemon.post(name, 'stop'), [202, ''], what);
      await daemon.sees(name, (service) => service.exists === exists);
    }
    assert.deepEqual(await daemon.post('plain.service', 'start'), [202, '']);
    assert.equal((await daemon.service('plain.service')).running, true);
    assert.deepEqual(await daemon.post('plain.service', 'stop'), [202, '']);
    assert.equal((await daemon.service('plain.service')).active_state, 'inactive');
  }

  test('unit files that systemd cannot read are listed as it says, come and go, and no other unit notices', async () => {
    await daemon.begin(LISTS);
    const heard = await daemon.listen();
    for (const [at, [, script]] of ODD.entries())
      await daemon.shell(`cd ~/.config/systemd/user; set -- odd-${at}; ${script}`);
    await daemon.systemctl('daemon-reload');
    await areAsSystemdSays();
    await remove();
    for (const name of NAMES) await daemon.sees(name, ({ exists }) => !exists);
    await daemon.barrier(heard);
    assert.deepEqual(
      heard.filter(({ type, data }) => type === 'backend.updated' && /systemd/.test(data)),
      [],
    );
    assert.deepEqual(eventsOfUnit(heard, 'plain.service').at(-1), await daemon.service('plain.service'));
  });
}
