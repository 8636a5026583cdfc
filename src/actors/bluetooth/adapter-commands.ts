// Carries out commands on the adapter and its devices: power, pairing mode, scans, connections. Commands to
// the adapter run one after the other; devices do not wait for each other.

import { Timers, within } from '../../host/clock.js';
import { type AdapterVerb, type Answer, type DeviceVerb, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { BLUEZ_ERRORS, BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import { Turns } from '../turns.js';
import { blockerOf, isError, refusedBy, setAdapter } from './bluez.js';
import { Connecting, type ConnectingParts } from './connecting.js';
import type { Adapter, Device } from './objects.js';
import { Pairing } from './pairing.js';

interface AdapterCommandParts extends Omit<ConnectingParts, 'pairing'> {
  readonly settings: BluetoothSettings;
  readonly blocked: (detail: string) => void;
  /** Pairing mode, the scan, or the connections under way have changed. */
  readonly changed: () => void;
}

/**
 * The time in which a command must get its turn: a client gets a timeout after 10 s (docs/http-api.md,
 * "Limits").
 */
const TURN_MAX_MS = 9_000;

/** BlueZ asks a device for its services two seconds after it has paired. */
const SERVICES_MAX_MS = 5_000;

/** Classic Bluetooth only: it finds every device that plays, without hundreds of Low Energy beacons. */
const SCAN_FILTER = { Transport: { variant: 's', value: 'bredr' } } as const;

export class AdapterCommands {
  readonly #parts: AdapterCommandParts;
  readonly #pairing: Pairing;
  readonly #connecting: Connecting;
  readonly #timers: Timers<'pairing' | 'scan'>;
  readonly #turns = new Turns();

  constructor(parts: AdapterCommandParts) {
    this.#parts = parts;
    this.#pairing = new Pairing(parts);
    this.#connecting = new Connecting({ ...parts, pairing: this.#pairing });
    this.#timers = new Timers(parts.clock);
  }

  /** When pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
  get until(): number | undefined {
    return this.#pairing.until;
  }

  /**
   * True while a command of a client needs the adapter. A device that comes back by itself does not count.
   */
  get isBusy(): boolean {
    return this.#pairing.isActive || this.#timers.has('scan') || !this.#connecting.isIdle;
  }

  /** True if the device may pair and connect now. In pairing mode this device is remembered as admitted. */
  admits(device: string): boolean {
    if (this.#pairing.isActive) this.#pairing.admit(device, false);
    return this.#pairing.isActive || this.#connecting.includes(device);
  }

  /** Takes over a new adapter, and closes it: no device may find it or pair with it yet. */
  begin({ path, Discoverable, Pairable }: Adapter, powerOn: boolean): Promise<void> {
    return this.#turns.run(async () => {
      if (Discoverable === true || Pairable === true) await this.#pairing.end(path);
      const answer = powerOn ? await this.#power(path, true) : DONE;
      if (!answer.ok)
        this.#parts.publish.log('warn', 'the adapter could not be switched on', {
          reason: answer.error.detail,
        });
    });
  }

  switchAdapter(adapter: Adapter, verb: AdapterVerb): Promise<Answer> {
    const verbs: Readonly<Record<AdapterVerb, () => Promise<Answer>>> = {
      power_up: () => this.#power(adapter.path, true),
      power_down: () => this.#power(adapter.path, false),
      pairing_mode: () => this.#pair(adapter),
      'pairing_mode/stop': () => this.#stopPairing(adapter),
      scan: () => this.#scan(adapter.path),
      'scan/stop': () => this.#stopScan(adapter.path),
    };
    const latest = this.#parts.clock.monotonic() + TURN_MAX_MS;
    return this.#turns.run(async () => {
      // The client got a timeout by now, and may have sent another command.
      if (this.#parts.clock.monotonic() > latest)
        return failure('timeout', 'The commands before this one took too long');
      return verbs[verb]().finally(this.#parts.changed);
    });
  }

  /** Switches the adapter off, if that is still due when its turn comes. */
  switchOffIf({ path }: Adapter, isDue: () => boolean): Promise<void> {
    return this.#turns.run(async () => {
      if (!isDue()) return;
      await this.#power(path, false);
      this.#parts.changed();
    });
  }

  async commandDevice({ path: adapter }: Adapter, device: Device, verb: DeviceVerb): Promise<Answer> {
    const { bluez, changed } = this.#parts;
    const { path, Address: address } = device;
    if (verb === 'connect') {
      const connected = this.#connecting.connect(device);
      changed();
      return connected.finally(changed);
    }
    const done =
      verb === 'disconnect'
        ? await bluez(BLUEZ_METHODS.disconnect, [], { path })
        : await bluez(BLUEZ_METHODS.removeDevice, [path], { path: adapter });
    if (done.ok || isError(done, BLUEZ_ERRORS.notConnected)) return DONE;
    const what = verb === 'disconnect' ? 'disconnected' : 'forgotten';
    return refusedBy(done.error, `${address} could not be ${what}`, true);
  }

  /** Connects a known device again, for no client. */
  reconnect(device: Device): Promise<Answer> {
    return this.#connecting.reconnect(device);
  }

  /** Ends that attempt, unless a client waits for it by now. */
  giveUp(device: string): void {
    this.#connecting.giveUp(device);
  }

  /**
   * To be called when a paired device has changed. `before`: whether it was paired before that change;
   * undefined if it was not there.
   */
  pairedDeviceChanged(adapter: Adapter, device: Device, before: boolean | undefined): void {
    if (before !== true) this.#deviceHasPaired(adapter, device, before === false);
    const decided = this.#pairing.decide(device);
    // The first device that pairs ends pairing mode, but only once it is trusted: its sound may come at once.
    void decided?.then(() => this.#endPairingIf(adapter, () => this.#pairing.isActive));
  }

  /** `isNow` is false for a device that was paired already when it appeared: that may be years ago. */
  #deviceHasPaired(adapter: Adapter, device: Device, isNow: boolean): void {
    const { isActive, until = 0 } = this.#pairing;
    const { path } = device;
    if (!this.#pairing.includes(path) && !this.#connecting.includes(path)) {
      if (isNow) void this.#pairing.refuse(adapter, device, !this.#connecting.isIdle);
      return;
    }
    this.#pairing.admit(path, true);
    if (!isActive) return;
    // BlueZ may not know the device's services yet.
    const leftMs = Math.min(SERVICES_MAX_MS, until - this.#parts.clock.date());
    this.#endPairingIn(adapter, leftMs);
  }

  /** To be called when anybody has switched the adapter off. BlueZ itself ends the scans. */
  wasSwitchedOff(): void {
    this.#timers.cancelAll();
    this.#pairing.over();
  }

  /** To be called when the adapter is gone, and everything that was under way with it. */
  adapterLost(): void {
    this.#timers.cancelAll();
    this.#pairing.adapterLost();
    this.#connecting.adapterLost();
  }

  /** To be called when BlueZ is gone, or the connection to it. */
  bluezLost(): void {
    this.adapterLost();
    this.#pairing.bluezLost();
  }

  /** To be called when the daemon ends: no device is to find the node any more. */
  async leave({ path }: Adapter, withinMs: number): Promise<void> {
    this.#timers.cancelAll();
    const left = this.#turns.run(async () => {
      // A command before this one may have set them again.
      this.#timers.cancelAll();
      if (this.#pairing.isActive) await this.#pairing.end(path);
    });
    await within(this.#parts.clock, withinMs, left);
  }

  async #power(path: string, isOn: boolean): Promise<Answer> {
    const set = await setAdapter(this.#parts, path, 'Powered', isOn);
    if (set.ok) return DONE;
    const blocker = isOn ? await blockerOf(path.slice(path.lastIndexOf('/') + 1)) : undefined;
    if (blocker === undefined && !isError(set, BLUEZ_ERRORS.blocked))
      return refusedBy(set.error, `The adapter could not be switched ${isOn ? 'on' : 'off'}`);
    const detail = `The adapter is blocked by ${blocker ?? 'rfkill'}`;
    this.#parts.blocked(detail);
    return failure('blocked', detail);
  }

  async #pair(adapter: Adapter): Promise<Answer> {
    const { pairingTimeout } = this.#parts.settings;
    const powered = await this.#power(adapter.path, true);
    if (!powered.ok) return powered;
    const begun = await this.#pairing.begin(adapter.path, pairingTimeout);
    if (!begun.ok) return refusedBy(begun.error, 'Pairing mode could not be started');
    if (!this.#pairing.isActive) return failure('refused', 'The adapter was switched off meanwhile');
    this.#endPairingIn(adapter, pairingTimeout * 1000);
    return DONE;
  }

  #endPairingIn(adapter: Adapter, ms: number): void {
    // By its turn, an earlier command in the queue may have prolonged pairing mode.
    const isOver = () => !this.#timers.has('pairing');
    this.#timers.set('pairing', ms, () => void this.#endPairingIf(adapter, isOver));
  }

  /** Ends pairing mode, if that is still right when its turn comes. */
  #endPairingIf(adapter: Adapter, isOver: () => boolean): Promise<void> {
    return this.#turns.run(async () => {
      if (!isOver()) return;
      await this.#stopPairing(adapter);
      this.#parts.changed();
    });
  }

  /**
   * An end that failed can be tried again: the adapter may still be discoverable although pairing mode is
   * over.
   */
  async #stopPairing({ path, Discoverable, Pairable }: Adapter): Promise<Answer> {
    this.#timers.cancel('pairing');
    if (!this.#pairing.isActive && Discoverable !== true && Pairable !== true) return DONE;
    const ended = await this.#pairing.end(path);
    if (ended.ok) return DONE;
    this.#parts.publish.log('warn', 'pairing mode could not be ended', { reason: ended.error.kind });
    return refusedBy(ended.error, 'The node may stay visible until BlueZ ends that');
  }

  async #scan(path: string): Promise<Answer> {
    const { bluez, settings } = this.#parts;
    // An adapter that cannot filter finds more devices; nothing else is wrong.
    await bluez(BLUEZ_METHODS.setDiscoveryFilter, [SCAN_FILTER], { path });
    const started = await bluez(BLUEZ_METHODS.startDiscovery, [], { path });
    if (!started.ok && !isError(started, BLUEZ_ERRORS.inProgress))
      return refusedBy(started.error, 'The scan could not be started');
    this.#timers.set('scan', settings.scanTimeout * 1000, () => void this.#scanIsOver(path));
    return DONE;
  }

  #scanIsOver(path: string): Promise<void> {
    return this.#turns.run(async () => {
      // An earlier command in the queue has prolonged the scan.
      if (this.#timers.has('scan')) return;
      await this.#endScan(path);
      // BlueZ announces nothing if the scan had ended before.
      this.#parts.changed();
    });
  }

  async #stopScan(path: string): Promise<Answer> {
    if (!this.#timers.has('scan')) return DONE;
    this.#timers.cancel('scan');
    return this.#endScan(path);
  }

  /** BlueZ refuses to end a scan that has ended already. */
  async #endScan(path: string): Promise<Answer> {
    const stopped = await this.#parts.bluez(BLUEZ_METHODS.stopDiscovery, [], { path });
    if (stopped.ok || stopped.error.kind === 'dbus') return DONE;
    return refusedBy(stopped.error, 'The scan could not be ended');
  }
}
