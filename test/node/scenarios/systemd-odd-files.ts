// Unit files that systemd cannot read, or reads otherwise than anybody meant: the trouble of one unit is that unit's only.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { NODE_PROGRAM } from '../node.js';
import { eventsOfUnit, type SystemdDaemon } from './systemd-daemon.js';
import { SLEEP } from './systemd-units.js';

const GOOD = `'[Service]\\n${SLEEP.trim()}\\n'`;
const LONG = `'[Service]\\nEnvironment=A=%03000000d\\n' 1`;

/** Killed before it could take it away. */
const SOCKET = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;

/** Made in the folder of the user's units; `exists` and `starts` are what systemd itself reports for such a unit. */
const ODD: readonly (readonly [what: string, script: string, exists: boolean, starts: boolean])[] = [
  ['a folder', 'mkdir $1.service', false, false],
  ['a link to a folder', 'ln -s / $1.service', true, false],
  ['a link to itself', 'ln -s $1.service $1.service', false, false],
  ['a link to an instance', 'ln -s tpl@one.service $1.service', false, false],
  ['a link to a timer', 'ln -s odd.timer $1.service', false, false],
  ['a link that leads nowhere', 'ln -s /nowhere/at-all $1.service', false, false],
  ['a socket', `${NODE_PROGRAM} -e "${SOCKET}" $1.service || true`, false, false],
  ['a file that nobody may read', `printf ${GOOD} > $1.service; chmod 0 $1.service`, false, false],
  ['a file with a line of 3 MB', `printf ${LONG} > $1.service`, true, false],
  ['a file that is no text', `head -c 100000 /bin/sh > $1.service`, true, false],
  ['a drop-in that is a folder', `printf ${GOOD} > $1.service; mkdir -p $1.service.d/x.conf`, true, true],
  [
    'a drop-in that is a link to itself',
    `printf ${GOOD} > $1.service; mkdir $1.service.d; ln -s x.conf $1.service.d/x.conf`,
    true,
    true,
  ],
  [
    'a drop-in that leads nowhere',
    `printf ${GOOD} > $1.service; mkdir $1.service.d; ln -s /nowhere $1.service.d/x.conf`,
    true,
    true,
  ],
  [
    'a drop-in with a line of 3 MB',
    `printf ${GOOD} > $1.service; mkdir $1.service.d; printf ${LONG} > $1.service.d/x.conf`,
    true,
    true,
  ],
  ['a folder of drop-ins that is a file', `printf ${GOOD} > $1.service; touch $1.service.d`, true, true],
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

  async function make(): Promise<void> {
    await daemon.shell(`cd ~/.config/systemd/user; printf '[Timer]\\nOnCalendar=yearly\\n' > odd.timer`);
    for (const [at, [, script]] of ODD.entries())
      await daemon.shell(`cd ~/.config/systemd/user; set -- odd-${at}; ${script}`);
    await daemon.systemctl('daemon-reload');
  }

  test('each unit file that systemd cannot read is listed, and no other unit notices', async () => {
    await make();
    await daemon.begin(LISTS);
    await areAsSystemdSays();
    assert.equal(await daemon.is('up'), '');
  });

  test('unit files that systemd cannot read come and go while all is up', async () => {
    await remove();
    const heard = await daemon.listen();
    for (const name of NAMES) await daemon.sees(name, ({ exists }) => !exists);
    await make();
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
