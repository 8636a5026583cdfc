// Computers play sound on a node. Each computer is a booted machine with a network cable to the node. It runs
// the commands that the node lists for computers (docs/guides/from-a-computer.md). tonearm-setup opens the
// node's sound server, and closes it again.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import type { ClientRecord, NetworkRecord } from '../../src/protocol/actor/schemas.js';
import { send } from '../tools/http.js';
import { until } from '../until.js';
import { BootedNode, CONFIG, type Node, whyNoNode } from './node.js';

type SoundServer = 'pulseaudio' | 'pipewire';
const SOUND_SERVERS: readonly SoundServer[] = ['pulseaudio', 'pipewire'];

/** The unit of each sound server. */
const SERVICE = { pulseaudio: 'pulseaudio.service', pipewire: 'pipewire-pulse.service' } as const;
/** The file by which tonearm-setup opens each sound server. */
const OPENING_FILE = {
  pulseaudio: '/home/pi/.config/pulse/default.pa',
  pipewire: '/home/pi/.config/pipewire/pipewire-pulse.conf.d/50-tonearm.conf',
} as const;

/**
 * Prints the checksums of pi's configuration files, and then lists the listening sockets. The script leaves
 * out PulseAudio's own files, such as `pulse/cookie`, but not `pulse/default.pa`, which the set-up writes.
 */
const TRACES = `find /home/pi/.config ${CONFIG} -type f | grep -v "/pulse/[^d]" | sort | xargs sha256sum; ss -Hltn`;
/** The arguments with which the package is built. */
const PACKAGE = ['--compress', 'none', '--version', '0.1.0-1'];
/** The name of a computer's output. This output plays at the node's address 10.9.1.1. */
const TUNNEL_SINK = 'tonearm-node_10-9-1-1';
/** Matches a line that tonearm-setup prints. A computer runs this line to get the output `TUNNEL_SINK`. */
const TUNNEL_LINE = new RegExp(
  `pactl load-module module-tunnel-sink server=tcp:10\\.9\\.1\\.1:4713 (cookie=\\S+/${TUNNEL_SINK}\\.cookie )?sink_name=${TUNNEL_SINK} `,
);
const PLAYER = 'pacat --client-name=Radio --stream-name=News /dev/zero';

/** A machine beside the node, at 10.9.NUMBER.2. */
interface Computer {
  readonly kind: SoundServer;
  readonly booted: BootedNode;
  readonly name: string;
  readonly number: number;
}

const COMPUTERS: readonly Computer[] = SOUND_SERVERS.map((kind, index) => {
  return { kind, booted: new BootedNode(kind), name: `${kind}-computer`, number: index + 1 };
});

async function plugIn(node: Node, { booted, name, number }: Computer): Promise<void> {
  const computer = booted.node();
  await node.connect(`lan${number}`, computer, 'eth0');
  await node.shell(`ip addr add 10.9.${number}.1/24 dev lan${number}; ip link set lan${number} up`);
  // Both computers run commands with the node's address 10.9.1.1. The second computer needs a route to this
  // address.
  await computer.shell(`hostname ${name}
    ip addr add 10.9.${number}.2/24 dev eth0; ip link set eth0 up; ip route add 10.9.0.0/16 via 10.9.${number}.1`);
}

async function clientNamed(node: Node, name: string): Promise<ClientRecord> {
  return until(`${name} plays on the node`, async () => {
    const clients = await node.read<readonly ClientRecord[]>('/audio/clients');
    return clients.find((client) => client.name === name);
  });
}

/**
 * Sends a POST that changes a client. `property` is the last part of the path. Resolves with the status of
 * the answer.
 */
async function changeClient(
  node: Node,
  { id }: ClientRecord,
  property: string,
  body: object,
): Promise<number> {
  const answer = await send(await node.door(), {
    method: 'POST',
    path: `/audio/clients/${id}/${property}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.status;
}

/**
 * Sets the volume of a client, and repeats this until the client has the volume. PipeWire restores the
 * stored volume of a client a moment after it has announced the client, and may overwrite the new volume.
 */
async function setVolume(node: Node, name: string): Promise<void> {
  await until(`${name} has the volume 0.4`, async () => {
    assert.equal(await changeClient(node, await clientNamed(node, name), 'volume', { volume: 0.4 }), 202);
    return (await clientNamed(node, name)).volume === 0.4;
  });
}

for (const kind of SOUND_SERVERS) {
  describe(`a node with ${kind}`, { skip: whyNoNode('ip', 'pacat', 'curl') }, () => {
    const booted = new BootedNode(kind);
    const { node } = booted;
    const linesFor = async (
      computerKind: SoundServer,
      use: 'program' | 'output',
    ): Promise<readonly string[]> => {
      const { commands } = await node().read<NetworkRecord>('/audio/network');
      return commands.find((command) => command.for === computerKind && command.use === use)?.lines ?? [];
    };
    /** Adds the outputs `living`, which is the default, and `garden`. */
    const addOutputs = () =>
      node().userShell(`pactl load-module module-null-sink sink_name=living
        pactl load-module module-null-sink sink_name=garden; pactl set-default-sink living`);

    before(async () => {
      await Promise.all([booted.boot(PACKAGE), ...COMPUTERS.map((computer) => computer.booted.boot())]);
      for (const computer of COMPUTERS) await plugIn(node(), computer);
      await node().installPlain();
      await node().setUpPi('--bind', 'lo', '--bind', 'lan1', '--bind', 'lan2');
      await until('the sound server is connected', () => node().read('/audio/server'));
    });
    after(async () => {
      for (const machine of [booted, ...COMPUTERS.map((computer) => computer.booted)]) await machine.close();
    });

    test('a dry run of --network-audio prints the addresses of the sound server, and --network-audio is refused if --bind has only lo', async () => {
      const tracesBefore = await node().shell(TRACES);
      const output = await node().setUpPi('--network-audio', '--dry-run');
      assert.match(output, new RegExp(`would write ${OPENING_FILE[kind]}`));
      const withIpv4 = await node().setUpPi('--bind', '0.0.0.0', '--network-audio', '--dry-run');
      assert.match(withIpv4, /computers reach it at: 10\.9\.1\.1 10\.9\.2\.1;/);
      const withMapped = await node().setUpPi('--bind', '::ffff:10.9.1.1', '--network-audio', '--dry-run');
      assert.match(withMapped, /computers reach it at: 10\.9\.1\.1;/);
      // With `::` the sound server listens everywhere, so the set-up prints no addresses.
      const withAll = await node().setUpPi('--bind', '::', '--network-audio', '--dry-run');
      assert.doesNotMatch(withAll, /computers reach it at/);
      for (const printed of [withIpv4, withAll]) assert.match(printed, TUNNEL_LINE);
      // The status 64 means wrong usage.
      const refused = await node().setUp('--user', 'pi', '--bind', 'lo', '--network-audio');
      assert.deepEqual([refused.status, /no other machine can reach/.test(refused.stderr)], [64, true]);
      assert.equal(await node().shell(TRACES), tracesBefore);
    });

    test('the set-up opens the sound server at the addresses of --bind, and prints the commands for computers', async () => {
      // This set-up has no --bind, so the addresses of the set-up in `before` stay valid.
      const output = await node().setUpPi('--network-audio');
      assert.match(output, TUNNEL_LINE);
      assert.equal(/PipeWire has no lock/.test(output), kind === 'pipewire');
      await until('the sound server listens at the addresses', async () => {
        const { addresses } = await node().read<NetworkRecord>('/audio/network');
        return addresses.join() === '10.9.1.1,10.9.2.1';
      });
      const listening = await node().shell('ss -Hltn sport = :4713');
      assert.deepEqual(listening.match(/\S+(?=:4713)/g)?.toSorted(), ['10.9.1.1', '10.9.2.1']);
      const waitingFile = `/home/pi/.config/systemd/user/${SERVICE[kind]}.d/50-tonearm.conf`;
      const waitingLine = await node().shell(`grep ^ExecStartPre= ${waitingFile}`);
      // One line waits for both addresses, 30 s at most.
      assert.match(waitingLine, /^ExecStartPre=.* 30 .* 10\.9\.1\.1 10\.9\.2\.1; .*\n$/);
      const { port, cookie } = await node().read<NetworkRecord>('/audio/network');
      assert.deepEqual([port, cookie], [4713, kind === 'pulseaudio' ? 'required' : 'unused']);
      // The computers of the next tests play to these outputs.
      await addOutputs();
    });

    for (const { kind: computerKind, booted: bootedComputer, name } of COMPUTERS) {
      const computer = bootedComputer.node;

      test(`a program on a computer with ${computerKind} plays on the node`, async () => {
        const lines = await linesFor(computerKind, 'program');
        const script = lines.join('\n').replace('PROGRAM', `exec ${PLAYER}`);
        const player = computer().spawnUser('sh', '-euc', `export HOME=/home/pi; ${script}`);
        const { app, host } = await clientNamed(node(), 'News');
        assert.deepEqual([app, host], ['Radio', name]);
        await setVolume(node(), 'News');
        const moved = await changeClient(node(), await clientNamed(node(), 'News'), 'output', {
          output: 'garden',
        });
        assert.equal(moved, 202);
        await until(
          'News plays in the garden',
          async () => (await clientNamed(node(), 'News')).output === 'garden',
        );
        const ended = once(player, 'close');
        // `kill` ends only nsenter, by which this machine has started the program. `pkill` ends the program.
        player.kill();
        await computer().root('pkill', '--exact', 'pacat');
        await ended;
      });

      test(`the node is an output of a computer with ${computerKind}, also after a restart of the node's sound server, unless the computer has PipeWire 0.3`, async () => {
        const lines = await linesFor(computerKind, 'output');
        await computer().userShell(lines.join('\n'));
        const script = `export HOME=/home/pi; exec pacat --device=${TUNNEL_SINK} /dev/zero`;
        const player = computer().spawnUser('sh', '-euc', script);
        const tunnel = `${name} (pi)`;
        const client = await clientNamed(node(), tunnel);
        assert.equal(client.host, name);
        // PipeWire announces a new client first, and the client's output a moment later.
        await until(
          'the tunnel plays in the living room',
          async () => (await clientNamed(node(), tunnel)).output === 'living',
        );
        await setVolume(node(), tunnel);
        // The sound server refuses to move the stream of a tunnel, because of the stream's flag DONT_MOVE.
        assert.equal(await changeClient(node(), client, 'output', { output: 'garden' }), 502);
        await node().systemctl('restart', SERVICE[kind]);
        await addOutputs();
        const serverInfo = (await computer().user('pactl', 'info')).stdout;
        // PipeWire 0.3 removes the tunnel for good.
        if (/PipeWire 0\./.test(serverInfo)) {
          const sinks = async () => (await computer().user('pactl', 'list', 'short', 'sinks')).stdout;
          await until(
            'the computer has no such output any more',
            async () => !(await sinks()).includes(TUNNEL_SINK),
          );
        } else await clientNamed(node(), tunnel);
        await until('the node is connected', () => node().read('/audio/server'));
        await computer().root('pkill', '--exact', 'pacat');
        player.kill();
        await computer().user('pactl', 'unload-module', 'module-tunnel-sink');
      });

      // The cookie is unused with PipeWire.
      if (kind === 'pulseaudio')
        test(`the node refuses a wrong cookie from a computer with ${computerKind}, and only the computer's user may read the cookie's file`, async () => {
          // The test of a program on this computer has run these lines, which write the cookie's file.
          const [file] = (await linesFor(computerKind, 'program')).join(' ').match(/~\S+\.cookie/) ?? [];
          assert.equal(await computer().userShell(`stat -c %a ${file}`), '600\n');
          const infoWith = (cookie: string) =>
            computer().user('env', `PULSE_COOKIE=${cookie}`, 'PULSE_SERVER=tcp:10.9.1.1', 'pactl', 'info');
          await computer().userShell('head -c 256 /dev/zero > /tmp/wrong');
          const { status, stderr } = await infoWith('/tmp/wrong');
          assert.deepEqual([status, /Access denied/.test(stderr)], [1, true], stderr);
        });
    }

    // With PulseAudio the node would need one more package, `pulseaudio-module-zeroconf`.
    if (kind === 'pipewire')
      test('a computer that searches for sound servers finds the node by Avahi', async () => {
        const withPipewire = COMPUTERS.find((computer) => computer.kind === 'pipewire');
        const computer = withPipewire?.booted.node() ?? assert.fail('no computer has PipeWire');
        for (const machine of [node(), computer]) await machine.shell('systemctl start avahi-daemon.service');
        await node().systemctl('restart', SERVICE[kind]);
        await computer.userShell('pactl load-module module-zeroconf-discover');
        await until('the computer has the output of the node', async () => {
          const { stdout } = await computer.user('pactl', 'list', 'short', 'sinks');
          return /tunnel.*tonearm-node/.test(stdout);
        });
        for (const machine of [node(), computer])
          await machine.shell('systemctl stop avahi-daemon.socket avahi-daemon.service');
      });

    test('a set-up without --network-audio closes the sound server again, and --uninstall closes it, too', async () => {
      const output = await node().setUpPi();
      assert.match(output, new RegExp(`remove ${OPENING_FILE[kind]}`));
      const isClosed = async () => (await node().shell('ss -Hltn sport = :4713')) === '';
      await until('nothing listens on the port', isClosed);
      const { enabled } = await until('the sound server is connected again', () =>
        node().read<NetworkRecord>('/audio/network'),
      );
      assert.equal(enabled, false);
      assert.equal((await node().ask('GET', '/audio/cookie')).status, 404);
      await node().setUpPi('--network-audio');
      await until('the port is open again', async () => !(await isClosed()));
      const { status, stderr } = await node().setUp('--uninstall', '--user', 'pi');
      assert.equal(status, 0, stderr);
      await until('nothing listens on the port', isClosed);
      assert.equal(await node().isThere(OPENING_FILE[kind]), false);
      assert.equal(await node().isThere(`/home/pi/.config/systemd/user/${SERVICE[kind]}.d`), false);
    });
  });
}
