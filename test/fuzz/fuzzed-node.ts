// A node that a fuzzer may do everything to: the built daemon with every backend and bridge on buses of our
// own, which write down what is asked of them, a real sound server and a real broker, both behind proxies
// that can lie.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from '../broker/mosquitto.js';
import { startSpy } from '../broker/spy.js';
import { SeededRandom } from '../seeded-random.js';
import { startPulseAudio } from '../sound/servers.js';
import { freePort } from '../tools/free-port.js';
import { damagingProxy } from './damaging-proxy.js';
import { honestBus } from './honest-bus.js';
import { startSurvivor } from './survivor.js';

export const PROGRAMS = ['pulseaudio', 'pactl', 'mosquitto'];
export const TOPIC = 'house/living';
/** The name of a method stands between its length and its end. */
const ORDER = /\0(?:Reboot|PowerOff)\0/;
const BACKENDS = ['audio', 'systemd', 'power', 'upgrade', 'players', 'mqtt'];

export type FuzzedNode = Awaited<ReturnType<typeof startFuzzedNode>>;

export async function startFuzzedNode(seed: number) {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-fuzzed-'));
  const random = new SeededRandom(seed);
  const [sound, broker] = await Promise.all([startPulseAudio(), startBroker()]);
  const buses = [await honestBus(), await honestBus()];
  const [user = '', system = ''] = buses.map(({ path }) => `unix:path=${path}`);
  const port = await freePort();
  /** The proxies between the daemon and each of the two. */
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
  const survivor = await startSurvivor({ env, config }, BACKENDS);
  const spy = await startSpy(broker.url);
  return {
    directory,
    survivor,
    sound,
    spy,
    liars,
    /** The orders to end the machine that logind has received. */
    orders: () =>
      buses.flatMap(({ received }) => received.map(({ text }) => text)).filter((text) => ORDER.test(text)),
    stop: async () => {
      await spy.end();
      await survivor.daemon.stop();
      for (const liar of Object.values(liars)) await liar.close();
      await Promise.all([sound.stop(), broker.stop(), ...buses.map((bus) => bus.close())]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
