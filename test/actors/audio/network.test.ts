// Tests `GET /audio/network` on real sound servers: the open port, its addresses, and the commands for other
// computers. This file runs in a network of its own.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { NetworkRecord } from '../../../src/protocol/actor/schemas.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { inOwnNetwork, ip } from '../../tools/own-network.js';
import { until } from '../../until.js';
import { DEADLINE, startBackend } from './start-backend.js';

const HOUSE_ADDRESS = '10.9.0.1';

async function isReached(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  const hasConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return hasConnected;
}

inOwnNetwork(import.meta.url, () => {
  ip('link', 'add', 'house0', 'type', 'bridge');
  ip('addr', 'add', `${HOUSE_ADDRESS}/24`, 'dev', 'house0');
  ip('link', 'set', 'house0', 'up');

  for (const { kind, skip, start } of SOUND_SERVERS) {
    describe(`with ${kind}`, { skip, concurrency: false }, () => {
      async function startOnNetwork(t: TestContext, options: Parameters<typeof start>[0] = {}) {
        const sound = await start(options);
        t.after(() => sound.stop());
        const { backend, recorder } = startBackend(t, sound.socketPath, { home: sound.directory });
        await until('the backend is up', () => recorder.isUp);
        /** The answer to `GET /audio/network`. */
        const network = async (): Promise<NetworkRecord> => {
          const answer = await backend.handle({ do: 'network' });
          assert.ok(answer.ok, JSON.stringify(answer));
          return JSON.parse(answer.value.text ?? '');
        };
        return { sound, network };
      }

      const openPort = (sound: SoundServer, ...args: readonly string[]) =>
        sound.pactl('load-module', 'module-native-protocol-tcp', ...args);

      test('no port is open at first, and a port on loopback does not count', DEADLINE, async (t) => {
        const { sound, network } = await startOnNetwork(t);
        assert.deepEqual(await network(), { enabled: false, addresses: [], commands: [] });

        await openPort(sound, 'listen=127.0.0.1', 'port=4800');
        assert.equal((await network()).enabled, false);
      });

      test('the answer names an open port and its addresses until that port closes', DEADLINE, async (t) => {
        const { sound, network } = await startOnNetwork(t);
        const moduleIndex = await openPort(sound, 'port=4801');

        const { enabled, addresses, port, cookie, commands } = await network();
        assert.deepEqual([enabled, addresses, port], [true, [HOUSE_ADDRESS], 4801]);
        assert.equal(cookie, kind === 'pulseaudio' ? 'required' : 'unused');
        // The other computer may have PulseAudio or PipeWire. There are two commands for each of these: one
        // for a program, and one for an output (computer-lines.ts).
        assert.equal(commands.length, 4);
        for (const { lines } of commands) assert.match(lines.at(-1) ?? '', /tcp:10\.9\.0\.1:4801 /);

        await sound.pactl('unload-module', moduleIndex.trim());
        assert.equal((await network()).enabled, false);
      });

      test('IPv4 does not reach a port at `::`, so the answer has no IPv4 address', DEADLINE, async (t) => {
        const { sound, network } = await startOnNetwork(t);
        // PipeWire takes an address of IPv6 only in brackets.
        const everyAddress = kind === 'pulseaudio' ? '::' : '[::]';
        await openPort(sound, `listen=${everyAddress}`, 'port=4803');
        assert.equal(await isReached(HOUSE_ADDRESS, 4803), false);

        // This network has only loopback and link-local addresses of IPv6. The answer leaves them out.
        const { enabled, addresses, port, commands } = await network();
        assert.deepEqual([enabled, addresses, port, commands], [true, [], 4803, []]);
      });

      // PipeWire tells no client about a port that PipeWire's configuration opens. The daemon finds the port
      // in the kernel's tables (listening-sockets.ts).
      if (kind === 'pipewire')
        test('the answer names a port that the configuration of PipeWire opens', DEADLINE, async (t) => {
          const { network } = await startOnNetwork(t, { opened: `tcp:${HOUSE_ADDRESS}:4802` });
          const { enabled, addresses, port, cookie } = await network();
          assert.deepEqual([enabled, addresses, port, cookie], [true, [HOUSE_ADDRESS], 4802, 'unused']);
        });
    });
  }
});
