// A desktop node, arranged: a unit that calls itself the display manager is active.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import { CONFIG, type Node, POWER_CONFIG, RULE } from '../node.js';

const DISPLAY_MANAGER = 'display-manager.service';

async function isAllowed(node: Node): Promise<void> {
  const said = await node.setUpPi();
  assert.match(said, /everybody who can reach tonearm may restart this machine and switch it off/);
  await until('the granted actions', async () => (await node.ask('GET', '/power/')).status === 200);
}

export function desktopScenarios(node: () => Node): void {
  test('on a desktop no rule is installed, and an earlier one is removed', async () => {
    await node().writeUnit('system', DISPLAY_MANAGER, '[Service]\nExecStart=sleep infinity\n');
    await node().shell(`systemctl start ${DISPLAY_MANAGER}`);
    const said = await node().setUpPi();
    assert.match(
      said,
      /nobody can restart this machine .*: it has a display manager, so that the person who uses it/,
    );
    assert.equal(await node().isThere(RULE), false);
    assert.match(await node().shell(`cat ${POWER_CONFIG}`), /enabled: false/);
    assert.equal((await node().ask('GET', '/power/')).status, 404, 'the backend is off');
    assert.doesNotMatch(await node().setUpPi(), /write|remove/);
  });

  test('on a headless node the rule is installed again', async () => {
    await node().shell(
      `systemctl stop ${DISPLAY_MANAGER}; rm /etc/systemd/system/${DISPLAY_MANAGER}; systemctl daemon-reload`,
    );
    await isAllowed(node());
  });

  test('--no-power removes the rule and is kept, until its line is removed', async () => {
    for (const flags of [['--no-power'], []]) {
      const said = await node().setUpPi(...flags);
      assert.match(said, /nobody can restart this machine .*: --no-power was given/);
      assert.equal(await node().isThere(RULE), false);
      assert.equal((await node().ask('GET', '/power/')).status, 404, 'the backend is off');
    }
    await node().shell(`sed -i /^power:/d ${CONFIG}/conf.d/50-setup.yaml`);
    await isAllowed(node());
  });
}
