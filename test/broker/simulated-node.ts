// Simulates a node around a real MQTT bridge. The test publishes the records of the backends. The simulated
// node keeps the bridge's requests, and answers them in place of the gateway.

import type { TestContext } from 'node:test';
import { MqttBridge } from '../../src/actors/mqtt/bridge.js';
import { type BrokerConnection, type BrokerOptions, MqttConnection } from '../../src/actors/mqtt/broker.js';
import { type Clock, systemClock } from '../../src/host/clock.js';
import type { BackendState, ChildName } from '../../src/protocol/actor/backends.js';
import type { Change, ChildReply, ChildRequest } from '../../src/protocol/actor/messages.js';
import type { OutputRecord, ServerRecord, ServiceRecord } from '../../src/protocol/actor/schemas.js';
import type { MqttSettings } from '../../src/protocol/actor/settings.js';
import { drop, put } from '../gateway/scripted-backends.js';
import { until } from '../until.js';

export interface NodeOptions {
  readonly url: string;
  readonly identifier?: string;
  readonly settings?: Partial<MqttSettings>;
  readonly clock?: Clock;
  readonly hostname?: () => string;
  readonly answer?: (request: ChildRequest) => Promise<ChildReply> | ChildReply;
  /** Makes the connection to the broker; by default a real one to `url`. */
  readonly dial?: (options: BrokerOptions) => BrokerConnection;
}

export const SERVER: ServerRecord = {
  hostname: 'living',
  os_platform: 'linux/arm64',
  os_version: 'Debian GNU/Linux 12 (bookworm)',
  api_sw: 'tonearm',
  api_version: '0.1.0',
  backends: {
    bluetooth: false,
    mpris: false,
    power: true,
    pulseaudio: true,
    systemd: true,
    upgrade: true,
    zeroconf: false,
    mqtt: true,
  },
  volume_step: 0.05,
  control: true,
};

/** A real clock, except that a timer set for exactly `waitMs` ends after 50 ms. */
export const hurrying = (waitMs: number): Clock => ({
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms === waitMs ? 50 : ms, callback),
});

export const ACCEPTED: ChildReply = { status: 202, body: '' };

export function output(id: number, name: string, more: Partial<OutputRecord> = {}): OutputRecord {
  return {
    id,
    name,
    description: name,
    label: more.description || name,
    default: id === 1,
    state: 'idle',
    props: {},
    muted: false,
    volume: 0.42,
    balance: 0,
    ...more,
  };
}

export function service(scope: ServiceRecord['scope'], name: string): ServiceRecord {
  return { name, scope, active_state: 'active', running: true, enabled: true, exists: true };
}

/**
 * Answers `server` and `power`, which the bridge requests at each connection, and accepts every other request
 * as a command.
 */
export function ordinary({ operation }: ChildRequest): ChildReply {
  if (isCommand(operation)) return ACCEPTED;
  const body = operation === 'server' ? SERVER : { reboot: true, power_off: false };
  return { status: 200, body: JSON.stringify(body) };
}

export function isCommand(operation: ChildRequest['operation']): boolean {
  return operation !== 'server' && operation !== 'power';
}

export type Commanded = readonly [what: string, body: unknown];

/**
 * Returns the operation with the names in its path, such as `muteOutput kitchen`, and the body, even if the
 * body is invalid. An unknown operation is `none`, and a name that could not be decoded is `?`.
 */
export function commanded({ operation, params = {}, body, invalidBody }: ChildRequest): Commanded {
  const names = Object.values(params).map((name) => name ?? '?');
  return [[operation ?? 'none', ...names].join(' '), invalidBody ?? body];
}

export type SimulatedNode = ReturnType<typeof bareNode>;

/** Starts a node with the records `WHOLE_NODE`. The node stops when the test ends. */
export function simulatedNode(t: Pick<TestContext, 'after'>, options: NodeOptions): SimulatedNode {
  const node = bareNode(options);
  t.after(() => node.stop());
  node.publishRecords(...WHOLE_NODE);
  return node;
}

/** Makes a node without records. The caller must stop it. */
export function bareNode({
  url,
  identifier = '0123456789abcdef',
  settings = {},
  clock = systemClock,
  hostname = () => SERVER.hostname,
  answer = ordinary,
  dial = (options: BrokerOptions): BrokerConnection => new MqttConnection(options),
}: NodeOptions) {
  const mqttSettings: MqttSettings = {
    enabled: true,
    url,
    topic: 'tonearm/living',
    control: true,
    homeAssistant: true,
    homeAssistantPrefix: 'homeassistant',
    ...settings,
  };
  const requests: ChildRequest[] = [];
  /** The states that the bridge has reported, in order. */
  const statuses: { readonly state: BackendState; readonly detail: string | undefined }[] = [];
  const logged: string[] = [];
  const bridge = new MqttBridge({
    settings: mqttSettings,
    clock,
    identifier: () => identifier,
    dial,
    interfaces: () => ({}),
    hostname,
    node: {
      status: (state, detail) => statuses.push({ state, detail }),
      log: (_level, message, fields) => logged.push(`${message} ${JSON.stringify(fields ?? {})}`),
      ask: async (request) => {
        requests.push(request);
        return answer(request);
      },
    },
  });
  let isFirstCall = true;
  const node = {
    requests,
    statuses,
    logged,
    bridge,
    topic: mqttSettings.topic,
    /** The first call gives the bridge the whole state. Each later call gives it changes of this state. */
    publishRecords: (...changes: readonly Change[]): void => {
      bridge.applyChanges({ isWhole: isFirstCall, changes });
      isFirstCall = false;
    },
    get state(): BackendState {
      return statuses.at(-1)?.state ?? 'connecting';
    },
    get reason(): string {
      return statuses.at(-1)?.detail ?? '';
    },
    up: () => until('the bridge is up', () => node.state === 'up'),
    connecting: (reason: RegExp) =>
      until(
        `the bridge is connecting: ${reason}`,
        () => node.state === 'connecting' && reason.test(node.reason),
      ),
    /** The commands that the bridge has requested, each in the form that `commanded` returns. */
    get commands(): readonly Commanded[] {
      return requests.filter(({ operation }) => isCommand(operation)).map(commanded);
    },
    stop: () => bridge.stop(),
  };
  return node;
}

export { drop, put };

export function health(child: ChildName, state: BackendState): Change {
  return put('backends', child, { backend: child, state, since: 1_700_000_000_000, restarts: 0 });
}

/** A card whose last two profiles have the same description. */
export const CARD = {
  id: 3,
  name: 'hw/0',
  description: 'HiFi HAT',
  active_profile: 'off',
  profiles: ['off', 'output:stereo', 'output:mono'].map((name) => ({
    name,
    description: name === 'off' ? 'Off' : 'Music',
    available: 'unknown',
    outputs: 1,
    inputs: 0,
  })),
};

const UPGRADE_STATUS = { current: '1', latest: '2', upgrade_available: true };

/** All records of a node with two outputs, two units and an available upgrade. */
export const WHOLE_NODE: readonly Change[] = [
  put('served', '', { port: 8018, addresses: ['127.0.0.1'] }),
  health('audio', 'up'),
  health('systemd', 'up'),
  health('power', 'up'),
  health('upgrade', 'up'),
  health('mqtt', 'connecting'),
  put('audio.kind', '', 'pulseaudio'),
  put('audio.server', '', { kind: 'pulseaudio', default_sink: 'alsa', volume: 0.42, muted: false }),
  put('audio.outputs', '1', output(1, 'alsa', { description: 'Living room' })),
  put('audio.outputs', '2', output(2, 'kitchen', { description: 'Kitchen' })),
  put('systemd.services', 'system/ssh.service', service('system', 'ssh.service')),
  put('systemd.services', 'user/mpd.service', service('user', 'mpd.service')),
  put('upgrade.info', 'status', UPGRADE_STATUS),
  put('upgrade.info', 'run', { state: 'idle' }),
  // This record combines the two before it.
  put('upgrade', '', { ...UPGRADE_STATUS, run: { state: 'idle' }, can_check: true, can_upgrade: true }),
];
