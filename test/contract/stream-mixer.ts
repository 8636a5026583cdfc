// Plays the part of another program that changes volumes. It has one persistent connection to the sound
// server, because starting pactl for each change would be too slow. It uses the daemon's own codec, which
// other tests check against captured bytes.

import { Link } from '../../src/actors/dial.js';
import type { Reply, RequestArgs, RequestName } from '../../src/protocol/pulse/commands.js';
import type { SubscriptionEvent } from '../../src/protocol/pulse/subscription.js';
import { RAW_NORM } from '../../src/protocol/pulse/volume.js';

const CONNECT_DEADLINE_MS = 5000;
const SESSION = {
  clientProps: { 'application.name': 'mixer' },
  authDeadlineMs: CONNECT_DEADLINE_MS,
  requestDeadlineMs: 15_000,
  pendingMax: 4096,
};
type OnEvent = (event: SubscriptionEvent) => void;

export class Mixer {
  readonly #link: Link;

  private constructor(link: Link) {
    this.#link = link;
  }

  /** Resolves when the server has accepted the connection. `onEvent` receives the events of `subscribe`. */
  static connect(path: string, onEvent: OnEvent = () => undefined): Promise<Mixer> {
    return new Promise((resolve, reject) => {
      const link: Link = new Link(
        { path, connectDeadlineMs: CONNECT_DEADLINE_MS, session: SESSION },
        { onReady: () => resolve(new Mixer(link)), onEvent, onClosed: ({ kind }) => reject(new Error(kind)) },
      );
    });
  }

  subscribe(mask: number): Promise<void> {
    return this.ask('SUBSCRIBE', { mask });
  }

  /** Sets both channels; `level` 1 is 100 %. Resolves when the server has applied the volume. */
  setSinkVolume(index: number, level: number): Promise<void> {
    return this.ask('SET_SINK_VOLUME', { index, volume: onBothChannels(level) });
  }

  setStreamVolume(index: number, level: number): Promise<void> {
    return this.ask('SET_SINK_INPUT_VOLUME', { index, volume: onBothChannels(level) });
  }

  /** Resolves with the server's reply; rejects with its error. */
  ask<C extends RequestName>(command: C, args: RequestArgs<C>): Promise<Reply<C>> {
    return new Promise((resolve, reject) => {
      this.#link.request(command, args, (result) => {
        if (result.ok) resolve(result.value);
        else reject(new Error(`${command}: ${JSON.stringify(result)}`));
      });
    });
  }

  close(): void {
    this.#link.close({ kind: 'stopped' });
  }
}

const onBothChannels = (level: number): number[] => Array(2).fill(Math.round(level * RAW_NORM));
