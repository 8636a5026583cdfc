// Runs the daemon on the node with an upgrade configuration, for the upgrade scenarios: set-up, requests,
// events, kills.

import assert from 'node:assert/strict';
import type { LogEntryRecord, UpgradeRecord } from '../../../src/protocol/actor/schemas.js';
import { until } from '../../until.js';
import { NODE_PROGRAM } from '../node.js';
import { DaemonOnNode, type ReceivedEvents } from './daemon-on-node.js';

export const RESULT = '/home/pi/.local/state/tonearm/upgrade-result.json';
/** The value of the section `upgrade` with both units. */
export const FULL = `{enabled: true, resultFile: ${RESULT}, checkUnit: check.service, upgradeUnit: up.service}`;
/** The same without units, so that neither a check nor an upgrade can be started. */
export const READ_ONLY = `{enabled: true, resultFile: ${RESULT}}`;
/** The line at which a unit's script waits for `openGate`. */
export const GATE = 'while [ ! -e /home/pi/gate ]; do sleep 0.02; done';

/**
 * systemd forgets a unit to which no loaded unit refers, and how the unit's run ended. By `Before=` the
 * daemon's unit refers to the upgrade unit. It is loaded while the daemon runs, and after it has failed.
 */
const SERVICE = `[Unit]
Before=up.service
[Service]
ExecStart=${NODE_PROGRAM} /opt/tonearm/main.js
`;

const CONFIG = `pulseaudio: {enabled: false}
systemd: {enabled: false}
`;

export class UpgradeDaemon extends DaemonOnNode {
  /** Brings the program, the command and the unit, but no configuration. It is called once per node. */
  override async install(): Promise<void> {
    await super.install();
    const command = `#!/bin/sh\nexec ${NODE_PROGRAM} /opt/tonearm/main.js "$@"\n`;
    await this.node.writeFile('/usr/local/bin/tonearm', command, '755');
    await this.node.writeUnit('user', 'tonearm.service', SERVICE);
  }

  /** Takes away what `install` and the scenarios brought. */
  async remove(): Promise<void> {
    this.stopListening();
    await this.systemctl('stop', 'tonearm.service');
    const units =
      'tonearm*.service tonearm*.timer up.service quick.service never.service bad.service masked.service';
    await this.shell(`cd ~/.config/systemd/user; rm -f ${units}; systemctl --user daemon-reload
      rm -rf ~/.config/tonearm ~/.local/state/tonearm ~/gate ~/as-root; systemctl --user reset-failed`);
    const brought = '/opt/tonearm /opt/upgrade /opt/fake /usr/lib/tonearm /usr/local/bin/tonearm';
    await this.node.shell(`rm -rf ${brought} /etc/systemd/user/tonearm*.service.d`);
  }

  /** Starts the daemon anew, with nothing known of earlier runs. `upgrade` is YAML in flow style. */
  async beginWithConfig(upgrade: string): Promise<void> {
    this.stopListening();
    await this.systemctl('stop', 'tonearm.service');
    await this.shell(`rm -rf ~/.local/state/tonearm ~/gate ~/.config/tonearm; mkdir -p ~/.config/tonearm
      cat > ~/.config/tonearm/config.yaml <<'END'\n${CONFIG}upgrade: ${upgrade}\nEND`);
    await this.startDaemon();
  }

  /** Starts the daemon if it does not run, and waits until `GET /upgrade` is answered. */
  async startDaemon(): Promise<void> {
    await this.systemctl('start', 'tonearm.service');
    await this.readUpgrade();
  }

  /** Waits until `GET /upgrade` is answered, and resolves with the answer. */
  readUpgrade(): Promise<UpgradeRecord> {
    return this.waitFor('GET /upgrade', () => true);
  }

  /**
   * Kills the daemon after it has saved the invocation of the run. If this invocation were not saved, the
   * next start of the daemon would count the run as failed.
   */
  async kill(): Promise<void> {
    await until('the state file has the invocation', async () =>
      (await this.shell('cat ~/.local/state/tonearm/upgrade-run.json')).includes('"invocation"'),
    );
    await this.systemctl('kill', '--signal=KILL', 'tonearm.service');
    await until('the daemon has ended', async () => (await this.node.property('ActiveState')) === 'failed');
  }

  /** Waits until a unit has ended, by default the upgrade unit. */
  async unitEnds(unit = 'up.service'): Promise<void> {
    const state = (): Promise<string> => this.node.property('ActiveState', unit);
    await until('the unit has ended', async () => /^(inactive|failed)$/.test(await state()));
  }

  async openGate(): Promise<void> {
    await this.shell('touch ~/gate');
  }

  async post(path: string): Promise<number> {
    return (await this.ask('POST', path)).status;
  }

  /** Starts an upgrade, which must be accepted. */
  async startUpgrade(): Promise<void> {
    assert.equal(await this.post('/upgrade/start'), 202);
  }

  /**
   * Starts the daemon anew with an upgrade unit, which is a oneshot that runs `script`. `more` are further
   * lines of the unit.
   */
  async beginWithUnit(script: string, more = ''): Promise<void> {
    const program = '/opt/upgrade/up.service';
    await this.node.writeFile(program, `#!/bin/sh\n${script}\n`, '755');
    await this.node.writeUnit('user', 'up.service', `[Service]\nType=oneshot\nExecStart=${program}\n${more}`);
    // systemctl fails here if the unit is not loaded, so its status is not checked.
    await this.node.user('systemctl', '--user', 'reset-failed', 'up.service');
    await this.beginWithConfig(FULL);
  }

  /** Does what `beginWithUnit` does, and starts the upgrade. */
  async runUnit(script: string, more = ''): Promise<void> {
    await this.beginWithUnit(script, more);
    await this.startUpgrade();
  }

  /** Waits until the answer of `GET /upgrade` is as expected. `what` describes this answer in the error. */
  async waitFor(what: string, isExpected: (upgrade: UpgradeRecord) => boolean): Promise<UpgradeRecord> {
    return until(what, async () => {
      const upgrade = await this.node.read<UpgradeRecord>('/upgrade');
      assert.ok(isExpected(upgrade), JSON.stringify(upgrade));
      return upgrade;
    });
  }

  /** Waits until the upgrade unit's log has a line that is or matches `line`. */
  async logHas(line: string | RegExp): Promise<void> {
    const isLine = (message: string) => (typeof line === 'string' ? message === line : line.test(message));
    await until(`the log has "${line}"`, async () => {
      const entries = await this.node.read<readonly LogEntryRecord[]>('/upgrade/log?lines=60');
      assert.ok(
        entries.some(({ message }) => isLine(message)),
        JSON.stringify(entries),
      );
      return true;
    });
  }

  /** Waits until the run has this state and origin. */
  untilRun(state: string, origin = 'systemd'): Promise<UpgradeRecord> {
    const isExpected = ({ run }: UpgradeRecord): boolean => run.state === state && run.origin === origin;
    return this.waitFor(`the run is ${state}, from ${origin}`, isExpected);
  }

  override listen(): Promise<ReceivedEvents> {
    return super.listen('?backend=upgrade');
  }
}
