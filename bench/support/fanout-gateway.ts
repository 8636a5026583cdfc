// Runs the gateway alone, for fanout.ts, and gives it one changed output each 50 ms, as an actor does.

import { networkInterfaces } from 'node:os';
import { Gateway } from '../../src/gateway/gateway.js';
import { systemClock } from '../../src/host/clock.js';
import { DEFAULT_SETTINGS } from '../../test/supervisor/config/full.js';
import { obey, ownCpu, Repetition } from './fork.js';
import { nowUs, stampedOutput } from './stamped-output.js';

const EVERY_MS = 50;
const STREAMS_MAX = 2000;

const { api, systemd, ...others } = DEFAULT_SETTINGS;
const gateway = new Gateway({
  settings: {
    ...others,
    api: {
      ...api,
      sse: { enabled: true, maxClients: STREAMS_MAX },
      ui: { ...api.ui, enabled: false },
      logs: false,
    },
    systemd: { ...systemd, enabled: false },
  },
  node: { hostname: 'bench', platform: 'linux/amd64', osVersion: 'bench' },
  backends: {
    ask: () => Promise.resolve({ ok: true, value: {} }),
    watchLevels: () => undefined,
    threads: () => new Map(),
  },
  interfaces: networkInterfaces,
  avahiSocket: '/nowhere/socket',
  version: '0',
  readPage: () => new Map(),
  log: () => undefined,
  clock: systemClock,
});
const result = gateway.listen(['127.0.0.1'], 0);
if (result.refused.length > 0) throw new Error('cannot listen');
gateway.listener.health('audio', { state: 'up', since: Date.now(), restarts: 0 });

const publishing = new Repetition(EVERY_MS, () => {
  const json = stampedOutput(nowUs());
  gateway.listener.changes([{ kind: 'put', collection: 'audio.outputs', key: '1', json }]);
});
obey(result.port, { ...publishing.orders, cpu: ownCpu });
