// Carries out commands on the adapter and its devices: power, pairing mode, scans, connections. Commands to
// the adapter run one after the other. Commands to devices do not wait for other commands.

import { Timers, within } from '../../host/clock.js';
import { Turns } from '../../host/turns.js';
import { type AdapterVerb, type Answer, type DeviceVerb, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { BLUEZ_ERRORS, BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import { bluezRefusal, DEVICE_FAULTS, findBlocker, isError, setAdapterProperty } from './bluez.js';
import { Connecting, type ConnectingParts } from './connecting.js';
import type { BluetoothAdapter, BluetoothDevice } from './objects.js';
import { Pairing } from './pairing.js';

interface AdapterCommandParts extends Omit<ConnectingParts, 'pairing'> {
  readonly settings: BluetoothSettings;
  /** Called when BlueZ could not switch the adapter on, because rfkill blocks it. */
  readonly onBlocked: (detail: string) => void;
  /** Called when pairing mode, the scan, or the attempts to connect devices may have changed. */
  readonly onChange: () => void;
}

/**
 * A command to the adapter waits for the earlier ones. After a wait longer than this, the command is not
 * carried out, because its client gets a timeout after 10 s (docs/http-api.md, "Limits").
 */
const TURN_MAX_MS = 9_000;

/**
 * Pairing mode waits at most this long for the services of a device that has paired. BlueZ asks the device
 * for them about two seconds after the pairing. connecting.ts needs no such wait, because it calls `Pair`.
 * BlueZ answers this call only when BlueZ knows the services.
 */
const SERVICES_MAX_MS = 5_000;

/** A scan for classic Bluetooth finds each device that plays sound, and no Low Energy beacons. */
const SCAN_FILTER = { Transport: { variant: 's', value: 'bredr' } } as const;

export class AdapterCommands {
  readonly #parts: AdapterCommandParts;
  readonly connecting: Connecting;
  readonly #pairing: Pairing;
  readonly #timers: Timers<'pairing' | 'scan'>;
  readonly #turns = new Turns();
  /** True while the command `pairing_mode` or `scan` runs. The command first switches the adapter on. */
  #isBeginning = false;

  constructor(parts: AdapterCommandParts) {
    this.#parts = parts;
    this.#pairing = new Pairing(parts);
    this.connecting = new Connecting({ ...parts, pairing: this.#pairing });
    this.#timers = new Timers(parts.clock);
  }

  /** When pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
  get pairingUntil(): number | undefined {
    return this.#pairing.until;
  }

  /** True while a client's command needs the adapter. The daemon's own attempts to connect do not count. */
  get isBusy(): boolean {
    const { isActive: isInPairingMode } = this.#pairing;
    return isInPairingMode || this.#isBeginning || this.#timers.has('scan') || this.connecting.isAnyRequested;
  }

  /**
   * Returns true if the device with this path may pair and connect now. In pairing mode the device is also
   * remembered, so that it may be trusted even if pairing mode ends before BlueZ knows the device's services.
   */
  admit(device: string): boolean {
    if (this.#pairing.isActive) this.#pairing.admit(device, { hasPaired: false });
    return this.#pairing.isActive || this.connecting.isRequestedFor(device);
  }

  /**
   * Makes a new adapter neither discoverable nor pairable, and switches it on if `mustPowerOn` is true. An
   * earlier daemon or another program may have left the adapter discoverable or pairable.
   */
  begin({ path, Discoverable, Pairable }: BluetoothAdapter, mustPowerOn: boolean): Promise<void> {
    return this.#turns.run(async () => {
      if (Discoverable === true || Pairable === true) await this.#pairing.end(path);
      if (!mustPowerOn) return;
      const answer = await this.#switchPower(path, 'on');
      if (answer.ok) return;
      const reason = answer.error.detail;
      this.#parts.publish.log('warn', 'the adapter could not be switched on', { reason });
    });
  }

  switchAdapter(adapter: BluetoothAdapter, verb: AdapterVerb): Promise<Answer> {
    const actions: Readonly<Record<AdapterVerb, () => Promise<Answer>>> = {
      power_up: () => this.#switchPower(adapter.path, 'on'),
      power_down: () => this.#switchPower(adapter.path, 'off'),
      pairing_mode: () => this.#beginPairing(adapter),
      'pairing_mode/stop': () => this.#stopPairing(adapter),
      scan: () => this.#scan(adapter.path),
      'scan/stop': () => this.#stopScan(adapter.path),
    };
    const { clock, onChange } = this.#parts;
    const latestStartMs = clock.monotonic() + TURN_MAX_MS;
    return this.#turns.run(async () => {
      if (clock.monotonic() > latestStartMs)
        return failure('timeout', 'The commands before this one took too long');
      this.#isBeginning = verb === 'scan' || verb === 'pairing_mode';
      if (this.#isBeginning) onChange();
      return actions[verb]().finally(() => {
        this.#isBeginning = false;
        onChange();
      });
    });
  }

  /** Waits for the queued commands, then switches the adapter off if it is still idle. */
  switchOffIfIdle({ path }: BluetoothAdapter, isIdle: () => boolean): Promise<void> {
    const { publish, onChange } = this.#parts;
    return this.#turns.run(async () => {
      if (!isIdle()) return;
      const answer = await this.#switchPower(path, 'off');
      if (answer.ok) publish.log('info', 'the Bluetooth adapter is switched off: nobody used it');
      else publish.log('warn', 'the adapter could not be switched off', { reason: answer.error.detail });
      onChange();
    });
  }

  async commandDevice(
    { path: adapter }: BluetoothAdapter,
    device: BluetoothDevice,
    verb: DeviceVerb,
  ): Promise<Answer> {
    const { bluez, onChange } = this.#parts;
    const { path, Address: address } = device;
    if (verb === 'connect') {
      const pendingAnswer = this.connecting.connect(device);
      onChange();
      return pendingAnswer.finally(onChange);
    }
    const reply =
      verb === 'disconnect'
        ? await bluez(BLUEZ_METHODS.disconnect, [], { path })
        : await bluez(BLUEZ_METHODS.removeDevice, [path], { path: adapter });
    if (reply.ok || isError(reply, BLUEZ_ERRORS.notConnected)) return DONE;
    const participle = verb === 'disconnect' ? 'disconnected' : 'forgotten';
    return bluezRefusal(reply.error, `${address} could not be ${participle}`, DEVICE_FAULTS);
  }

  /** To be called when a paired device has come or changed. `before` is undefined for a new device. */
  pairedDeviceChanged(
    adapter: BluetoothAdapter,
    device: BluetoothDevice,
    before: BluetoothDevice | undefined,
  ): void {
    if (before?.Paired !== true) this.#onPaired(adapter, device, before);
    const endOfAdmission = this.#pairing.endAdmission(device);
    // The result is undefined in the cases that `Pairing.endAdmission` names.
    if (endOfAdmission === undefined) return;
    // The first device that pairs ends pairing mode, but only after the call that trusts the device. Until
    // then BlueZ asks about the device's services, and the agent allows them only in pairing mode.
    void endOfAdmission.then(() => this.#endPairingIf(adapter, () => this.#pairing.isActive));
  }

  /**
   * A device may pair if pairing mode is active, or was active when the device was admitted, or if a client
   * connects the device. Other devices that have just paired are refused. If `before` is undefined, the
   * device was paired when it appeared. This pairing may be years old, so the device is not refused.
   */
  #onPaired(adapter: BluetoothAdapter, device: BluetoothDevice, before: BluetoothDevice | undefined): void {
    const { isActive: isInPairingMode, leftMs } = this.#pairing;
    const { path } = device;
    if (!this.#pairing.mayPair(path) && !this.connecting.isRequestedFor(path)) {
      const hasJustPaired = before !== undefined;
      if (hasJustPaired) void this.#pairing.refuse(adapter, device);
      return;
    }
    this.#pairing.admit(path, { hasPaired: true });
    if (!isInPairingMode) return;
    // Pairing mode goes on until BlueZ knows the device's services, because they decide whether the device
    // is trusted. If BlueZ does not know them in time, the timer ends pairing mode.
    this.#endPairingIn(adapter, Math.min(SERVICES_MAX_MS, leftMs));
  }

  /** To be called when anybody has switched the adapter off. BlueZ has then ended scans and pairing mode. */
  adapterSwitchedOff(): void {
    this.#timers.cancelAll();
    this.#pairing.markEnded();
  }

  /** To be called when the adapter is gone. Ends everything that was under way. */
  adapterLost(): void {
    this.#timers.cancelAll();
    this.#pairing.adapterLost();
    this.connecting.adapterLost();
  }

  /** To be called when BlueZ or the connection to the bus is gone. */
  bluezLost(): void {
    this.adapterLost();
    this.#pairing.bluezLost();
  }

  /** To be called when the daemon ends. Ends pairing mode, so that no device finds the node any more. */
  async stop({ path }: BluetoothAdapter, withinMs: number): Promise<void> {
    this.#timers.cancelAll();
    const pairingEnd = this.#turns.run(async () => {
      // A command that was queued before this step may have set the timers again.
      this.#timers.cancelAll();
      if (this.#pairing.isActive) await this.#pairing.end(path);
    });
    await within(this.#parts.clock, withinMs, pairingEnd);
  }

  async #switchPower(path: string, target: 'on' | 'off'): Promise<Answer> {
    const reply = await setAdapterProperty(this.#parts, path, 'Powered', target === 'on');
    if (reply.ok) return DONE;
    const adapterName = path.slice(path.lastIndexOf('/') + 1);
    const blocker = target === 'on' ? await findBlocker(adapterName) : undefined;
    if (blocker === undefined && !isError(reply, BLUEZ_ERRORS.blocked))
      return bluezRefusal(reply.error, `The adapter could not be switched ${target}`);
    const detail = `The adapter is blocked by ${blocker ?? 'rfkill'}`;
    this.#parts.onBlocked(detail);
    return failure('blocked', detail);
  }

  async #beginPairing(adapter: BluetoothAdapter): Promise<Answer> {
    const { pairingTimeout } = this.#parts.settings;
    const powered = await this.#switchPower(adapter.path, 'on');
    if (!powered.ok) return powered;
    const begun = await this.#pairing.begin(adapter.path, pairingTimeout);
    if (!begun.ok) return bluezRefusal(begun.error, 'Pairing mode could not be started');
    if (!this.#pairing.isActive) return failure('refused', 'The adapter was switched off meanwhile');
    this.#endPairingIn(adapter, pairingTimeout * 1000);
    return DONE;
  }

  #endPairingIn(adapter: BluetoothAdapter, ms: number): void {
    // A command that is queued when the timer fires may prolong pairing mode, and set the timer again.
    const isDue = () => !this.#timers.has('pairing');
    this.#timers.set('pairing', ms, () => void this.#endPairingIf(adapter, isDue));
  }

  /** Ends pairing mode after the commands that are queued already, if `isDue` returns true then. */
  #endPairingIf(adapter: BluetoothAdapter, isDue: () => boolean): Promise<void> {
    return this.#turns.run(async () => {
      if (!isDue()) return;
      await this.#stopPairing(adapter);
      this.#parts.onChange();
    });
  }

  /**
   * Ends pairing mode, and makes the adapter neither discoverable nor pairable. If an earlier call has
   * failed, the adapter may still be discoverable or pairable, although pairing mode is off.
   */
  async #stopPairing({ path, Discoverable, Pairable }: BluetoothAdapter): Promise<Answer> {
    this.#timers.cancel('pairing');
    const isDiscoverableOrPairable = Discoverable === true || Pairable === true;
    if (!this.#pairing.isActive && !isDiscoverableOrPairable) return DONE;
    const ended = await this.#pairing.end(path);
    if (ended.ok) return DONE;
    this.#parts.publish.log('warn', 'pairing mode could not be ended', { reason: ended.error.kind });
    return bluezRefusal(ended.error, 'Pairing mode could not be ended, and the node may stay visible');
  }

  /** Switches the adapter on first, as `#beginPairing` does. */
  async #scan(path: string): Promise<Answer> {
    const { bluez, settings } = this.#parts;
    const powered = await this.#switchPower(path, 'on');
    if (!powered.ok) return powered;
    // An error does not matter: without the filter a scan only finds more devices.
    await bluez(BLUEZ_METHODS.setDiscoveryFilter, [SCAN_FILTER], { path });
    const started = await bluez(BLUEZ_METHODS.startDiscovery, [], { path });
    if (!started.ok && !isError(started, BLUEZ_ERRORS.inProgress))
      return bluezRefusal(started.error, 'The scan could not be started');
    this.#timers.set('scan', settings.scanTimeout * 1000, () => void this.#endScanUnlessProlonged(path));
    return DONE;
  }

  #endScanUnlessProlonged(path: string): Promise<void> {
    return this.#turns.run(async () => {
      // If the timer is set again, a queued command has prolonged the scan since the timer fired.
      if (this.#timers.has('scan')) return;
      await this.#endScan(path);
      // If BlueZ ended its scan before the timer fired, no signal comes now, so `onChange` is called here.
      this.#parts.onChange();
    });
  }

  /** If the timer is not set, the daemon has no scan to end. A scan of another program goes on. */
  async #stopScan(path: string): Promise<Answer> {
    if (!this.#timers.has('scan')) return DONE;
    this.#timers.cancel('scan');
    return this.#endScan(path);
  }

  async #endScan(path: string): Promise<Answer> {
    const reply = await this.#parts.bluez(BLUEZ_METHODS.stopDiscovery, [], { path });
    // An error from BlueZ means that the scan has ended already.
    if (reply.ok || reply.error.kind === 'dbus') return DONE;
    return bluezRefusal(reply.error, 'The scan could not be ended');
  }
}
