// A real gateway that serves the built page. Its backends are scripted, because tests need states into which
// no real node can be brought. page-audio.test.ts uses real backends.

import { fileURLToPath } from 'node:url';
import { type PageFiles, readPageFiles } from '../../src/gateway/page.js';
import type { RouteSettings } from '../../src/gateway/routes.js';
import { BACKENDS, type Backend, type BackendState } from '../../src/protocol/actor/backends.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { GatewayUnderTest, SETTINGS } from '../gateway/gateway-under-test.js';
import * as scripted from '../gateway/scripted-backends.js';
import { put } from '../gateway/scripted-backends.js';

/** The folder to which the build writes the page's files. */
export const PAGE_FOLDER = fileURLToPath(new URL('../../../dist/page', import.meta.url));

/** If a page is still open, its streams may take this long to end. */
const CLOSE_MS = 500;

/** Fields of an output's record. By default the label is the description. */
type OutputFields = Readonly<Record<string, unknown>> & { readonly description?: string };

export function output(id: number, more: OutputFields = {}): Change {
  const { description = id === 0 ? 'Living room' : `Room ${id}` } = more;
  return put('audio.outputs', String(id), {
    ...scripted.sink(id, `output-${id}`),
    description,
    label: description,
    volume: 0.4,
    driver: 'module-alsa-card.c',
    ...more,
  });
}

export function stream(id: number, more: object = {}): Change {
  return put('audio.clients', String(id), {
    ...scripted.sinkInput(id, `Stream ${id}`),
    app: 'Music Player Daemon',
    volume: 0.8,
    output: 'output-0',
    ...more,
  });
}

export function service(name: string, more: object = {}, scope = 'user'): Change {
  const state = { active_state: 'active', sub_state: 'running', running: true, enabled: true, exists: true };
  return put('systemd.services', `${scope}/${name}`, { name, scope, ...state, ...more });
}

/**
 * `progress` has the percentage and the step of a run. Only the third record has them. It combines the two
 * records before it.
 */
export function upgrade(status: object, run: object = { state: 'idle' }, progress: object = {}): Change[] {
  const info = { current: '1.4.0', latest: '1.4.0', upgrade_available: false, ...status };
  return [
    put('upgrade.info', 'status', info),
    put('upgrade.info', 'run', run),
    put('upgrade', '', { ...info, run: { ...run, ...progress }, can_check: true, can_upgrade: true }),
  ];
}

export function player(name: string, more: object = {}): Change {
  const busName = `org.mpris.MediaPlayer2.${name}`;
  return put('players', busName, {
    ...scripted.PLAYER,
    bus_name: busName,
    identity: 'Music Player Daemon',
    pid: 4711,
    loop_status: 'None',
    shuffle: false,
    volume: 0.9,
    rate: 1,
    position: 83_000_000,
    position_updated_at: new Date().toISOString(),
    metadata: {
      'mpris:trackid': '/track/1',
      'mpris:length': '263000000',
      'xesam:title': 'Nocturne in E-flat major, Op. 9 No. 2',
      'xesam:artist': 'Frédéric Chopin, Maria João Pires',
      'xesam:album': 'The Nocturnes',
    },
    capabilities: { ...scripted.PLAYER.capabilities, can_go_next: true },
    ...more,
  });
}

/** A card with two profiles. */
export function card(id: number, name: string, more: object = {}): Change {
  const profiles = [
    { name: 'analog', description: 'Analog stereo', available: 'yes', outputs: 1, inputs: 0 },
    { name: 'hdmi', description: 'HDMI', available: 'no', outputs: 1, inputs: 0 },
  ];
  const fields = { id, name, description: 'HiFi HAT', active_profile: 'analog', profiles };
  return put('audio.cards', String(id), { ...fields, ...more });
}

const PORTS = {
  active_port: 'speakers',
  ports: [
    { name: 'speakers', description: 'Speakers', available: 'yes' },
    { name: 'headphones', description: 'Headphones', available: 'no' },
  ],
};

export const PAIRED_PHONE = {
  address: 'AA:BB:CC:DD:EE:01',
  name: 'My phone',
  paired: true,
  bonded: true,
  trusted: true,
  connected: true,
  kind: 'phone',
  battery: 80,
};

export function bluetooth(more: object = {}): Change {
  const adapter = { ...scripted.ADAPTER, known_devices: [PAIRED_PHONE], name: 'living-room' };
  return put('bluetooth', '', { ...adapter, ...more });
}

/** The record of a node that discovery has found. */
export function discoveredNode(name: string, more: object = {}): Change {
  const fields = { name, host: `${name}.local`, addresses: ['192.0.2.7'], port: 8018, path: '/ui' };
  return put('nodes', name, { ...fields, api: 'tonearm', self: false, ...more });
}

/** The ordinary state of each backend of a node in a living room. */
export const ORDINARY = {
  audio: [
    put('audio.kind', '', 'pipewire'),
    put('audio.server', '', { kind: 'pipewire', default_sink: 'output-0', volume: 0.4, muted: false }),
    put('audio.sleep', '', { active: false }),
    output(0, { state: 'running', volume: 0.42, card: 'hat', ...PORTS }),
    output(1, { description: 'Kitchen', muted: true, volume: 0.65, state: 'suspended' }),
    stream(10, { name: 'Nocturne in E-flat major', props: { 'application.process.id': '4711' } }),
    stream(11, { name: 'Doorbell', app: 'chime', corked: true }),
    card(3, 'hat'),
  ],
  systemd: [
    service('bluetooth.service', { description: 'Bluetooth service' }, 'system'),
    service('mpd.service', { description: 'Music Player Daemon', url: 'http://node.local:6680' }),
    service('shairport-sync.service', {
      description: 'AirPlay receiver',
      active_state: 'failed',
      sub_state: 'failed',
      running: false,
      enabled: false,
    }),
  ],
  power: [],
  players: [player('mpd')],
  bluetooth: [bluetooth()],
  upgrade: upgrade({ latest: '1.5.0', upgrade_available: true, checked_at: '2026-01-01T10:00:00Z' }),
} as const satisfies Readonly<Record<Backend, readonly Change[]>>;

export class NodeWithPage extends GatewayUnderTest {
  override hostname = 'living-room';

  readonly #address: string;

  /**
   * `page` replaces the built page. If `address` is not 127.0.0.1, the node is in a house: discovery is
   * enabled, and the node trusts the other nodes.
   */
  constructor(
    api: Partial<RouteSettings['api']> = {},
    page: PageFiles = readPageFiles(PAGE_FOLDER),
    address = '127.0.0.1',
  ) {
    const sse = { enabled: true, maxClients: 64 };
    const isInHouse = address !== '127.0.0.1';
    const discovery = { ...SETTINGS.discovery, enabled: isInHouse };
    const settings = { ...SETTINGS, discovery, api: { ...SETTINGS.api, sse, ...api } };
    super({ settings, page, bind: ['127.0.0.1', address] });
    this.#address = address;
    // All commands except `network` get this answer. It is meant for `status`: the page causes this command
    // by itself, to learn whether the node can reboot and power off.
    const powerStatus = '{"reboot":true,"power_off":true}';
    this.backends.answer = { ok: true, value: { text: powerStatus } };
  }

  get url(): string {
    return `http://${this.#address}:${this.port}/ui`;
  }

  /** Brings every backend up. `state` replaces the ordinary states of the backends that it names. */
  up(state: Partial<Record<Backend, readonly Change[]>> = {}): this {
    for (const backend of BACKENDS) {
      this.gateway.listener.changes(state[backend] ?? ORDINARY[backend]);
      this.health(backend, 'up');
    }
    return this;
  }

  health(backend: Backend, state: BackendState, detail?: string): void {
    const more = detail !== undefined && { detail };
    this.gateway.listener.health(backend, { state, since: Date.now(), restarts: 0, ...more });
  }

  change(...changes: readonly Change[]): void {
    this.gateway.listener.changes(changes);
  }

  override close(): Promise<void> {
    return this.gateway.close(CLOSE_MS);
  }
}
