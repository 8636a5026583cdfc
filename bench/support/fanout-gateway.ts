// Measured by fanout.ts: the gateway alone, fed with one changed output each 50 ms, as an actor would feed it.

import { networkInterfaces } from 'node:os';
import { systemClock } from '../../src/clock.js';
import { createGateway } from '../../src/gateway/gateway.js';
import { obey, ownCpu } from './fork.js';
import { nowUs, stampedOutput } from './stamped-output.js';

const EVERY_MS = 50;
const STREAMS_MAX = 2000;

const off = { enabled: false };
const gateway = createGateway({
  settings: {
    api: {
      port: 0,
      cors: { origins: [] },
      hosts: [],
      sse: { enabled: true, maxClients: STREAMS_MAX },
      ui: { enabled: false },
      logs: false,
    },
    audio: { enabled: true, serveCookie: false, outputs: {} },
    systemd: { ...off, system: [], user: [], internal: [] },
    power: { ...off, capabilities: { poweroff: false, reboot: false } },
    players: { enabled: false, fetchCovers: false },
    bluetooth: { ...off, powerOnStart: false, pairingTimeout: 60, scanTimeout: 60, idleTimeout: 0 },
    upgrade: { ...off, progressSocket: '/none', stateFile: '/none' },
    discovery: { ...off, name: 'bench' },
    mqtt: {
      enabled: false,
      topic: 'tonearm/node',
      control: true,
      homeAssistant: true,
      homeAssistantPrefix: 'homeassistant',
    },
  },
  node: { hostname: 'bench', platform: 'linux/amd64', osVersion: 'bench' },
  backends: { ask: () => Promise.resolve({ ok: true }), watchLevels: () => undefined },
  bridges: { sendChanges: () => undefined },
  interfaces: networkInterfaces,
  version: '0',
  page: new Map(),
  log: () => undefined,
  clock: systemClock,
});
const result = gateway.listen(['127.0.0.1'], 0);
if (result.refused.length > 0) throw new Error('cannot listen');
gateway.listener.health('audio', { state: 'up', since: Date.now(), restarts: 0 });

let timer: NodeJS.Timeout | undefined;
obey(result.port, {
  begin: () => {
    timer = setInterval(() => {
      const json = stampedOutput(nowUs());
      gateway.listener.changes([{ kind: 'put', collection: 'audio.outputs', key: '1', json }]);
    }, EVERY_MS);
    return undefined;
  },
  end: () => {
    clearInterval(timer);
    return undefined;
  },
  cpu: ownCpu,
});
