// Power actions that do not happen, on a real logind and a real polkit: each with its status and its reason.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { ask } from './client.js';
import { holdShutdown, property, shell } from './commands.js';
import { CONFIG, RULE, restartService } from './package-shell.js';

const ALL = { reboot: true, power_off: true };
const NONE = { reboot: false, power_off: false };
const ACTIONS = ['/power/reboot', '/power/power_off'];

async function settles(node: Node, expected: unknown): Promise<void> {
  await until(`GET /power/ to be ${JSON.stringify(expected)}`, async () => {
    const { status, text } = await ask(node, 'GET', '/power/');
    return status === 200 && text === JSON.stringify(expected);
  });
}

async function refused(node: Node, path: string, status: number, detail: RegExp): Promise<void> {
  const reply = await ask(node, 'POST', path);
  assert.equal(reply.status, status, reply.text);
  assert.match((JSON.parse(reply.text) as { detail: string }).detail, detail);
}

/** Without a session a user may not take block locks; an upgrade script's user would be granted it. */
const MAY_INHIBIT = `polkit.addRule(function (action, subject) {
  if (action.id === "org.freedesktop.login1.inhibit-block-shutdown" && subject.user === "pi") return polkit.Result.YES;
});`;
const MAY_INHIBIT_FILE = '/etc/polkit-1/rules.d/60-test.rules';

export function refusalScenarios(node: () => Node): void {
  test('a power action that is off is 403', async (t) => {
    const off = `${CONFIG}/conf.d/90-off.yaml`;
    t.after(async () => {
      await shell(node(), `rm ${off}`);
      await restartService(node());
    });
    await node().writeFile(off, 'power: {capabilities: {reboot: false}}\n');
    await restartService(node());
    await settles(node(), { reboot: false, power_off: true });
    await refused(node(), '/power/reboot', 403, /power\.capabilities\.reboot is false/);
  });

  test('a power action without the rule is 403, and names the missing permission', async () => {
    await shell(node(), `mv ${RULE} /root/kept.rules`);
    await settles(node(), NONE);
    await refused(
      node(),
      '/power/reboot',
      403,
      /org\.freedesktop\.login1\.reboot, and org\.freedesktop\.login1\.reboot-m/,
    );
    await refused(node(), '/power/power_off', 403, /org\.freedesktop\.login1\.power-off, /);
    await shell(node(), `cp /root/kept.rules ${RULE}`);
    await settles(node(), ALL);
  });

  for (const who of ['root', 'pi'] as const) {
    test(`a lock of ${who} is 409, and names the holder and the reason`, async (t) => {
      await node().writeFile(MAY_INHIBIT_FILE, MAY_INHIBIT);
      t.after(() => shell(node(), `rm ${MAY_INHIBIT_FILE}`));
      // polkit that starts anew has read its rules before it answers.
      await shell(node(), 'systemctl restart polkit.service');
      t.after(await holdShutdown(node(), 'block', who));
      for (const path of ACTIONS) {
        await refused(node(), path, 409, new RegExp(`"${who}'s upgrade" \\(process \\d+\\): "half-way"`));
      }
    });
  }

  for (const unit of ['polkit.service', 'systemd-logind.service']) {
    test(`${unit} masked: 503 and no crash; unmasked: granted`, async (t) => {
      const pid = await property(node(), 'MainPID');
      t.after(() => shell(node(), `systemctl --runtime unmask ${unit} && systemctl start ${unit}`));
      await shell(node(), `systemctl --runtime mask --now ${unit}`);
      for (const path of ACTIONS) await refused(node(), path, 503, /could not be asked/);
      assert.equal((await ask(node(), 'GET', '/power/')).status, 503);
      assert.equal((await ask(node(), 'GET', '/audio')).status, 200);
      await shell(node(), `systemctl --runtime unmask ${unit} && systemctl start ${unit}`);
      await settles(node(), ALL);
      assert.equal(await property(node(), 'MainPID'), pid);
    });
  }
}
