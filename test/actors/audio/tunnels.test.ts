// Tests the streams that other sound servers send: tunnels from each kind of server to each kind.

import assert from 'node:assert/strict';
import { hostname, userInfo } from 'node:os';
import { describe, test } from 'node:test';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { startBackend } from './backed.js';

for (const receiving of SOUND_SERVERS)
  for (const sending of SOUND_SERVERS) {
    const skip = receiving.skip || sending.skip;
    describe(`a tunnel of ${sending.kind} to ${receiving.kind}`, { skip }, () => {
      test('is a stream with the name HOST (USER) and the host HOST', async (t) => {
        const [nodeSound, computerSound] = await Promise.all([
          receiving.start({ sinks: [{ name: 'living' }] }),
          sending.start({ sinks: [] }),
        ]);
        t.after(() => Promise.all([nodeSound.stop(), computerSound.stop()]));

        const { recorder } = startBackend(t, nodeSound.socketPath, { home: nodeSound.directory });
        await until('the backend is up', () => recorder.isUp);
        const server = `server=unix:${nodeSound.socketPath}`;
        await computerSound.pactl('load-module', 'module-tunnel-sink', server, 'sink_name=to-node');
        await until('the computer has the sink of the tunnel', async () =>
          (await computerSound.sinks()).some(({ name }) => name === 'to-node'),
        );
        // A tunnel of PipeWire sends a stream only while something plays to its sink.
        await computerSound.play({ sink: 'to-node' });

        const machine = hostname();
        const name = `${machine} (${userInfo().username})`;
        const record = await until('the node has the stream of the tunnel', () => recorder.client(name));
        assert.deepEqual([record.host, record.output], [machine, 'living']);
      });
    });
  }
