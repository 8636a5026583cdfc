// Tests the stream that a tunnel makes. A tunnel plays the sound of one sound server on another one. Servers
// of each kind send to servers of each kind.

import assert from 'node:assert/strict';
import { hostname, userInfo } from 'node:os';
import { describe, test } from 'node:test';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { startBackend } from './start-backend.js';

for (const receiving of SOUND_SERVERS)
  for (const sending of SOUND_SERVERS) {
    const skip = receiving.skip || sending.skip;
    describe(`a tunnel from ${sending.kind} to ${receiving.kind}`, { skip }, () => {
      test('is a stream with the name HOST (USER) and the host HOST', async (t) => {
        const [receiver, sender] = await Promise.all([
          receiving.start({ sinks: [{ name: 'living' }] }),
          sending.start({ sinks: [] }),
        ]);
        t.after(() => Promise.all([receiver.stop(), sender.stop()]));

        const { recorder } = startBackend(t, receiver.socketPath, { home: receiver.directory });
        await until('the backend is up', () => recorder.isUp);
        const serverArgument = `server=unix:${receiver.socketPath}`;
        await sender.pactl('load-module', 'module-tunnel-sink', serverArgument, 'sink_name=to-node');
        await until('the sender has the sink of the tunnel', async () =>
          (await sender.sinks()).some(({ name }) => name === 'to-node'),
        );
        // A tunnel of PipeWire sends a stream only while something plays to its sink.
        await sender.play({ sink: 'to-node' });

        // Both servers run on this machine.
        const machine = hostname();
        const name = `${machine} (${userInfo().username})`;
        const record = await until('the stream of the tunnel is published', () => recorder.client(name));
        assert.deepEqual([record.host, record.output], [machine, 'living']);
      });
    });
  }
