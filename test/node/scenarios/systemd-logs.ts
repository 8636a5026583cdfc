// Logs of units by the real journalctl. A user without groups may read only the logs of the user's own
// units. A member of systemd-journal may read all logs, also where the journal is in memory.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { LogEntryRecord } from '../../../src/protocol/actor/schemas.js';
import { until } from '../../until.js';
import { NODE_USER } from '../node.js';
import { PID_FILE } from './daemon-on-node.js';
import type { SystemdDaemon } from './systemd-daemon.js';
import { CONFIGURED_UNITS } from './systemd-units.js';

/**
 * The script lives for another second after its messages. journald may read a message late, and does not
 * find the message's unit if the process has ended by then (docs/development/what-we-learnt.md, "systemd,
 * logind and Avahi"). `<3>` sets the priority of a message.
 */
const TALKING_SCRIPT = `printf '\\033[31mred\\033[0m\\n'; echo '<3>urgent'; sleep 1; exit 3`;
/**
 * systemd.ts makes secret.service and its alias secret-alias.service. secret.service is the upgrade unit
 * below, so both names are hidden.
 */
const USER_UNIT_NAMES = ['talks.service', 'by-alias.service', 'absent.service', 'secret-alias.service'];
/** The value of the section `systemd`, and on the next line the whole section `upgrade`. */
const LOG_UNITS = `{system: [talks.service, absent.service], user: [${USER_UNIT_NAMES.join(', ')}]}
upgrade: {enabled: true, resultFile: /tmp/none, upgradeUnit: secret.service}`;

/** Brings the journal back to the disk. */
const RESTORE_JOURNAL = '[ ! -e /var/log/away ] || mv /var/log/away /var/log/journal; journalctl --flush';

export function logScenarios(daemon: SystemdDaemon): void {
  /** Resolves with the status of the answer, and with the log's messages or the detail of the problem. */
  async function log(path: string): Promise<readonly [status: number, messages: readonly string[]]> {
    const { status, text } = await daemon.ask('GET', `/services/${path}`);
    const answer: { readonly detail: string } | readonly LogEntryRecord[] = JSON.parse(text);
    return [status, 'detail' in answer ? [answer.detail] : answer.map(({ message }) => message)];
  }

  /** Waits until the log has the failure that ends the unit's run, and resolves with the messages. */
  const endedLog = (path: string): Promise<readonly string[]> =>
    until(`the log of ${path} has its end`, async () => {
      const [, messages] = await log(path);
      return messages.some((message) => message.includes("Failed with result 'exit-code'")) && messages;
    });

  /** Runs the user's talks.service and the system's. Both starts fail, because the script exits with 3. */
  async function runTalkingUnits(): Promise<void> {
    const [status] = await daemon.post('talks.service', 'start');
    assert.equal(status, 502);
    await daemon.node.root('systemctl', 'start', 'talks.service');
  }

  before(async () => {
    const unit = `[Service]\nType=oneshot\nExecStart=sh -c "${TALKING_SCRIPT.replaceAll('\\', '\\\\')}"\n`;
    await daemon.write('talks.service', unit);
    await daemon.shell('ln -sf talks.service ~/.config/systemd/user/by-alias.service');
    await daemon.systemctl('daemon-reload');
    await daemon.node.writeUnit('system', 'talks.service', unit);
    await daemon.begin(LOG_UNITS);
    await runTalkingUnits();
  });
  after(async () => {
    await daemon.shell('rm ~/.config/systemd/user/by-alias.service');
    await daemon.remove('talks.service');
    await daemon.node.shell('rm /etc/systemd/system/talks.service; systemctl daemon-reload');
    await daemon.begin(CONFIGURED_UNITS);
  });

  const mustBeInOrder = (messages: readonly string[]): void => {
    const red = messages.indexOf('red');
    const urgent = messages.indexOf('urgent');
    const end = messages.findLastIndex((message) => message.includes("Failed with result 'exit-code'"));
    assert.ok(red >= 0 && red < urgent && urgent < end, messages.join('\n'));
  };

  test("a user without groups reads the log of the user's failed unit, as text and in order, also by an alias", async () => {
    mustBeInOrder(await endedLog('user/talks.service/log'));
    mustBeInOrder(await endedLog('user/by-alias.service/log'));
    // journald may add a line between the two answers.
    const entries = await until('lines=1 gives the last line', async () => {
      const { text } = await daemon.ask('GET', '/services/user/talks.service/log');
      const all: readonly LogEntryRecord[] = JSON.parse(text);
      assert.deepEqual(await log('user/talks.service/log?lines=1'), [200, [all.at(-1)?.message]]);
      return all;
    });
    assert.equal(entries.find(({ message }) => message === 'urgent')?.priority, 3);
    for (const { time } of entries) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('the log of an absent unit is empty, and the log of a hidden or unlisted unit is answered with 404', async () => {
    assert.deepEqual(await log('user/absent.service/log'), [200, []]);
    for (const name of ['unlisted.service', 'secret.service', 'secret-alias.service']) {
      const [status] = await log(`user/${name}/log`);
      assert.equal(status, 404, name);
    }
  });

  test('a user without groups is refused the log of a system unit, and does not get an empty log', async () => {
    const [status, [detail]] = await log('system/talks.service/log');
    assert.equal(status, 403);
    assert.match(detail ?? '', /systemd-journal/);
  });

  test('a member of systemd-journal reads the logs of a user unit and of a system unit, also where the journal is in memory', async () => {
    await daemon.node.shell(`usermod --append --groups systemd-journal ${NODE_USER}`);
    try {
      await daemon.begin(LOG_UNITS);
      for (const scope of ['user', 'system']) mustBeInOrder(await endedLog(`${scope}/talks.service/log`));
      // journald writes to memory from now on. Without the folder on the disk, the log has no earlier run.
      await daemon.node.shell('journalctl --relinquish-var; mv /var/log/journal /var/log/away');
      await runTalkingUnits();
      for (const scope of ['user', 'system']) mustBeInOrder(await endedLog(`${scope}/talks.service/log`));
    } finally {
      await daemon.node.shell(`${RESTORE_JOURNAL}; gpasswd --delete ${NODE_USER} systemd-journal`);
    }
  });

  test("the log of a unit with its own log namespace has the unit's line and systemd's lines about it", async () => {
    const namespaceFile = '/etc/systemd/system/talks.service.d/namespace.conf';
    await daemon.node.shell(`usermod --append --groups systemd-journal ${NODE_USER}`);
    // The empty `ExecStart=` removes the unit's own command, so that only the next one runs.
    const service = "LogNamespace=own\nExecStart=\nExecStart=sh -c 'echo in a namespace; sleep 1; exit 3'\n";
    await daemon.node.writeFile(namespaceFile, `[Service]\n${service}`);
    try {
      await daemon.node.shell('systemctl daemon-reload');
      await daemon.begin(LOG_UNITS);
      await daemon.node.root('systemctl', 'start', 'talks.service');
      // The unit's own line is in the namespace. systemd's lines about the unit are in the usual journal,
      // which may have them later. Six lines have room for this run, and leave out most of the earlier runs.
      await until('the log has the line of the unit and that of systemd', async () => {
        const [, lines] = await log('system/talks.service/log?lines=6');
        const hasEnd = lines.some((line) => line.includes("Failed with result 'exit-code'"));
        return hasEnd && lines.includes('in a namespace');
      });
    } finally {
      await daemon.node.shell(
        `rm ${namespaceFile}; systemctl daemon-reload; gpasswd --delete ${NODE_USER} systemd-journal`,
      );
    }
  });

  test('reading logs leaves no process behind', async () => {
    const processes = await daemon.shell(`ps -o stat=,args= --ppid $(cat ${PID_FILE}) || true`);
    assert.equal(processes, '');
  });
}
