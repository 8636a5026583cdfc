// Requests, streams, dead threads, and lost connections to sound server, broker and BlueZ leave nothing
// behind, although they come again and again. The real parts run in the process of the test, so that their
// heap and timers can be measured. A peer that must end a thousand times is scripted.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { BluetoothBackend } from '../../src/actors/bluetooth/backend.js';
import { type Clock, systemClock } from '../../src/host/clock.js';
import type { BluetoothCommand } from '../../src/protocol/actor/commands.js';
import { startOnScriptedServer } from '../actors/audio/start-backend.js';
import { BLUETOOTH_SETTINGS } from '../actors/bluetooth/backend-under-test.js';
import { PHONE, pathOf, ScriptedBluez } from '../actors/bluetooth/scripted-bluez.js';
import { privateBus } from '../actors/bus/private-bus.js';
import { Recorder } from '../actors/recorder.js';
import { startFloodingBroker } from '../broker/flooding-broker.js';
import { hurrying, simulatedNode } from '../broker/simulated-node.js';
import { startChildren } from '../crash/harness.js';
import { GatewayUnderTest, SETTINGS } from '../gateway/gateway-under-test.js';
import { RawConnection } from '../gateway/raw-connection.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { repeating, staysFlat } from './flat.js';

const REQUESTS_PER_CONNECTION = 100;
const STREAMS_AT_ONCE = 20;
const SHORT_PAUSE_MS = 250;
const DEADLINE_MS = 60_000;
const HOST = 'Host: 127.0.0.1\r\n';
/**
 * Requests for each kind of answer, such as records (`/audio`), a computed document (`/health`), an answer
 * of a backend (`/power/`), and a refusal (`/nowhere`).
 */
const REQUESTS = [
  'GET /audio',
  'GET /health',
  'GET /server',
  'GET /power/',
  'GET /nowhere',
  'POST /audio/server/mute',
  'POST /services/user/mpd.service/start',
  'PUT /audio',
].map((line) => {
  const contentLength = line.startsWith('GET') ? '' : 'Content-Length: 0\r\n';
  return `${line} HTTP/1.1\r\n${HOST}${contentLength}\r\n`;
});

describe('a gateway', () => {
  let underTest: GatewayUnderTest;
  before(() => {
    const api = { ...SETTINGS.api, sse: { enabled: true, maxClients: 256 } };
    underTest = GatewayUnderTest.up({ ...SETTINGS, api });
    // `GET /power/` returns this text.
    underTest.backends.answer = { ok: true, value: { text: '{"reboot":true,"power_off":true}' } };
  });
  after(() => underTest.close());

  /** Sends this number of requests on one connection, each after the answer to the previous request. */
  async function sendRequests(count: number): Promise<void> {
    let answers = 0;
    await new Promise<void>((resolve, reject) => {
      const socket = connect(underTest.port, '127.0.0.1');
      const next = (): void => {
        if (answers === count) socket.destroy();
        else socket.write(REQUESTS[answers % REQUESTS.length] ?? '');
      };
      socket.on('connect', next);
      socket.on('data', () => {
        answers += 1;
        next();
      });
      socket.on('error', reject);
      socket.on('close', () => resolve());
    });
    if (answers !== count) throw new Error(`${answers} of ${count} requests were answered`);
    underTest.backends.requests.length = 0;
  }

  test('requests to a gateway leave nothing behind', (t) =>
    staysFlat(t, {
      full: 100_000,
      part: 12_000,
      round: async (times) => {
        for (let left = times; left > 0; left -= REQUESTS_PER_CONNECTION)
          await sendRequests(Math.min(REQUESTS_PER_CONNECTION, left));
      },
    }));

  const publishChange = (): void => {
    const json = `{"id":7,"name":"x","volume":${Math.random()}}`;
    underTest.gateway.listener.changes([{ kind: 'put', collection: 'audio.clients', key: '7', json }]);
  };

  async function listenOnce(): Promise<void> {
    const stream = new RawConnection(underTest.port).write(`GET /events?snapshot=1 HTTP/1.1\r\n${HOST}\r\n`);
    // The snapshot contains this event. The change then goes to all streams, while this one ends.
    await stream.until((text) => text.includes('audio.updated'));
    publishChange();
    stream.destroy();
  }

  test('streams of a gateway leave nothing behind', (t) =>
    staysFlat(t, {
      full: 10_000,
      part: 1200,
      round: async (times) => {
        for (let left = times; left > 0; left -= STREAMS_AT_ONCE)
          await Promise.all(Array.from({ length: Math.min(STREAMS_AT_ONCE, left) }, listenOnce));
        await until('no stream is open', async () => {
          const { streams } = (await underTest.json('/health')) as { streams: { open: number } };
          return streams.open === 0;
        });
      },
    }));
});

test('a sound server that is lost again and again leaves nothing behind', async (t) => {
  // With `stableMs: 0` every connection counts as a stable one, so that the backend reconnects at once.
  const { server, recorder } = await startOnScriptedServer(t, undefined, { timing: { stableMs: 0 } });
  const lose = async (): Promise<void> => {
    const connections = server.connections();
    server.responder.hangUp();
    await untilWithoutPause(() => recorder.isUp && server.connections() > connections);
  };
  await staysFlat(t, {
    full: 1000,
    part: 240,
    round: repeating(lose, recorder.published, recorder.logs, server.received),
  });
});

test('a broker that is lost again and again leaves nothing behind', async (t) => {
  // This broker would send its message after a call of `flood`. This test never calls `flood`.
  const broker = await startFloodingBroker([['x', 'x']]);
  // The monotonic time of this clock is a million times faster. So every connection has lasted long, and no
  // rate limit delays anything. The probe (actors/mqtt/probe.ts) waits 5 s for its own question, which this
  // broker never sends back. `hurrying` shortens this wait to 50 ms.
  const clock: Clock = {
    ...hurrying(5_000),
    monotonic: () => systemClock.monotonic() * 1e6,
  };
  const node = simulatedNode(t, { url: broker.url, clock });
  t.after(() => broker.stop());
  await node.up();
  const lose = async (): Promise<void> => {
    // Without a status `node.state` is `connecting`, until the bridge has connected again.
    node.statuses.length = 0;
    broker.hangUp();
    await untilWithoutPause(() => node.state === 'up');
  };
  await staysFlat(t, { full: 1000, part: 96, round: repeating(lose, node.requests, node.logged) });
});

test('a phone that is paired and forgotten, and a BlueZ that dies, leave nothing behind', {
  skip: skipReason({ programs: ['dbus-daemon'] }),
}, async (t) => {
  const bus = await privateBus(t);
  const bluez = new ScriptedBluez(bus.address);
  await bluez.start();
  t.after(() => bluez.die());
  const recorder = new Recorder();
  // Short pauses end after 1 ms, while deadlines keep their length.
  const clock: Clock = {
    ...systemClock,
    after: (ms, callback) => systemClock.after(ms <= SHORT_PAUSE_MS ? 1 : ms, callback),
  };
  const paths = () => ({ ok: true, value: [bus.path] }) as const;
  const backend = new BluetoothBackend(BLUETOOTH_SETTINGS, recorder, clock, { paths });
  t.after(() => backend.stop());
  await until('the backend is up', () => recorder.state === 'up');
  const carryOut = async (command: BluetoothCommand): Promise<void> => {
    const answer = await backend.handle(command);
    assert.ok(answer.ok, JSON.stringify([command, answer]));
  };
  const pairAndForget = async (): Promise<void> => {
    await carryOut({ do: 'scan' });
    bluez.addDevice(PHONE);
    await untilWithoutPause(() => recorder.newest('bluetooth.devices', PHONE) !== undefined);
    await carryOut({ do: 'connect', address: PHONE });
    await carryOut({ do: 'scan/stop' });
    await carryOut({ do: 'pairing_mode' });
    await carryOut({ do: 'pairing_mode/stop' });
    await carryOut({ do: 'disconnect', address: PHONE });
    await carryOut({ do: 'forget', address: PHONE });
    assert.ok(!bluez.objects.has(pathOf(PHONE)));
    bluez.die();
    await untilWithoutPause(() => recorder.state !== 'up');
    await bluez.start();
    await untilWithoutPause(() => recorder.state === 'up');
  };
  await staysFlat(t, {
    full: 1000,
    part: 96,
    round: repeating(pairAndForget, recorder.published, recorder.logs, bluez.calls),
  });
});

test('a thread that dies again and again leaves nothing behind', async (t) => {
  // Many deaths fall within `windowMs`. In this time the supervisor allows as many restarts as `waitsMs` has
  // items.
  const restarts = { waitsMs: Array.from({ length: 2000 }, () => 0), windowMs: 60_000, pauseMs: 60_000 };
  const { recorder, ask } = startChildren(t, { audio: 'obedient', power: 'obedient' }, { restarts });
  await recorder.untilState('audio', 'up');
  let restartCount = 0;
  const die = async (): Promise<void> => {
    restartCount += 1;
    await ask('audio', 'throw');
    await recorder.untilState('audio', 'up', restartCount);
    // `untilState` needs the newest health.
    recorder.healths.splice(0, recorder.healths.length - 1);
    recorder.sequence.length = 0;
    recorder.lines.length = 0;
  };
  await staysFlat(t, { full: 1000, part: 48, round: repeating(die) });
});

/** Waits like `until`, but polls in every turn of the event loop, because it is called a thousand times. */
async function untilWithoutPause(condition: () => boolean): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > end) throw new Error('waited in vain');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
