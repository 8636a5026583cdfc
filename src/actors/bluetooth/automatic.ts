// Acts on the adapter without a command: switches it off when it is idle, and connects known devices again.

import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { BLUEZ_SIGNALS, isSoundServerService } from '../../protocol/dbus/bluez.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { Publisher } from '../runtime.js';
import type { AdapterCommands } from './adapter-commands.js';
import { IdleSwitch } from './idle.js';
import type { BluetoothAdapter, BluezChange, BluezObjects } from './objects.js';
import type { AttemptProgress } from './reconnect-policy.js';
import { Reconnecting } from './reconnecting.js';

interface AutomaticParts {
  readonly settings: BluetoothSettings;
  readonly clock: Clock;
  readonly publish: Pick<Publisher, 'log'>;
  readonly commands: AdapterCommands;
  /** The adapter in use; undefined while there is none. */
  readonly currentAdapter: () => BluetoothAdapter | undefined;
  readonly currentObjects: () => BluezObjects;
}

export class AutomaticActions {
  readonly #parts: AutomaticParts;
  readonly #idle: IdleSwitch;
  readonly #reconnecting: Reconnecting;

  constructor(parts: AutomaticParts) {
    const { settings, clock, publish, commands } = parts;
    this.#parts = parts;
    this.#idle = new IdleSwitch({
      clock,
      idleTimeoutMs: settings.idleTimeout * 1000,
      isIdle: () => this.#isIdle(),
      switchOffIfIdle: () => this.#switchOffIfIdle(),
    });
    this.#reconnecting = new Reconnecting({
      wish: settings.reconnect,
      clock,
      publish,
      isAllowed: () => this.#mayReconnect(),
      connect: (path) => this.#reconnect(path),
      giveUp: (path) => commands.connecting.giveUp(path),
    });
  }

  /** To be called when the adapter or a device has changed, and when a client's command begins or ends. */
  recheck(): void {
    this.#idle.recheck();
    this.#reconnecting.recheck();
  }

  /** To be called when the adapter is gone, and at the end of the daemon. */
  end(): void {
    this.#idle.cancel();
    this.#reconnecting.end();
  }

  /** `before` is undefined for an adapter that was not in use before. */
  adapterChanged(before: BluetoothAdapter | undefined, adapter: BluetoothAdapter): void {
    const wasPowered = before?.Powered === true;
    const isPowered = adapter.Powered === true;
    const devices = () => this.#parts.currentObjects().devicesOf(adapter.path);
    if (isPowered && !wasPowered) this.#reconnecting.begin(devices());
    // Each adapter has its own services, so those of a new adapter count as changed.
    const isServed = isSoundServed(adapter);
    if (before === undefined || isSoundServed(before) !== isServed)
      this.#reconnecting.soundServed(isServed, devices());
    if (wasPowered && !isPowered) this.#reconnecting.end();
  }

  deviceChanged({ path, before, after }: BluezChange): void {
    const device = after ?? before;
    const adapter = this.#parts.currentAdapter();
    const isOfOurAdapter = adapter !== undefined && device?.Adapter === adapter.path;
    if (isOfOurAdapter) this.#reconnecting.deviceChanged(path, before, after);
  }

  /** If the signal has BlueZ's reason for a disconnection, passes this reason on. Ignores other signals. */
  applyDisconnectReason(signal: Signal): void {
    const [reason] = signalValues(BLUEZ_SIGNALS.disconnected, signal) ?? [];
    if (reason !== undefined) this.#reconnecting.disconnected(signal.path, reason);
  }

  /** To be called when the daemon's or a client's attempt to connect a device begins or ends. */
  attemptProgressed(devicePath: string, progress: AttemptProgress): void {
    this.#reconnecting.attemptProgressed(devicePath, progress);
  }

  /** To be called when a client has disconnected a device. */
  leaveDisconnected(devicePath: string): void {
    this.#reconnecting.leaveDisconnected(devicePath);
  }

  #isIdle(): boolean {
    const { currentAdapter, currentObjects, commands } = this.#parts;
    const adapter = currentAdapter();
    return adapter?.Powered === true && !commands.isBusy && !currentObjects().isInUse(adapter);
  }

  async #switchOffIfIdle(): Promise<void> {
    const { currentAdapter, commands } = this.#parts;
    const adapter = currentAdapter();
    if (adapter !== undefined) await commands.switchOffIfIdle(adapter, () => this.#isIdle());
  }

  /**
   * True while known devices may be connected again. Every scan forbids this. `isBusy` does not know the
   * scans of other programs, so `Discovering` is checked, too.
   */
  #mayReconnect(): boolean {
    const { currentAdapter, commands } = this.#parts;
    const adapter = currentAdapter();
    const isScanning = adapter?.Discovering === true;
    return adapter?.Powered === true && !isScanning && !commands.isBusy;
  }

  async #reconnect(path: string): Promise<Answer> {
    const { commands, currentObjects } = this.#parts;
    const device = currentObjects().device(path);
    return device === undefined
      ? failure('no-such-device', 'BlueZ has forgotten the device')
      : commands.connecting.reconnect(device);
  }
}

/**
 * True if a sound server serves the adapter's sound. Also true if BlueZ does not list the adapter's services
 * (`UUIDs`), because a missing list does not show that the sound server is missing.
 */
function isSoundServed({ UUIDs }: BluetoothAdapter): boolean {
  return UUIDs === undefined || UUIDs.some(isSoundServerService);
}
