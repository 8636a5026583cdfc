// Acts on the adapter without a command: switches it off when it is idle, and connects known devices again.

import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { BLUEZ_SIGNALS } from '../../protocol/dbus/bluez.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { Publisher } from '../runtime.js';
import type { AdapterCommands } from './adapter-commands.js';
import { IdleSwitch } from './idle.js';
import type { Adapter, BluezChange, BluezObjects } from './objects.js';
import { Reconnecting } from './reconnecting.js';

interface AutomaticParts {
  readonly settings: BluetoothSettings;
  readonly clock: Clock;
  readonly publish: Pick<Publisher, 'log'>;
  readonly commands: AdapterCommands;
  /** The one in use; undefined while there is none. */
  readonly adapter: () => Adapter | undefined;
  readonly objects: () => BluezObjects;
}

export class AutomaticActions {
  readonly #parts: AutomaticParts;
  readonly #idle: IdleSwitch;
  readonly #reconnecting: Reconnecting;

  constructor(parts: AutomaticParts) {
    const { settings, clock, publish, commands, adapter } = parts;
    this.#parts = parts;
    this.#idle = new IdleSwitch({
      clock,
      idleTimeoutMs: settings.idleTimeout * 1000,
      isIdle: () => this.#isIdle(),
      switchOff: async (isIdle) => {
        const present = adapter();
        if (present !== undefined) await commands.switchOffIf(present, isIdle);
      },
      log: (message) => publish.log('info', message),
    });
    this.#reconnecting = new Reconnecting({
      wish: settings.reconnect,
      clock,
      publish,
      isAllowed: () => this.#isFree(),
      connect: (path) => this.#reconnect(path),
      giveUp: (path) => commands.giveUp(path),
    });
  }

  /** To be called when the adapter, a device, or a pending command of a client has changed. */
  watch(): void {
    this.#idle.watch();
    this.#reconnecting.watch();
  }

  /** To be called when the adapter is gone, and at the end of the daemon. */
  end(): void {
    this.#idle.cancel();
    this.#reconnecting.end();
  }

  /** `before` is undefined for an adapter that has come. */
  adapterChanged(before: Adapter | undefined, adapter: Adapter): void {
    const was = before?.Powered === true;
    const is = adapter.Powered === true;
    if (is && !was) this.#reconnecting.begin(this.#parts.objects().devicesOf(adapter.path));
    if (was && !is) this.#reconnecting.end();
  }

  deviceChanged({ path, before, after }: BluezChange): void {
    const ownPath = this.#parts.adapter()?.path;
    if ((after ?? before)?.Adapter === ownPath) this.#reconnecting.deviceChanged(path, before, after);
  }

  /** A signal that changes no object may be the reason why a device was disconnected. */
  applyReason(signal: Signal): void {
    const [reason] = signalValues(BLUEZ_SIGNALS.disconnected, signal) ?? [];
    if (reason !== undefined) this.#reconnecting.disconnected(signal.path, reason);
  }

  /** A client has disconnected the device. */
  left(device: string): void {
    this.#reconnecting.left(device);
  }

  #isIdle(): boolean {
    const { adapter, commands, objects } = this.#parts;
    const present = adapter();
    return present?.Powered === true && !commands.isBusy && !objects().isInUse(present);
  }

  /** True while known devices may be connected again. */
  #isFree(): boolean {
    const { adapter, commands } = this.#parts;
    const present = adapter();
    return present?.Powered === true && present.Discovering !== true && !commands.isBusy;
  }

  async #reconnect(path: string): Promise<Answer> {
    const { commands, objects } = this.#parts;
    const device = objects().device(path);
    return device === undefined
      ? failure('no-such-device', 'BlueZ has forgotten it')
      : commands.reconnect(device);
  }
}
