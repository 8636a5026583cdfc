// A node that a fuzzer may do everything to: the built daemon with every backend and bridge on buses of our own, which write down what is
// asked of them, a real sound server and a real broker, both behind proxies that can lie.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from '../broker/mosquitto.js';
import { Spy } from '../broker/spy.js';
import { SeededRandom } from '../seeded-random.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import { freePort } from '../tools/free-port.js';
import type { BusCall } from './bus-truth.js';
import { type DamagingProxy, damagingProxy } from './damaging-proxy.js';
import { hostileBus } from './hostile-bus.js';
import { Survivor } from './survivor.js';

export const PROGRAMS = ['pulseaudio', 'pactl', 'mosquitto'];
export const TOPIC = 'house/living';
const BACKENDS = ['audio', 'systemd', 'power', 'upgrade', 'players', 'mqtt'];
const NO_LIES = { answers: 0, silence: 0, bytes: 0, signals: 0 };

export interface FuzzedNode {
  readonly directory: string;
  readonly survivor: Survivor;
  readonly sound: SoundServer;
  readonly spy: Spy;
  /** The proxies between the daemon and each of the two. */
  readonly liars: { readonly sound: DamagingProxy; readonly broker: DamagingProxy };
  /** Calls that managers, logind and players have received since the last time. */
  takeCalls(): BusCall[];
  stop(): Promise<void>;
}

export async function startFuzzedNode(seed: number): Promise<FuzzedNode> {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-fuzzed-'));
  const random = new SeededRandom(seed);
  const [sound, broker] = await Promise.all([startPulseAudio(), startBroker()]);
  const buses = [await hostileBus(random, NO_LIES), await hostileBus(random, NO_LIES)];
  const [user = '', system = ''] = buses.map(({ path }) => `unix:path=${path}`);
  const port = await freePort();
  const liars = {
    sound: await damagingProxy(random, join(directory, 'sound'), sound.socketPath),
    broker: await damagingProxy(random, port, broker.port),
  };
  const env = {
    ...sound.env,
    PULSE_SERVER: `unix:${directory}/sound`,
    DBUS_SESSION_BUS_ADDRESS: user,
    DBUS_SYSTEM_BUS_ADDRESS: system,
  };
  const config = `
systemd: {system: [other.service], user: [player.service]}
players: {enabled: true}
power: {enabled: true, capabilities: {poweroff: true, reboot: true}}
mqtt: {enabled: true, url: "mqtt://127.0.0.1:${port}", topic: ${TOPIC}}
upgrade: {enabled: true, resultFile: ${directory}/result.json, stateFile: ${directory}/state.json, progressSocket: ${directory}/progress.sock}
`;
  const survivor = await Survivor.start({ env, config }, BACKENDS);
  const spy = await Spy.on(broker.url);
  return {
    directory,
    survivor,
    sound,
    spy,
    liars,
    takeCalls: () => buses.flatMap((bus) => bus.takeCalls()),
    stop: async () => {
      await spy.end();
      await survivor.daemon.stop();
      for (const liar of Object.values(liars)) await liar.close();
      await Promise.all([sound.stop(), broker.stop(), ...buses.map((bus) => bus.close())]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
