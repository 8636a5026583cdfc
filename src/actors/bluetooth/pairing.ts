// Pairing mode: the time in which devices may find the node and pair with it (docs/bluetooth.md, "Who may pair").

import type { Clock } from '../../clock.js';
import { BLUEZ_METHODS, DEVICE_INTERFACE } from '../../protocol/dbus/bluez.js';
import type { Outcome } from '../bus/fault.js';
import type { Agent } from './agent.js';
import { type Bluez, setAdapter } from './bluez.js';

export class PairingMode {
  readonly #parts: { readonly bluez: Bluez; readonly clock: Clock };
  readonly #agent: Agent;
  #until: number | undefined;

  constructor(parts: { readonly bluez: Bluez; readonly clock: Clock }, agent: Agent) {
    this.#parts = parts;
    this.#agent = agent;
  }

  /** Milliseconds since the epoch; undefined while it is off. */
  get until(): number | undefined {
    return this.#until;
  }

  get isActive(): boolean {
    return this.#until !== undefined;
  }

  /** Begins it, or has it last `seconds` from now. It is not active afterwards if the adapter was switched off or lost meanwhile. */
  async begin(adapter: string, seconds: number): Promise<Outcome<undefined>> {
    // BlueZ gets the times first, and from us: it closes the door by itself when this process dies.
    const steps = [
      ['DiscoverableTimeout', seconds],
      ['PairableTimeout', seconds],
      ['Pairable', true],
      ['Discoverable', true],
    ] as const;
    if (!this.isActive) {
      const held = await this.#agent.hold();
      if (!held.ok) {
        this.#agent.release();
        return held;
      }
    }
    this.#until = this.#parts.clock.date() + seconds * 1000;
    for (const [property, value] of steps) {
      const set = await setAdapter(this.#parts, adapter, property, value);
      if (set.ok && this.isActive) continue;
      await this.end(adapter);
      return set;
    }
    return { ok: true, value: undefined };
  }

  /** Ends it, whoever has opened the door. Both steps are tried. */
  async end(adapter: string): Promise<Outcome<undefined>> {
    this.over();
    const hidden = await setAdapter(this.#parts, adapter, 'Discoverable', false);
    const closed = await setAdapter(this.#parts, adapter, 'Pairable', false);
    return hidden.ok ? closed : hidden;
  }

  /** It has ended without us: the adapter is off or gone. */
  over(): void {
    if (!this.isActive) return;
    this.#until = undefined;
    this.#agent.release();
  }
}

/** BlueZ asks nobody about the services of a device that is trusted, so it may come back by itself. */
export function trust(bluez: Bluez, device: string): Promise<Outcome<undefined>> {
  return bluez(BLUEZ_METHODS.set, [DEVICE_INTERFACE, 'Trusted', { variant: 'b', value: true }], {
    path: device,
  });
}
