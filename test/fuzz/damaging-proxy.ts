// Leads to a real server, of sound or of MQTT, and damages what that says while it lies: bytes changed, lost, doubled, cut, or held back.

import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import type { SeededRandom } from '../seeded-random.js';

/** A chunk that is damaged, of all that come while it lies. */
const DAMAGED = 0.5;

export interface DamagingProxy {
  /** Chunks that were damaged so far. */
  readonly damaged: () => number;
  lie(): void;
  /** Ends all connections, and passes on everything from now on. */
  becomeHonest(): void;
  close(): Promise<void>;
}

function damage(chunk: Buffer, random: SeededRandom): Buffer {
  const wrong = Buffer.from(chunk);
  const at = random.below(chunk.length);
  const ways = [
    () => wrong.fill(random.below(256), at, at + 1),
    () => wrong.fill(random.pick([0, 0xff, 0x7f]), at, Math.min(at + 4, wrong.length)),
    () => wrong.subarray(0, at),
    () => wrong.subarray(at),
    () => Buffer.concat([wrong, wrong.subarray(at)]),
    () => Buffer.concat([wrong.subarray(0, at), Buffer.from([random.below(256)]), wrong.subarray(at)]),
    () => Buffer.from(Array.from({ length: 1 + random.below(64) }, () => random.below(256))),
    () => Buffer.alloc(0),
  ];
  return random.pick(ways)();
}

/** Listens at `at`, a path or `{port: 0}`, and leads to `target`. */
export async function damagingProxy(
  random: SeededRandom,
  at: string | { readonly port: number; readonly host: string },
  target: NetConnectOpts,
): Promise<DamagingProxy> {
  const sockets = new Set<Socket>();
  let isLying = false;
  let damaged = 0;
  const server = createServer((near) => {
    const far = connect(target);
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => {
        sockets.delete(end);
        other.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (chunk) => {
      const isDamaged = isLying && random.chance(DAMAGED);
      if (isDamaged) damaged += 1;
      near.write(isDamaged ? damage(chunk, random) : chunk);
    });
  });
  server.listen(at);
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    damaged: () => damaged,
    lie: () => {
      isLying = true;
    },
    becomeHonest: () => {
      isLying = false;
      cut();
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
