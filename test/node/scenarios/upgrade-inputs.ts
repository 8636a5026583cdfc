// Output of scripts and detectors: progress lines, floods of them, and the result file in a read-only set-up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import { NODE_PROGRAM } from '../node.js';
import { property } from './commands.js';
import { READ_ONLY, RESULT, type UpgradeDaemon } from './upgrade-daemon.js';

const SOCKET = '/run/user/$(id -u)/tonearm/upgrade.sock';

export function inputScenarios(daemon: UpgradeDaemon): void {
  const flood = (program: string) => daemon.shell(`SOCKET=${SOCKET} ${NODE_PROGRAM} -e '${program}'`);

  test('ten thousand lines at once all arrive, in order', async () => {
    await daemon.begin(READ_ONLY);
    const heard = await daemon.listen();
    await flood(`const socket = require("net").connect(process.env.SOCKET);
      for (let n = 0; n < 10000; n++) socket.write(JSON.stringify({ event: "progress", percent: n % 100, current: n, step: "s" }) + "\\n");
      socket.end();`);
    const lines = () => heard.filter(({ type }) => type === 'upgrade.progress');
    await until('all lines are sent', () => lines().length >= 10_000);
    assert.ok(lines().every(({ data }, index) => JSON.parse(data).current === index));
    await daemon.sees('the last percent', ({ run }) => run.percent === 99);
  });

  test('two hundred connections at once, beside a hundred idle ones, lose no line', async () => {
    await daemon.begin(READ_ONLY);
    const heard = await daemon.listen();
    await flood(`const { connect } = require("net");
      const opened = () => new Promise((resolve) => connect(process.env.SOCKET, resolve));
      const script = connect(process.env.SOCKET, async () => {
        script.write(JSON.stringify({ event: "begin", total: 200 }) + "\\n");
        for (let n = 0; n < 100; n++) await opened();
        let open = 200;
        for (let n = 0; n < 200; n++) {
          const line = JSON.stringify({ event: "progress", percent: 1, current: n, step: "s" });
          connect(process.env.SOCKET).resume().on("close", () => {
            open -= 1;
            if (open === 0) script.end(JSON.stringify({ event: "end", success: true }) + "\\n");
          }).end(line + "\\n");
        }
      }).resume().on("close", () => process.exit());`);
    const lines = () => heard.filter(({ type }) => type === 'upgrade.progress');
    await until('all lines are sent', () => lines().length >= 202);
    const said = lines().map(({ data }) => JSON.parse(data));
    assert.deepEqual([said[0].event, said[201].event], ['begin', 'end']);
    assert.equal(new Set(said.map(({ current }) => current)).size, 201);
    await daemon.runs('idle', 'socket');
  });

  test('a socket whose directory was removed is back at once', async () => {
    await daemon.begin(READ_ONLY);
    await daemon.shell(`rm -r $(dirname ${SOCKET})`);
    await until(
      'the socket is back',
      async () => (await daemon.shell(`ls ${SOCKET} 2>&1 || true`)).startsWith('/run/'),
      10_000,
    );
    await daemon.shell('tonearm progress begin --total 1');
    await daemon.runs('running', 'socket');
  });

  test('anything in the place of the state file loses no run, and does not keep the daemon from ending', async () => {
    await daemon.begin(READ_ONLY);
    await daemon.shell('mkdir -p ~/.local/state/tonearm; mkfifo ~/.local/state/tonearm/upgrade-run.json.new');
    await daemon.shell('tonearm progress begin --total 1');
    await until(
      'the state file has the run',
      async () =>
        (await daemon.shell('cat ~/.local/state/tonearm/upgrade-run.json || true')).includes('running'),
      10_000,
    );
    await daemon.systemctl('stop', 'tonearm.service');
    assert.equal(await property(daemon.node, 'Result'), 'success');
  });

  test('a flood of garbage ends nothing', async () => {
    await daemon.begin(READ_ONLY);
    const heard = await daemon.listen();
    await flood(`const { connect } = require("net"), { randomBytes } = require("crypto");
      for (let n = 0; n < 100; n++) {
        const socket = connect(process.env.SOCKET).on("error", () => socket.destroy());
        socket.write(randomBytes(100000));
        if (n % 2) socket.end(); else socket.on("connect", () => setTimeout(() => socket.destroy(), 20));
      }`);
    await daemon.shell('tonearm progress begin --total 1');
    await daemon.runs('running', 'socket');
    await until('the line is sent', () => heard.some(({ type }) => type === 'upgrade.progress'));
    assert.equal(heard.filter(({ type }) => type === 'upgrade.progress').length, 1);
    assert.match((await daemon.ask('GET', '/health')).text, /"restarts":0/);
  });

  test('the socket is closed to other users', async () => {
    await daemon.begin(READ_ONLY);
    assert.equal(await daemon.shell(`stat -c %a ${SOCKET} $(dirname ${SOCKET})`), '600\n700\n');
  });

  test('the socket may be in the runtime directory itself, beside which the user can make nothing', async () => {
    const socket = `/run/user/${daemon.node.uid}/upgrade.sock`;
    await daemon.begin(READ_ONLY.replace('}', `, progressSocket: ${socket}}`));
    await daemon.shell(`tonearm progress begin --total 1 --socket ${socket}`);
    await daemon.runs('running', 'socket');
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /cannot listen/);
  });

  test('a result file alone needs no bus', async () => {
    await daemon.begin(READ_ONLY);
    assert.equal(await daemon.post('/upgrade/start'), 404);
    assert.equal(await daemon.post('/upgrade/check'), 404);
    const nothing = await daemon.answers();
    assert.deepEqual([nothing.current, nothing.latest, nothing.upgrade_available], ['', '', false]);
    assert.match((await daemon.ask('GET', '/health')).text, /it does not exist/);
    await daemon.shell(
      `mkdir -p $(dirname ${RESULT}); echo '{"current":"1","latest":"2","upgrade_available":true,"n":1.50}' > ${RESULT}`,
    );
    await daemon.sees('the file', ({ latest }) => latest === '2');
    assert.match((await daemon.ask('GET', '/upgrade')).text, /"extra":\{"n":1\.50\}/);
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /detail/);
    await daemon.shell(`echo '{"current":' > ${RESULT}`);
    await until('the reason is in /health', async () =>
      /not a JSON object/.test((await daemon.ask('GET', '/health')).text),
    );
    assert.equal((await daemon.answers()).latest, '2');
  });
}
