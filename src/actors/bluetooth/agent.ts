// Our agent at BlueZ: when it is registered, and what it answers. It accepts only the devices that `admits` allows, and of their services
// only sound and its remote control (docs/bluetooth.md, "Who may pair").

import {
  AGENT_CALLS,
  AGENT_CAPABILITY,
  AGENT_INTERFACE,
  BLUEZ_ERRORS,
  BLUEZ_METHODS,
  isSoundService,
} from '../../protocol/dbus/bluez.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { CallVerdict } from '../bus/bus.js';
import type { Outcome } from '../bus/fault.js';
import type { Bluez } from './bluez.js';

const AGENT_PATH = '/tonearm/agent';
const DONE: Outcome<undefined> = { ok: true, value: undefined };

export class Agent {
  readonly #bluez: Bluez;
  #holders = 0;
  #isRegistered = false;
  /** Registrations and their ends run one after the other. */
  #last: Promise<Outcome<undefined>> = Promise.resolve(DONE);

  constructor(bluez: Bluez) {
    this.#bluez = bluez;
  }

  /** Resolves when BlueZ knows the agent. Every call needs its `release`, also after a failure. */
  hold(): Promise<Outcome<undefined>> {
    this.#holders += 1;
    return this.#next(async () => {
      if (this.#isRegistered) return DONE;
      const added = await this.#bluez(BLUEZ_METHODS.registerAgent, [AGENT_PATH, AGENT_CAPABILITY]);
      const isThere =
        added.ok || (added.error.kind === 'dbus' && added.error.name === BLUEZ_ERRORS.alreadyExists);
      if (!isThere) return added;
      this.#isRegistered = true;
      return this.#bluez(BLUEZ_METHODS.requestDefaultAgent, [AGENT_PATH]);
    });
  }

  release(): void {
    this.#holders -= 1;
    void this.#next(async () => {
      if (this.#holders > 0 || !this.#isRegistered) return DONE;
      this.#isRegistered = false;
      return this.#bluez(BLUEZ_METHODS.unregisterAgent, [AGENT_PATH]);
    });
  }

  /** BlueZ has forgotten the agent. */
  lost(): void {
    this.#isRegistered = false;
  }

  #next(step: () => Promise<Outcome<undefined>>): Promise<Outcome<undefined>> {
    this.#last = this.#last.then(step);
    return this.#last;
  }
}

function rejectCall(text: string): CallVerdict {
  return { error: BLUEZ_ERRORS.rejected, text };
}

/** `admits` is true for the path of a device that may pair and connect now. */
export function agentAnswer(call: Signal, admits: (device: string) => boolean): CallVerdict {
  if (call.path !== AGENT_PATH || call.interface !== AGENT_INTERFACE)
    return { error: BLUEZ_ERRORS.unknownObject, text: 'there is only the agent' };
  const { authorizeService, requestConfirmation, requestAuthorization, cancel, release } = AGENT_CALLS;
  if (signalValues(cancel, call) !== undefined || signalValues(release, call) !== undefined) return 'done';
  const [device, uuid] = signalValues(authorizeService, call) ?? [];
  const paired = signalValues(requestConfirmation, call) ?? signalValues(requestAuthorization, call);
  const [asked = device] = paired ?? [];
  // Everything else asks for a key, or shows one.
  if (asked === undefined) return rejectCall('this node has neither keys nor a display');
  if (!admits(asked)) return rejectCall('this node is not in pairing mode');
  return uuid === undefined || isSoundService(uuid) ? 'done' : rejectCall('this node is for sound only');
}
