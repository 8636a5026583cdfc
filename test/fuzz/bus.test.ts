// The built daemon on a bus that lies, in the place of the user's and the system's: it may cost a connection or a thread, which is made
// anew, and nothing else.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SEED, SeededRandom } from '../seeded-random.js';
import { PLAYERS } from './bus-truth.js';
import { hostileBus, type Lies } from './hostile-bus.js';
import { Survivor } from './survivor.js';

const CONFIG = `
bind: all
pulseaudio: {enabled: false}
systemd: {system: [other.service], user: [player.service, other.service]}
players: {enabled: true}
discovery: {enabled: true}
power: {enabled: true, capabilities: {poweroff: true, reboot: true}}
upgrade: {enabled: true, resultFile: /nonexistent/result.json, checkUnit: check.service, upgradeUnit: upgrade.service}
`;
const BACKENDS = ['systemd', 'power', 'upgrade', 'players', 'discovery'];
type Ask = readonly [method: string, path: string, body?: object];
const ASKS: readonly Ask[] = [
  ['GET', '/services'],
  ['GET', '/power/'],
  ['GET', '/players'],
  ['GET', '/upgrade'],
  ['GET', '/players/one/cover'],
  ['POST', '/services/user/player.service/restart'],
  ['POST', '/services/user/other.service/disable'],
  ['POST', '/players/one/play'],
  ['POST', '/players/two/position', { position: 5 }],
  ['POST', '/upgrade/check'],
];
/** Members that change something; a request must have asked for each. */
const EFFECTS =
  /^(Reboot|PowerOff|StartUnit|StopUnit|RestartUnit|EnableUnitFiles|DisableUnitFiles|Reload|Play|Pause|PlayPause|Stop|Next|Previous|Seek|SetPosition|Set)$/;
const ASKED_FOR = /^(RestartUnit|StopUnit|DisableUnitFiles|Reload|Play|SetPosition|StartUnit)$/;
const STORMS = 2;
/** Said to each connection at the beginning of a storm. */
const SIGNALS = 60;

const KINDS: readonly (readonly [what: string, lies: Lies])[] = [
  ['in its answers and signals', { answers: 0.3, silence: 0, bytes: 0, signals: 0.5 }],
  ['in its bytes, and by silence', { answers: 0.05, silence: 0.02, bytes: 0.1, signals: 0.2 }],
];

describe(`on a bus that sends false data (TONEARM_FUZZ_SEED=${SEED})`, { concurrency: true }, () => {
  for (const [what, lies] of KINDS) {
    test(what, async () => {
      const random = new SeededRandom(SEED);
      const buses = [await hostileBus(random, lies), await hostileBus(random, lies)];
      const [user = '', system = ''] = buses.map(({ path }) => `unix:path=${path}`);
      const env = { DBUS_SESSION_BUS_ADDRESS: user, DBUS_SYSTEM_BUS_ADDRESS: system };
      const survivor = await Survivor.start({ env, config: CONFIG }, BACKENDS);
      const { daemon } = survivor;
      try {
        for (let storm = 0; storm < STORMS; storm += 1) {
          for (const bus of buses) bus.lie(SIGNALS);
          const asked = Array.from({ length: 12 }, () => random.pick(ASKS));
          const answers = asked.map(([method, path, body]) => daemon.send(method, path, body));
          await survivor.answers();
          if (!lies.silence) await Promise.all(answers);
          for (const bus of buses) bus.becomeHonest();
          for (const [at, { status, text }] of (await Promise.all(answers)).entries()) {
            assert.notEqual(status, 500, `${asked[at]?.[1]}: ${text}`);
          }
          await survivor.recovers();
        }
        const effects = buses.flatMap((bus) => bus.takeCalls()).filter(({ member }) => EFFECTS.test(member));
        assert.deepEqual(
          effects.filter(({ member }) => !ASKED_FOR.test(member)),
          [],
        );
        const players = await daemon.read<{ bus_name: string }[]>('/players');
        assert.deepEqual(players.map(({ bus_name: name }) => name).sort(), PLAYERS);
        const services = await daemon.read<{ running: boolean }[]>('/services');
        assert.deepEqual(
          services.map(({ running }) => running),
          [true, true, true],
        );
      } catch (error) {
        throw new Error(daemon.log.slice(-3000), { cause: error });
      } finally {
        await daemon.stop();
        for (const bus of buses) await bus.close();
      }
    });
  }
});
