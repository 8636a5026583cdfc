// A node for a fuzzer: the built daemon with most backends and the MQTT bridge. Its two buses are scripted
// and record every call. Its sound server and its broker are real, each behind a proxy that can damage
// bytes.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from '../broker/mosquitto.js';
import { startSpy } from '../broker/spy.js';
import { SeededRandom } from '../seeded-random.js';
import { startPulseAudio } from '../sound/servers.js';
import { freePort } from '../tools/free-port.js';
import { DamagingProxy } from './damaging-proxy.js';
import { honestBus } from './honest-bus.js';
import { startSurvivor } from './survivor.js';

export const PROGRAMS = ['pulseaudio', 'pactl', 'mosquitto'];
export const TOPIC = 'house/living';
/** A call that would end the machine. D-Bus encloses the name of a method in zero bytes. */
const POWER_CALL_PATTERN = /\0(?:Reboot|PowerOff)\0/;
/** `/health` lists the MQTT bridge among the backends. */
const BACKENDS = ['audio', 'systemd', 'power', 'upgrade', 'players', 'mqtt'];

export type FuzzedNode = Awaited<ReturnType<typeof startFuzzedNode>>;

export async function startFuzzedNode(seed: number) {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-fuzzed-'));
  const random = new SeededRandom(seed);
  const [sound, broker] = await Promise.all([startPulseAudio(), startBroker()]);
  const sessionBus = await honestBus();
  const systemBus = await honestBus();
  const buses = [sessionBus, systemBus];
  const brokerPort = await freePort();
  /** The proxies in front of the sound server and the broker. */
  const proxies = {
    sound: await DamagingProxy.start(random, join(directory, 'sound'), sound.socketPath),
    broker: await DamagingProxy.start(random, brokerPort, broker.port),
  };
  const env = {
    ...sound.env,
    PULSE_SERVER: `unix:${directory}/sound`,
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${sessionBus.path}`,
    DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${systemBus.path}`,
  };
  const config = `
systemd: {system: [other.service], user: [player.service]}
players: {enabled: true}
power: {enabled: true, capabilities: {poweroff: true, reboot: true}}
mqtt: {enabled: true, url: "mqtt://127.0.0.1:${brokerPort}", topic: ${TOPIC}}
upgrade: {enabled: true, resultFile: ${directory}/result.json, stateFile: ${directory}/state.json, progressSocket: ${directory}/progress.sock}
`;
  const survivor = await startSurvivor({ env, config }, BACKENDS);
  const spy = await startSpy(broker.url);
  return {
    directory,
    survivor,
    sound,
    spy,
    proxies,
    /** The calls that the scripted buses have received, and that would end the machine. */
    powerCalls: () => {
      const calls = buses.flatMap(({ received }) => received.map(({ text }) => text));
      return calls.filter((text) => POWER_CALL_PATTERN.test(text));
    },
    stop: async () => {
      await spy.end();
      await survivor.daemon.stop();
      for (const proxy of Object.values(proxies)) await proxy.close();
      await Promise.all([sound.stop(), broker.stop(), ...buses.map((bus) => bus.close())]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
