// A desktop node, arranged: a unit that calls itself the display manager is active.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { ask } from './client.js';
import { isThere, shell } from './commands.js';
import { POWER_CONFIG, RULE, setUpPi } from './package-shell.js';

const DISPLAY_MANAGER = 'display-manager.service';

export function desktopScenarios(node: () => Node): void {
  test('no rule is deployed there, and one of earlier days is taken back', async () => {
    await node().writeUnit('system', DISPLAY_MANAGER, '[Service]\nExecStart=sleep infinity\n');
    await shell(node(), `systemctl start ${DISPLAY_MANAGER}`);
    const said = await setUpPi(node());
    assert.match(said, /no polkit rule: this is a desktop, it has a display manager/);
    assert.equal(await isThere(node(), RULE), false);
    assert.match(await shell(node(), `cat ${POWER_CONFIG}`), /enabled: false/);
    assert.equal((await ask(node(), 'GET', '/power/')).status, 404, 'the backend is off');
    assert.doesNotMatch(await setUpPi(node()), /write|remove/);
  });

  test('headless again, the rule is back', async () => {
    await shell(
      node(),
      `systemctl stop ${DISPLAY_MANAGER}; rm /etc/systemd/system/${DISPLAY_MANAGER}; systemctl daemon-reload`,
    );
    assert.match(await setUpPi(node()), /logind says to pi now: reboot yes, power-off yes/);
    await until('the granted actions', async () => (await ask(node(), 'GET', '/power/')).status === 200);
  });
}
