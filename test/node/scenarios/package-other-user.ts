// Scenarios in which a process of another user on the node attacks the service. This process may send HTTP
// requests, as everybody in the trusted network may (docs/security.md, "What whoever reaches the node can
// do"). It may do nothing else.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../until.js';
import { CONFIG, type Node, type Ran } from '../node.js';

const ADDED_CONFIG = `${CONFIG}/conf.d/99-other-user.yaml`;
const PASSWORD_FILE = `${CONFIG}/broker-password`;
const STATE_FOLDER = '/home/pi/.local/state/tonearm';
const AS_NOBODY = ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups', '--reset-env'];

const SETTINGS = `
upgrade: {enabled: true, resultFile: /home/pi/result.json}
players: {enabled: true}
mqtt: {enabled: true, url: "mqtt://127.0.0.1:1", username: node, passwordFile: ${PASSWORD_FILE}}
`;

/**
 * Attempts that the node must refuse. Their environment has PID (the daemon's process), RUN (pi's runtime
 * directory) and TMP (a directory that belongs to the user nobody).
 */
const REFUSED: readonly (readonly [attempt: string, script: string])[] = [
  ["reading the service's environment", 'cat /proc/$PID/environ'],
  ["listing the service's descriptors", 'ls /proc/$PID/fd'],
  ["listing the service's memory", 'cat /proc/$PID/maps'],
  ["reading the service's memory", 'head -c 1 /proc/$PID/mem'],
  ["entering the service's working directory", 'ls /proc/$PID/cwd/'],
  ['ending the service', 'kill $PID'],
  ['opening a debugger in the service', 'kill -USR1 $PID'],
  ["changing the service's priority", 'renice 10 -p $PID'],
  ["changing the service's limits", 'prlimit --pid $PID --nofile=16:16'],
  ["listing the directory of the service's sockets", 'ls $RUN/tonearm'],
  ["listing pi's runtime directory", 'ls $RUN'],
  [
    'sending the progress of an upgrade',
    `node -e 'require("net").connect(process.env.RUN + "/tonearm/upgrade.sock").on("error", (error) => { throw error; })'`,
  ],
  ['reading the state of runs', `cat ${STATE_FOLDER}/upgrade-run.json`],
  ['replacing the state of runs', `cp /dev/null ${STATE_FOLDER}/upgrade-run.json`],
  ['reading the password for the broker', `cat ${PASSWORD_FILE}`],
  ["adding to the service's configuration", `touch ${CONFIG}/conf.d/98-nobody.yaml`],
  ["using pi's bus", 'busctl --address=unix:path=$RUN/bus list'],
  ["using pi's sound server", 'PULSE_SERVER=unix:$RUN/pulse/native PULSE_COOKIE=$TMP/none pactl info'],
  ['restarting the service', 'systemctl --machine=pi@.host --user restart tonearm.service'],
  ['restarting the node without a password', 'systemctl --no-ask-password reboot'],
];

export function otherUserScenarios(node: () => Node): void {
  let pid = '';
  let attackerFolder = '';
  let env: readonly string[] = [];
  const asNobody = (script: string): Promise<Ran> =>
    node().root(...AS_NOBODY, 'env', ...env, 'sh', '-c', script);

  before(async () => {
    await node().shell(`install -o pi -m 600 /dev/stdin ${PASSWORD_FILE} <<'END'\nsecret\nEND`);
    await node().writeFile(ADDED_CONFIG, SETTINGS);
    await node().restartService();
    await node().userShell('tonearm progress begin --total 1');
    await until('the state file exists', () => node().isThere(`${STATE_FOLDER}/upgrade-run.json`));
    pid = await node().property('MainPID');
    attackerFolder = (await node().shell('d=$(mktemp -d); chown nobody $d; echo $d')).trim();
    env = [`PID=${pid}`, `RUN=/run/user/${node().uid}`, `TMP=${attackerFolder}`];
  });
  after(async () => {
    await node().user('tonearm', 'progress', 'end', '--success');
    await node().shell(`rm -rf ${ADDED_CONFIG} ${PASSWORD_FILE} ${STATE_FOLDER} ${attackerFolder}`);
    await node().restartService();
  });

  test('another user may send requests over HTTP', async () => {
    const ask = `node -e 'fetch("http://127.0.0.1:8018/server").then((reply) => console.log(reply.status))'`;
    assert.equal((await asNobody(ask)).stdout, '200\n');
  });

  for (const [attempt, script] of REFUSED) {
    test(`another user is refused: ${attempt}`, async () => {
      const ran = await asNobody(script);
      assert.notEqual(ran.status, 0, ran.stdout);
      assert.match(ran.stderr, /denied|EACCES|not permitted|refused|Access|required|Failed to connect/i);
      // The attempt has not ended or restarted the service.
      assert.equal(await node().property('MainPID'), pid);
    });
  }

  test("the daemon's own user may open the files that other users may not open", async () => {
    const files = `${STATE_FOLDER}/upgrade-run.json ${PASSWORD_FILE} /proc/${pid}/environ`;
    await node().userShell(`cat ${files} > /dev/null; ls $XDG_RUNTIME_DIR/tonearm`);
    const modes = await node().shell(
      `stat -c '%U %a' ${STATE_FOLDER} ${STATE_FOLDER}/upgrade-run.json /run/user/${node().uid}/tonearm/upgrade.sock`,
    );
    assert.equal(modes, 'pi 700\npi 600\npi 600\n');
  });

  test('the daemon listens only on its port and its socket, and has no well-known name on the session bus', async () => {
    // The list includes abstract sockets, which have no mode that could keep other users away.
    const listeningSockets = await node().shell(
      `ss --no-header --listening --processes --tcp --udp --unix | grep 'pid=${pid},' | awk '{print $1, $5}'`,
    );
    // `tcp 127.0.0.1:8018` becomes `tcp 8018`. Lines of UNIX sockets stay as they are.
    const addresses = listeningSockets
      .trim()
      .split('\n')
      .map((line) => line.replace(/^(\S+) .*:(\d+)$/, '$1 $2'));
    const socket = `u_str /run/user/${node().uid}/tonearm/upgrade.sock`;
    assert.deepEqual([...new Set(addresses)].sort(), ['tcp 8018', socket]);
    // A well-known name begins with a letter. Each connection to a bus has a unique name, such as `:1.5`.
    // The daemon's unique name shows that the list has the daemon's connection.
    const names = await node().user('busctl', '--user', 'list', '--no-legend');
    assert.doesNotMatch(names.stdout, new RegExp(`^[a-z]\\S+ +${pid} `, 'm'));
    assert.match(names.stdout, new RegExp(`^:\\S+ +${pid} `, 'm'));
  });
}
