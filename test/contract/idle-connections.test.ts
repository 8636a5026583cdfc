// aiohttp, the HTTP client of Home Assistant, keeps idle connections for 15 s, whatever an answer says. The
// node announces a shorter time, after which it may close them (docs/http-api.md, "Limits"). This test lets
// aiohttp send POSTs before and after the announced time, over a slow network.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { skipReason } from '../tools/requirements.js';
import { startAudio } from './audio-node.js';

/** The delay in each direction. So an answer arrives at least 300 ms after its request was sent. */
const DELAY_MS = 150;
/** A POST reaches the node within this time, also on a busy machine. */
const WAY_MAX_S = 1;
const AIOHTTP = '/usr/lib/python3/dist-packages/aiohttp/__init__.py';

/**
 * Opens connections with a request for `/server`, leaves each idle for a different time, and then sends one
 * POST on each. The times `soon` end 1 s before the announced time, and are 0.25 s apart. The times `late`
 * begin at the announced time, and are 0.1 s apart. They end before 15 s, when aiohttp itself would close
 * the connection. The program prints the time that the header `Keep-Alive` announces. For each POST it
 * prints the seconds since the first request of the connection, and the outcome: a status or the name of an
 * error.
 */
const CLIENT = `
import aiohttp, asyncio, json, sys

node = sys.argv[1]

async def post_after(seconds):
    loop = asyncio.get_running_loop()
    async with aiohttp.ClientSession() as session:
        begun = loop.time()
        async with session.get(node + '/server') as answer:
            await answer.read()
        await asyncio.sleep(max(0, begun + seconds - loop.time()))
        elapsed = loop.time() - begun
        try:
            async with session.post(node + '/audio/server/volume', json={'delta': -0.01}) as answer:
                return [elapsed, answer.status]
        except aiohttp.ClientError as error:
            return [elapsed, type(error).__name__]

async def main():
    async with aiohttp.ClientSession() as session:
        async with session.get(node + '/server') as answer:
            announced_s = int(answer.headers['Keep-Alive'].removeprefix('timeout='))
    soon = [quarter / 4 for quarter in range(2, (announced_s - 1) * 4 + 1)]
    late = [tenth / 10 for tenth in range(announced_s * 10, 14 * 10)]
    posts = await asyncio.gather(*(post_after(seconds) for seconds in soon + late))
    print(json.dumps({'announcedS': announced_s, 'posts': posts}))

asyncio.run(main())
`;

/** Passes all data of `from`, and its end, on to `to` after the delay. */
function passOnLater(from: Socket, to: Socket): void {
  const later = (act: () => void) => setTimeout(act, DELAY_MS).unref();
  from.on('data', (bytes) => later(() => to.write(bytes)));
  from.on('end', () => later(() => to.end()));
  from.on('close', () => later(() => to.destroy()));
  from.on('error', () => undefined);
}

/** Starts a proxy with the delay in front of the node, and resolves with its port. */
async function startSlowProxy(t: TestContext, port: number): Promise<number> {
  const server = createServer((client) => {
    const node = connect(port, '127.0.0.1');
    passOnLater(client, node);
    passOnLater(node, client);
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface Outcomes {
  /** The time that the node announces, in seconds. */
  readonly announcedS: number;
  readonly posts: readonly (readonly [elapsedS: number, outcome: number | string])[];
}

const REQUIRED = { programs: ['pulseaudio', 'pactl'], packages: { 'python3-aiohttp': AIOHTTP } };

test('a POST within the announced time is carried out, and a later POST that fails is not carried out', {
  skip: skipReason(REQUIRED),
}, async (t) => {
  const { sound, daemon } = await startAudio(t);
  await sound.pactl('set-sink-volume', 'living', '100%');
  const port = await startSlowProxy(t, daemon.port);
  const { stdout } = await promisify(execFile)('/usr/bin/python3', [
    '-c',
    CLIENT,
    `http://127.0.0.1:${port}`,
  ]);
  const { announcedS, posts }: Outcomes = JSON.parse(stdout);
  // `elapsedS` begins with the first request. The node's idle time begins later, with its answer. So these
  // POSTs arrive within the announced time.
  const soon = posts.filter(([elapsedS]) => elapsedS <= announcedS - WAY_MAX_S);
  assert.ok(soon.length > 0);
  assert.deepEqual(
    soon.filter(([, outcome]) => outcome !== 202),
    [],
    `${announcedS} s`,
  );
  const failures = posts.map(([, outcome]) => outcome).filter((outcome) => outcome !== 202);
  const isClosedConnection = (outcome: number | string): boolean =>
    outcome === 'ServerDisconnectedError' || outcome === 'ClientOSError';
  assert.deepEqual(
    failures.filter((outcome) => !isClosedConnection(outcome)),
    [],
  );
  const { volume } = await daemon.read<{ readonly volume: number }>('/audio/server');
  const successes = posts.length - failures.length;
  // Each POST that is carried out lowers the volume by 1 %.
  assert.equal(Math.round((1 - volume) * 100), successes);
});
