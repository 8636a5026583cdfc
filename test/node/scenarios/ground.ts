// The node itself: what every other scenario stands on.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../until.js';
import { NODE_PROGRAM, NODE_ROOT, type Node } from '../node.js';

const LOGIN1 = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];

const SERVER = `require('node:http').createServer((q, r) => r.end(require('node:os').hostname())).listen(8099, '127.0.0.1',
  () => console.log('listening'))`;

/** Tests over a running node; `node()` gives it once it has booted. */
export function groundScenarios(node: () => Node): void {
  test('it is the Debian over whose root it was booted, with the Node of that Debian', async () => {
    const { stdout } = await node().user('cat', '/etc/os-release');
    assert.equal(stdout, readFileSync(join(NODE_ROOT, 'etc/os-release'), 'utf8'));
    const ran = await node().user(NODE_PROGRAM, '--version');
    assert.match(ran.stdout, /^v\d+\./, ran.stderr);
  });

  test('root and pi are who they are', async () => {
    assert.equal((await node().root('id', '-un')).stdout, 'root\n');
    assert.equal((await node().user('id', '-un')).stdout, 'pi\n');
    assert.equal((await node().user('sh', '-c', 'exit 7')).status, 7);
  });

  test('both buses answer, and both managers are there', async () => {
    for (const scope of ['--user', '--system']) {
      const ran = await node().user('busctl', scope, 'status', 'org.freedesktop.systemd1');
      assert.equal(ran.status, 0, ran.stderr);
    }
    const units = await node().user('systemctl', '--user', 'list-units', '--plain', '--no-legend');
    assert.match(units.stdout, /^dbus\.socket /m);
  });

  test('a unit is written, started and seen', async () => {
    const text = '[Service]\nExecStart=sleep infinity\n';
    await node().writeUnit('user', 'ground.service', text);
    await node().writeUnit('system', 'ground.service', text);
    assert.equal((await node().user('systemctl', '--user', 'start', 'ground.service')).status, 0);
    const state = await node().user('systemctl', '--user', 'is-active', 'ground.service');
    assert.equal(state.stdout, 'active\n');
    assert.equal((await node().root('systemctl', 'is-active', 'ground.service')).stdout, 'inactive\n');
  });

  test('logind asks polkit, and pi without a rule is challenged', async () => {
    const ran = await node().user('busctl', '--system', 'call', ...LOGIN1, 'CanReboot');
    assert.equal(ran.stdout, 's "challenge"\n', ran.stderr);
  });

  test('a polkit rule grants the reboot', async () => {
    const rule = `polkit.addRule(function (action, subject) {
  if (action.id == 'org.freedesktop.login1.reboot' && subject.user == 'pi') return polkit.Result.YES;
});`;
    await node().writeFile('/etc/polkit-1/rules.d/50-ground.rules', rule);
    await until(
      'the granted reboot',
      async () => {
        const ran = await node().user('busctl', '--system', 'call', ...LOGIN1, 'CanReboot');
        return ran.stdout === 's "yes"\n';
      },
      5_000,
    );
    assert.equal((await node().root('rm', '/etc/polkit-1/rules.d/50-ground.rules')).status, 0);
  });

  test('the sound server of pi answers', async () => {
    const info = await node().user('pactl', 'info');
    assert.match(info.stdout, /^Default Sink: \S+$/m, info.stderr);
  });

  test('a folder is installed, and a TCP port of the node is reached from here', async () => {
    await node().install(import.meta.dirname, '/opt/ground');
    assert.match((await node().user('ls', '/opt/ground')).stdout, /^ground\.js$/m);

    const server = node().spawnUser(NODE_PROGRAM, '-e', SERVER);
    await once(server.stdout, 'data');
    const socketPath = await node().door(8099);
    const body = await new Promise((resolve, reject) => {
      const sent = request({ socketPath, path: '/' }, (answer) =>
        answer.setEncoding('utf8').once('data', resolve),
      );
      sent.on('error', reject).end();
    });
    assert.equal(body, 'tonearm-node');
    // Left running: the reboot below has to end it.
  });

  test('a reboot is a real one, and keeps the files', async () => {
    const bootId = async () => (await node().root('journalctl', '--list-boots', '--quiet')).stdout.length;
    const uptime = async () => Number((await node().root('stat', '-c', '%Y', '/proc/1')).stdout);
    const before = { boots: await bootId(), started: await uptime() };
    await node().user('touch', '/home/pi/kept');
    await node().root('touch', '/run/lost');
    await node().reboot();
    assert.equal((await node().user('ls', '/home/pi/kept')).status, 0);
    assert.notEqual((await node().root('ls', '/run/lost')).status, 0);
    assert.equal((await node().user('busctl', '--user', 'status')).status, 0);
    assert.ok((await uptime()) >= before.started);
  });

  test('a power-off ends it, and it starts again', async () => {
    await node().powerOff();
    await node().start();
    assert.equal((await node().user('systemctl', '--user', 'is-system-running')).stdout, 'running\n');
  });
}
