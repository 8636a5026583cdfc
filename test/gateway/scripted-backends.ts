// Scripted backends for the gateway: they record the commands and give the answers that the test sets. The
// gateway only exchanges messages with backends, so it cannot tell scripted ones from real ones. The real
// backends have tests of their own.

import type { Backend, ChildName } from '../../src/protocol/actor/backends.js';
import type { Collection } from '../../src/protocol/actor/collections.js';
import type { Answer, Command } from '../../src/protocol/actor/commands.js';
import type { BackendListener, Backends, Change, ThreadReport } from '../../src/protocol/actor/messages.js';
import { success } from '../../src/protocol/actor/result.js';
import type { NetworkRecord } from '../../src/protocol/actor/schemas.js';
import { Deferred } from '../deferred.js';

export interface BackendRequest {
  readonly backend: Backend;
  readonly command: Command;
}

export class ScriptedBackends implements Backends {
  readonly requests: BackendRequest[] = [];
  /** All calls of `watchLevels`, in order. */
  readonly levelsWatched: boolean[] = [];
  /** The answer to the next commands; a promise keeps them waiting. */
  answer: Answer | Promise<Answer> = { ok: true, value: {} };
  /** The answer to the command `network`. The page sends it by itself, so it is not in `requests`. */
  network: NetworkRecord = { enabled: false, addresses: [], commands: [] };
  /**
   * If set, the next commands reject with this error. A real backend never rejects (`Backends`), so such a
   * rejection stands for a defect inside the gateway.
   */
  fault: Error | undefined;
  /** How long each answer takes, as on a slow node. */
  answerMs = 0;

  async ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer> {
    if (command.do === 'network') return success({ text: JSON.stringify(this.network) });
    this.requests.push({ backend, command });
    if (this.fault !== undefined) throw this.fault;
    if (this.answerMs > 0) await new Promise((resolve) => setTimeout(resolve, this.answerMs));
    return this.answer;
  }

  /** Keeps the next commands waiting. The test resolves the returned `Deferred` with their answer. */
  hold(): Deferred<Answer> {
    const answer = new Deferred<Answer>();
    this.answer = answer.promise;
    return answer;
  }

  /** Resolves when this number of commands has arrived. */
  async untilRequested(count: number): Promise<void> {
    while (this.requests.length < count) await new Promise((resolve) => setImmediate(resolve));
  }

  watchLevels(isWatched: boolean): void {
    this.levelsWatched.push(isWatched);
  }

  /** The thread is this process's main thread, so that /proc has its CPU time. */
  threads(): ReadonlyMap<ChildName, ThreadReport> {
    return new Map([['audio', { tid: process.pid, heapBytes: 4096 }]]);
  }
}

/** The record with the lowest `rank` comes first in lists, and records without a rank come last. */
export function put(collection: Collection, key: string, record: unknown, rank?: number): Change {
  const json = JSON.stringify(record);
  return { kind: 'put', collection, key, json, ...(rank !== undefined && { rank }) };
}

export function drop(collection: Collection, key: string): Change {
  return { kind: 'drop', collection, key };
}

export function sink(id: number, name = `sink-${id}`) {
  const values = { muted: false, volume: 0.5, state: 'idle', props: {}, balance: 0 };
  return { id, name, description: name, label: name, default: id === 0, ...values };
}

export function sinkInput(id: number, name = `player-${id}`) {
  return { id, name, app: 'player', muted: false, volume: 1, corked: false, backend: 'pulseaudio' };
}

const SERVICE = { name: 'mpd.service', scope: 'user', running: true, enabled: true, exists: true };
export const PLAYER = {
  bus_name: 'org.mpris.MediaPlayer2.mpv',
  identity: 'mpv',
  playback_status: 'Playing',
  position: 1_000_000,
  position_updated_at: '2026-01-01T00:00:00.000Z',
  capabilities: {
    can_play: true,
    can_pause: true,
    can_go_next: false,
    can_go_previous: false,
    can_seek: true,
    can_control: true,
  },
  tracklist_supported: false,
};
const PHONE = {
  address: 'AA:BB:CC:DD:EE:FF',
  name: 'Phone',
  paired: true,
  bonded: true,
  trusted: true,
  connected: false,
  kind: 'phone',
  battery: 80,
};
export const ADAPTER = {
  powered: true,
  discoverable: false,
  pairable: false,
  pairing_active: false,
  scanning: false,
  known_devices: [PHONE],
  name: 'kitchen',
  address: '00:AA:01:00:00:00',
};
const RUN = { state: 'idle' };
const STATUS = { current: '1', latest: '2', upgrade_available: true };

/** The full state that every backend sends before `up`. */
const WHOLE_STATE: Readonly<Record<Backend, readonly Change[]>> = {
  audio: [
    put('audio.kind', '', 'pulseaudio'),
    put('audio.server', '', { kind: 'pulseaudio', default_sink: 'sink-0', volume: 0.5, muted: false }),
    put('audio.outputs', '0', sink(0)),
    put('audio.outputs', '1', sink(1)),
    put('audio.clients', '7', sinkInput(7)),
    put('audio.sleep', '', { active: false }),
  ],
  systemd: [put('systemd.services', 'user/mpd.service', SERVICE)],
  power: [],
  upgrade: [
    put('upgrade.info', 'status', STATUS),
    put('upgrade.info', 'run', RUN),
    put('upgrade', '', { ...STATUS, run: RUN, can_check: true, can_upgrade: true }),
  ],
  players: [
    put('players', PLAYER.bus_name, PLAYER),
    put('players.tracklist', PLAYER.bus_name, { can_edit_tracks: false, tracks: [] }),
  ],
  bluetooth: [put('bluetooth', '', ADAPTER), put('bluetooth.devices', PHONE.address, PHONE)],
};

/** Publishes the whole state of these backends, and reports that they are up. */
export function bringUp(listener: BackendListener, backends: readonly Backend[]): void {
  for (const backend of backends) {
    listener.changes(WHOLE_STATE[backend]);
    listener.health(backend, { state: 'up', since: 0, restarts: 0 });
  }
}
