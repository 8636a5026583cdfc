// The nodes of fleet.ts, in a process of their own: the real MQTT bridge of each, on invented records.
// Arguments: the broker's address, the number of nodes. On the order `move` a tenth of the nodes change a
// volume ten times a second, for the given milliseconds. Each change has the time at which it was sent. The
// order `up` is answered with the number of bridges that are up.

import { setTimeout as pause } from 'node:timers/promises';
import type { Change } from '../../src/protocol/actor/messages.js';
import { bareNode, health, output, put, service } from '../../test/broker/simulated-node.js';
import { obey, ownCpu } from './fork.js';

const MOVES_MS = 100;

const [url = '', count = '0'] = process.argv.slice(2);

const NAMES = ['alsa', 'kitchen', 'garden', 'cellar'];
const RECORDS: readonly Change[] = [
  put('served', '', { port: 8018, addresses: ['127.0.0.1'] }),
  health('audio', 'up'),
  health('systemd', 'up'),
  health('power', 'up'),
  health('mqtt', 'up'),
  put('audio.server', '', { kind: 'pulseaudio', default_sink: 'alsa', volume: 0.42, muted: false }),
  ...NAMES.map((name, i) => put('audio.outputs', `${i}`, output(i, name))),
  ...Array.from({ length: 6 }, (_, i) =>
    put('systemd.services', `user/unit${i}.service`, service('user', `unit${i}.service`)),
  ),
];

const nodes = Array.from({ length: Number(count) }, (_, i) => {
  const identifier = i.toString(16).padStart(16, '0');
  const node = bareNode({ url, identifier, settings: { topic: `tonearm/node${i}` } });
  node.publishRecords(...RECORDS);
  return node;
});

async function move(forMs: number): Promise<number> {
  const movers = nodes.filter((_, i) => i % 10 === 0);
  let rounds = 0;
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    rounds += 1;
    for (const node of movers) {
      const at = String(performance.timeOrigin + performance.now());
      node.publishRecords(
        put('audio.outputs', '0', output(0, 'alsa', { volume: (rounds % 100) / 100, props: { at } })),
      );
    }
    await pause(MOVES_MS);
  }
  return rounds * movers.length;
}

obey(0, {
  move,
  cpu: ownCpu,
  up: () => nodes.filter(({ state }) => state === 'up').length,
});
