// Scenarios of a user outside the group audio, as Debian makes users: /health says why there is no card, and
// the set-up puts the user into the group, and takes the user out again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../until.js';
import { DUMMY, untilTwoCards } from './hot-plug.js';
import { type EmulatedNode, SLOW_MS } from './node.js';

/**
 * The uninstallation ends the lingering of the user, whose services end some seconds later. The script waits
 * for this end.
 */
const UNINSTALL = `tonearm-setup --uninstall --user pi
id -nG pi
until [ ! -e /run/user/$(id -u pi)/bus ]; do sleep 1; done`;
/** Starts the user's services without a login. tonearm-setup would do this, too, but is not used here. */
const START_USER = `loginctl enable-linger pi
until [ -e /run/user/$(id -u pi)/bus ]; do sleep 1; done`;
/** The test reaches the machine over its network, so the daemon must not listen only on loopback. */
const START_BY_HAND = `echo 'bind: all' > ~/.config/tonearm/config.yaml
systemctl --user start tonearm`;
const SET_UP = 'tonearm-setup --user pi --bind all; id -nG pi';
/**
 * The user's groups, which `id` prints in `UNINSTALL` and `SET_UP`, each time as the last line of the
 * output.
 */
const groupsIn = (output: string): string => output.trimEnd().split('\n').at(-1) ?? '';
/** This has the same effect on the user's programs as a restart of the machine. */
export const RESTART_USER = 'systemctl restart user@$(id -u pi).service';

export function setUpScenarios(node: () => EmulatedNode): void {
  const audioDetail = async (): Promise<string> => {
    const health = await node().get<{ backends: { audio: { detail?: string } } }>('/health');
    return health.backends.audio.detail ?? '';
  };

  test('tonearm-setup --uninstall takes the user out of the group audio, and says so', async () => {
    await untilTwoCards(node());
    const output = await node().machine.root(UNINSTALL);
    assert.match(output, /take pi out of the group audio/);
    assert.doesNotMatch(groupsIn(output), /\baudio\b/);
  });

  test('a user outside the group audio has no card, and /health says why', async () => {
    await node().machine.root(START_USER);
    await node().machine.user(START_BY_HAND);
    const isExplained = async (): Promise<boolean> =>
      /may not open .* the group audio/.test(await audioDetail());
    await until('/health gives the reason', isExplained, SLOW_MS);
    assert.deepEqual(await node().get('/audio/cards'), []);
  });

  test('the set-up puts the user into the group audio, and a card is there after a restart', async () => {
    const output = await node().machine.root(SET_UP);
    assert.match(output, /add pi to the group audio, which may open sound cards/);
    assert.match(output, /if no sound card is found, restart this machine/);
    assert.match(groupsIn(output), /\baudio\b/);
    await node().machine.root(RESTART_USER);
    await node().untilListening();
    await node().untilOutput(DUMMY);
    await until('/health gives no reason', async () => (await audioDetail()) === '', SLOW_MS);
  });
}
