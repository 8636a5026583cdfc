// Scenarios of the package's unit under pi's real manager: when its start and its reload are done, when it
// fails for good, and its sandbox.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Health } from '../../contract/daemon.js';
import { until } from '../../until.js';
import { CONFIG, type Node } from '../node.js';

/** The port of Node's inspector is 9229. The kernel's table of sockets writes it this way. */
const INSPECTOR_PORT_HEX = '240D';
const ADDED_CONFIG = `${CONFIG}/conf.d/99-added.yaml`;

/**
 * Adds a text to the service's configuration. When the test ends, the text is removed and the service
 * restarted.
 */
async function configure(t: TestContext, node: Node, text: string): Promise<void> {
  await node.writeFile(ADDED_CONFIG, text);
  t.after(async () => {
    await node.shell(`rm ${ADDED_CONFIG}`);
    await node.restartService();
  });
}

export function serviceScenarios(node: () => Node): void {
  test('the start of the service is done when the service answers', async () => {
    for (let round = 0; round < 3; round += 1) {
      await node().restartService();
      assert.equal((await node().ask('GET', '/server')).status, 200);
    }
  });

  test('the start of the service is done when scripts can send progress', async (t) => {
    await configure(t, node(), 'upgrade: {enabled: true, resultFile: /home/pi/result.json}\n');
    for (let round = 0; round < 3; round += 1) {
      // One command restarts the service and tests the socket. If a second command tested it, even a socket
      // that comes too late would be there.
      const restart = 'systemctl --user restart tonearm; test -S $XDG_RUNTIME_DIR/tonearm/upgrade.sock';
      await node().userShell(restart);
      // The line is an `end`, because a `begin` would begin a run. The run would last for ten minutes, and
      // meanwhile the daemon would refuse to start an upgrade.
      const output = await node().user('tonearm', 'progress', 'end', '--success');
      assert.equal(output.stderr, '');
    }
  });

  test('every backend works inside the sandbox of the service', async () => {
    await until('all backends are up', async () => {
      const { backends } = await node().read<Health>('/health');
      return Object.values(backends).every(({ state }) => state === 'up');
    });
    const status = await node().shell(`cat /proc/${await node().property('MainPID')}/status`);
    assert.match(status, /^NoNewPrivs:\t1$/m);
    // The test node is a container, whose PID 1 has filters, too. So the service must have more than PID 1.
    const filterCount = (text: string): number => Number(/^Seccomp_filters:\t(\d+)$/m.exec(text)?.[1]);
    assert.ok(filterCount(status) > filterCount(await node().shell('cat /proc/1/status')));
    assert.notEqual(await node().property('MemoryMax'), 'infinity');
  });

  test('systemd finds no fault with the unit', async () => {
    const verify = 'systemd-analyze --user verify /usr/lib/systemd/user/tonearm.service 2>&1';
    assert.equal(await node().userShell(verify), '');
  });

  test('the code that V8 has compiled is kept for the next start', async () => {
    const checkFiles = 'test -e ~/.cache/tonearm/main.code -a -e ~/.cache/tonearm/actors-audio-backend.code';
    await until(
      'the compiled code is kept',
      async () => (await node().user('sh', '-c', checkFiles)).status === 0,
    );
  });

  test('SIGUSR1 opens no inspector, not even before the code of the daemon runs', async () => {
    await node().shell(`kill -USR1 ${await node().property('MainPID')}`);
    assert.equal((await node().ask('GET', '/server')).status, 200);
    // Another program runs with the flags of the shipped command, and without the daemon's code. So only
    // these flags can keep the inspector of this program closed.
    const output =
      await node().shell(`flags=$(sed -n 's|^exec [^ ]*node \\(.*\\) [^ ]*/main.js .*|\\1|p' /usr/bin/tonearm)
      node $flags -e 'setInterval(() => {}, 1000); console.error("runs")' 2> /tmp/said & pid=$!
      until grep -q runs /tmp/said; do sleep 0.05; done
      kill -USR1 $pid
      until grep -q inspector /tmp/said || grep -q Debugger /tmp/said; do sleep 0.05; done
      kill $pid
      cat /tmp/said`);
    assert.match(output, /Starting inspector on \S+ failed/);
    assert.doesNotMatch(output, /Debugger listening/);
    assert.doesNotMatch(await node().shell('cat /proc/net/tcp'), new RegExp(`:${INSPECTOR_PORT_HEX} `));
  });

  test('an invalid configuration ends the service for good, with status 78', async (t) => {
    await configure(t, node(), 'api: {port: none}\n');
    const { status } = await node().user('systemctl', '--user', 'restart', 'tonearm.service');
    assert.notEqual(status, 0, 'systemctl reports that the start has failed');
    await until('the service has failed', async () => (await node().property('ActiveState')) === 'failed');
    assert.equal(await node().property('ExecMainStatus'), '78');
  });

  test('a reload ends when the new configuration is in force, fails if it is wrong, and leaves streams open', async (t) => {
    const pid = await node().property('MainPID');
    const reload = () => node().user('systemctl', '--user', 'reload', 'tonearm.service');
    t.after(async () => {
      await node().shell(`rm -f ${ADDED_CONFIG}`);
      await reload();
    });
    const stream = await node().events();
    t.after(async () => stream.close());
    await node().writeFile(ADDED_CONFIG, 'bind: all\napi: {control: false}\nbluetooth: {enabled: false}\n');
    assert.equal((await reload()).status, 0);
    assert.equal((await node().ask('POST', '/audio/server/mute')).status, 403);
    assert.equal((await node().ask('GET', '/bluetooth')).status, 404);
    await node().writeFile(ADDED_CONFIG, 'api: {control: nobody}\n');
    assert.notEqual((await reload()).status, 0, 'systemctl reports that the reload has failed');
    // The unit's ExecReload= has run `tonearm --check-config`, which has ended by now. journald may write
    // the line of this command later than systemd's lines about the failure.
    await until('the log names the problem', async () => {
      const log = await node().userShell('journalctl --user --unit tonearm --output cat --lines 20');
      return /99-added\.yaml:1:16: api\.control: must be true, false or local/.test(log);
    });
    assert.equal((await node().ask('POST', '/audio/server/mute')).status, 403);
    assert.equal(await node().property('MainPID'), pid);
    assert.equal(await node().property('ActiveState'), 'active');
    // A new event shows that the stream is still open.
    await node().writeFile(ADDED_CONFIG, 'bind: all\nbluetooth: {enabled: true}\n');
    assert.equal((await reload()).status, 0);
    await stream.until(({ model }) => model.known.backends.has('bluetooth'), 'the event of the new backend');
  });

  /**
   * Runs the set-up, which must print this port and this line about the service. The line `start
   * tonearm.service` also stands for a restart.
   */
  const setUpWithPort = async (port: number, lineAboutService: string): Promise<void> => {
    const output = await node().setUpPi();
    assert.ok(output.includes(`tonearm-setup: open http://localhost:${port}/`), output);
    await node().shell(`curl --silent --fail http://localhost:${port}/server`);
    assert.ok(output.includes(`tonearm-setup: ${lineAboutService}\n`), output);
  };

  test('a set-up after an edit of the configuration restarts the service, which then answers at the printed address', async (t) => {
    t.after(async () => {
      await node().shell(`rm -f ${ADDED_CONFIG}`);
      await node().restartService();
    });
    await node().writeFile(ADDED_CONFIG, 'api: {port: 8020}\n');
    await setUpWithPort(8020, 'start tonearm.service');
    await setUpWithPort(8020, 'tonearm.service is running');
    await node().shell(`rm ${ADDED_CONFIG}`);
    await setUpWithPort(8018, 'start tonearm.service');
    await setUpWithPort(8018, 'tonearm.service is running');
  });

  test('a set-up after config.yaml was removed restarts the service, because the file may have named another port', async (t) => {
    const file = `${CONFIG}/config.yaml`;
    t.after(async () => {
      await node().userShell(`mv ${file}.kept ${file}`);
      await node().restartService();
    });
    await node().userShell(`cp ${file} ${file}.kept; echo 'api: {port: 8020}' > ${file}`);
    await setUpWithPort(8020, 'start tonearm.service');
    await node().userShell(`rm ${file}`);
    await setUpWithPort(8018, 'start tonearm.service');
    await setUpWithPort(8018, 'tonearm.service is running');
  });

  test('a set-up after its own file was edited in place restarts the service', async (t) => {
    const file = `${CONFIG}/conf.d/50-setup.yaml`;
    const copy = '/home/pi/50-setup.copy';
    t.after(() => node().userShell(`cat ${copy} > ${file}; rm ${copy}`));
    await setUpWithPort(8018, 'tonearm.service is running');
    // The redirection keeps the file, so the modification time of the folder stays. Only that of the file
    // shows the edit.
    await node().userShell(`cp ${file} ${copy}; { grep -v ^bind: ${copy}; echo 'bind: [lo]'; } > ${file}`);
    await setUpWithPort(8018, 'start tonearm.service');
    await setUpWithPort(8018, 'tonearm.service is running');
  });

  test('the start of the service is done even while the service waits for an interface', async (t) => {
    await configure(t, node(), 'bind: late0\n');
    await node().restartService();
    assert.equal(await node().property('ActiveState'), 'active');
    assert.equal(await node().property('NRestarts'), '0');
  });
}
