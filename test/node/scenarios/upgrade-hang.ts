// A network disk that does not answer, for real: a FUSE file system whose server never answers. The kernel lets every process that
// accesses it wait until the server is gone.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../until.js';
import { property } from './commands.js';
import { FULL, RESULT, type UpgradeDaemon } from './upgrade-daemon.js';

const DISK = '/home/pi/disk';

const content = (version: string) =>
  `{"current":"1","latest":${JSON.stringify(version)},"upgrade_available":true}`;

export function hangScenarios(daemon: UpgradeDaemon): void {
  /** Makes accesses below `DISK` hang; the returned function ends that, and leaves an empty directory there. */
  const hang = async (t: TestContext): Promise<() => Promise<void>> => {
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
    const server = daemon.node.spawnRoot(
      'sh',
      '-euc',
      `mkdir -p ${DISK}; chown pi: ${DISK}; test -e /dev/fuse || mknod /dev/fuse c 10 229; exec 3<>/dev/fuse
      mount -i -t fuse -o ${options} hung ${DISK}; echo hangs; exec cat`,
    );
    let said = '';
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const ended = new Promise((resolve) => server.once('close', resolve));
    let over: Promise<void> | undefined;
    const end = () => {
      over ??= (async () => {
        server.stdin.end();
        await ended;
        // Whoever hung on it is let go one after the other.
        const umounted = async () => (await daemon.node.root('umount', DISK)).status === 0;
        await until('the disk is unmounted', umounted);
      })();
      return over;
    };
    t.after(async () => {
      await end();
      await daemon.shell(`rm -rf ${DISK} ~/good`);
    });
    await until('the disk hangs', () => said === 'hangs\n');
    return end;
  };

  const healthSays = (what: RegExp) =>
    until(`/health has ${what}`, async () => what.test((await daemon.ask('GET', '/health')).text));

  test('a daemon whose files hang from the start is up all the same, and upgrades', async (t) => {
    await daemon.unit('up.service', 'tonearm progress end --success');
    const end = await hang(t);
    await daemon.begin(FULL.replace(RESULT, `${DISK}/result.json, stateFile: ${DISK}/run.json`));
    await healthSays(
      /"upgrade":\{"state":"up".*result file .* cannot be read within 4 s; state file|state file .* is ignored: it cannot be read within 4 s; result file/,
    );
    assert.deepEqual((await daemon.answers()).run, { state: 'idle' });
    const heard = await daemon.listen();
    await daemon.start();
    await daemon.runs('idle', 'systemd');
    await until('the progress line is sent', () => heard.some(({ type }) => type === 'upgrade.progress'));
    await end();
    await daemon.shell(`mkdir ~/good; echo '${content('v1')}' > ~/good/result.json; mv -T ~/good ${DISK}`);
    await daemon.sees('the file', ({ latest }) => latest === 'v1');
    await daemon.start();
    await daemon.runs('idle', 'systemd');
    await healthSays(/"upgrade":\{"state":"up","since":"[^"]*","restarts":0\}/);
    assert.match(await daemon.shell(`cat ${DISK}/run.json`), /"state":"idle"/);
  });

  test('a daemon whose files hang ends in time', async (t) => {
    const end = await hang(t);
    await daemon.begin(FULL.replace(RESULT, `${DISK}/result.json, stateFile: ${DISK}/run.json`));
    await daemon.systemctl('stop', 'tonearm.service');
    // By itself, if need be with SIGKILL, as a thread that hangs in the kernel can end in no other way; not by systemd's patience.
    const result = await property(daemon.node, 'Result');
    assert.match(result, /^(success|signal)$/m);
    await end();
  });
}
