// Scenarios of power actions on a real logind and a real polkit: refusals with their status and reason, and
// a power-off. faults/table.ts has the reboot. A desktop is a node on which display-manager.service is
// active.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import { CONFIG, type Node, POWER_CONFIG, RULE } from '../node.js';

const ALL_ALLOWED = { reboot: true, power_off: true };
const NONE_ALLOWED = { reboot: false, power_off: false };
const ACTIONS = ['/power/reboot', '/power/power_off'];

/** Waits until GET /power/ answers with these permissions. */
async function untilPowerIs(node: Node, expected: unknown): Promise<void> {
  await until(`GET /power/ is ${JSON.stringify(expected)}`, async () => {
    const { status, text } = await node.ask('GET', '/power/');
    return status === 200 && text === JSON.stringify(expected);
  });
}

/** Fails unless a POST is refused with this status and detail. */
async function assertRefused(node: Node, path: string, status: number, detail: RegExp): Promise<void> {
  const reply = await node.ask('POST', path);
  assert.equal(reply.status, status, reply.text);
  assert.match((JSON.parse(reply.text) as { detail: string }).detail, detail);
}

/**
 * Lets pi take block locks. Without this rule, a user without a session may not take them. pi is the
 * daemon's user, and a lock of this user forbids a power action, too (actors/power/backend.ts). So one
 * scenario takes a lock as pi.
 */
const MAY_INHIBIT = `polkit.addRule(function (action, subject) {
  if (action.id === "org.freedesktop.login1.inhibit-block-shutdown" && subject.user === "pi") return polkit.Result.YES;
});`;
const MAY_INHIBIT_FILE = '/etc/polkit-1/rules.d/60-test.rules';

export function powerScenarios(node: () => Node): void {
  test('a power action without the polkit rule is 403, and names the missing permission', async (t) => {
    await node().shell(`mv ${RULE} /root/kept.rules`);
    t.after(async () => {
      await node().shell(`cp /root/kept.rules ${RULE}`);
      await untilPowerIs(node(), ALL_ALLOWED);
    });
    await untilPowerIs(node(), NONE_ALLOWED);
    const prefix = 'org\\.freedesktop\\.login1\\.';
    // The second permission is `reboot-multiple-sessions`. The expression has only its beginning.
    await assertRefused(node(), '/power/reboot', 403, new RegExp(`${prefix}reboot, and ${prefix}reboot-m`));
    await assertRefused(node(), '/power/power_off', 403, new RegExp(`${prefix}power-off, `));
  });

  for (const who of ['root', 'pi'] as const) {
    test(`a power action during a lock of ${who} is 409, and names the holder and the reason`, async (t) => {
      await node().writeFile(MAY_INHIBIT_FILE, MAY_INHIBIT);
      t.after(() => node().shell(`rm ${MAY_INHIBIT_FILE}`));
      // A restarted polkit has read its rules before it answers.
      await node().shell('systemctl restart polkit.service');
      const releaseLock = await node().holdShutdown(who);
      t.after(releaseLock);
      const holderAndReason = new RegExp(`"${who}'s upgrade" \\(process \\d+\\): "half-way"`);
      for (const path of ACTIONS) await assertRefused(node(), path, 409, holderAndReason);
    });
  }

  for (const unit of ['polkit.service', 'systemd-logind.service']) {
    test(`power actions are 503 while ${unit} is masked, and are allowed again afterwards by the same daemon`, async (t) => {
      const pid = await node().property('MainPID');
      t.after(() => node().shell(`systemctl --runtime unmask ${unit} && systemctl start ${unit}`));
      await node().shell(`systemctl --runtime mask --now ${unit}`);
      for (const path of ACTIONS) await assertRefused(node(), path, 503, /could not be asked/);
      assert.equal((await node().ask('GET', '/power/')).status, 503);
      assert.equal((await node().ask('GET', '/audio')).status, 200);
      await node().shell(`systemctl --runtime unmask ${unit} && systemctl start ${unit}`);
      await untilPowerIs(node(), ALL_ALLOWED);
      assert.equal(await node().property('MainPID'), pid);
    });
  }

  test('a power-off ends an open stream with one action and bye, and the service starts again at the next boot', async () => {
    const watcher = await node().events();
    await node().powerOff(async () => {
      const reply = await node().ask('POST', '/power/power_off');
      assert.equal(reply.status, 202, reply.text);
      await watcher.until(({ events }) => events.some(({ data }) => data === '"bye"'), 'bye', 30_000);
    });
    const lines = watcher.events.map(({ type, data }) => `${type} ${data}`);
    const endingLines = lines.filter((line) => line.startsWith('power') || line.includes('bye'));
    assert.deepEqual(endingLines, ['power.action {"action":"poweroff"}', 'server.info "bye"']);
    await node().start();
    await until('the service is back', async () => (await node().property('ActiveState')) === 'active');
    await untilPowerIs(node(), ALL_ALLOWED);
  });
}

const DISPLAY_MANAGER = 'display-manager.service';

async function setUpWithPower(node: Node): Promise<void> {
  const output = await node.setUpPi();
  assert.match(output, /everybody who can reach tonearm may restart this machine and switch it off/);
  await until('the permissions are known', async () => (await node.ask('GET', '/power/')).status === 200);
}

export function desktopScenarios(node: () => Node): void {
  test('the set-up of a desktop installs no rule, and removes the rule of an earlier set-up', async () => {
    // The rule is there: package-install.ts has set up pi while the node had no display manager.
    await node().writeUnit('system', DISPLAY_MANAGER, '[Service]\nExecStart=sleep infinity\n');
    await node().shell(`systemctl start ${DISPLAY_MANAGER}`);
    const output = await node().setUpPi();
    assert.match(output, /nobody can restart this machine .*: it has a display manager, so that the person/);
    assert.equal(await node().isThere(RULE), false);
    assert.match(await node().shell(`cat ${POWER_CONFIG}`), /enabled: false/);
    assert.equal((await node().ask('GET', '/power/')).status, 404, 'the backend is off');
    assert.doesNotMatch(await node().setUpPi(), /write|remove/, 'a second set-up changes nothing');
  });

  test('the set-up of a node whose display manager was removed installs the rule again', async () => {
    await node().shell(`systemctl stop ${DISPLAY_MANAGER}; rm /etc/systemd/system/${DISPLAY_MANAGER}
      systemctl daemon-reload`);
    await setUpWithPower(node());
  });

  test('--no-power removes the rule, and stays in force until its line is removed from the configuration', async () => {
    for (const flags of [['--no-power'], []]) {
      const output = await node().setUpPi(...flags);
      assert.match(output, /nobody can restart this machine .*: --no-power was given/);
      assert.equal(await node().isThere(RULE), false);
      assert.equal((await node().ask('GET', '/power/')).status, 404, 'the backend is off');
    }
    await node().shell(`sed -i /^power:/d ${CONFIG}/conf.d/50-setup.yaml`);
    await setUpWithPower(node());
  });
}
