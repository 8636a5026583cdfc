// The Bluetooth backend: decides which adapter is used, publishes it with its devices, and runs commands.
// BlueZ keeps all state. Only what a client has requested is kept here: pairing mode, a scan, a connection.

import { type Clock, systemClock } from '../../host/clock.js';
import type { Answer, BluetoothCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { BLUEZ_NAME, BLUEZ_PATHS, POWER_BLOCKED } from '../../protocol/dbus/bluez.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { Bus, type BusOptions, type BusOwner, type CallVerdict } from '../bus/bus.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import { AdapterCommands } from './adapter-commands.js';
import { AutomaticActions } from './automatic.js';
import { type Bluez, CALL_DEADLINE_MS } from './bluez.js';
import { type Adapter, BluezObjects, type Device } from './objects.js';
import { agentAnswer } from './pairing.js';
import { BluetoothPublisher, IS_DONE } from './publisher.js';
import { BluezReading } from './reading.js';
import { type BluetoothRecords, DeviceOutputs, recordsOf } from './records.js';

/** The end of the daemon waits at most so long until the node is hidden. */
const STOP_MAX_MS = 300;

type State =
  | { readonly kind: 'unavailable'; readonly reason: string }
  /**
   * `adapter` is the one that is published; `detail` is that of `up` in `/health`, and '' if there is none.
   */
  | { readonly kind: 'up'; readonly adapter: Adapter; readonly detail: string };

export class BluetoothBackend implements Actor<BluetoothCommand>, BusOwner {
  readonly #settings: BluetoothSettings;
  readonly #publish: Publisher;
  readonly #bus: Bus<'bluetooth'>;
  readonly #publisher: BluetoothPublisher;
  readonly #commands: AdapterCommands;
  readonly #reading: BluezReading;
  readonly #automatic: AutomaticActions;
  readonly #outputs = new DeviceOutputs();
  #objects = new BluezObjects();
  #state: State = { kind: 'unavailable', reason: 'not connected yet' };
  /** The adapter is switched on at the start only, and not when it comes back. */
  #hasBeenUp = false;
  /** True while `#changed` is to be called at the end of this turn. */
  #isChangeQueued = false;
  #isStopped = false;

  constructor(settings: BluetoothSettings, publish: Publisher, clock: Clock, bus: BusOptions = {}) {
    this.#settings = settings;
    this.#publish = publish;
    this.#publisher = new BluetoothPublisher(publish, clock, () => this.#recordsNow());
    this.#bus = new Bus('bluetooth', { callDeadlineMs: CALL_DEADLINE_MS, ...bus }, this);
    const bluez: Bluez = (method, args, options) => this.#bus.call(method, args, options);
    this.#reading = new BluezReading({
      bluez,
      clock,
      done: (objects) => this.#hasRead(objects),
      failed: (reason) => this.#forget(reason),
    });
    this.#commands = new AdapterCommands({
      bluez,
      settings,
      publish,
      clock,
      blocked: (detail) => this.#reportDetail(detail),
      changed: () => this.#changed(),
      ended: () => {
        this.#publisher.ended();
        this.#changed();
      },
      untilConnected: (address) =>
        this.#publisher.untilPublished(({ devices }) => devices.get(address)?.connected === true),
    });
    this.#automatic = new AutomaticActions({
      settings,
      clock,
      publish,
      commands: this.#commands,
      adapter: () => this.#adapter,
      objects: () => this.#objects,
    });
  }

  async up(): Promise<void> {
    const watched = await Promise.all([
      this.#bus.watch({ sender: BLUEZ_NAME, path_namespace: BLUEZ_PATHS }),
      this.#bus.watch({ sender: BLUEZ_NAME, path: '/' }),
    ]);
    if (!watched.every(({ ok }) => ok)) throw new Error('BlueZ cannot be watched');
    this.ownerChanged(BLUEZ_NAME, this.#bus.isRunning(BLUEZ_NAME));
  }

  down(reason: string): void {
    this.#forget(`not connected to the system bus: ${reason}`);
  }

  ownerChanged(_name: string, owned: boolean): void {
    if (owned) void this.#reading.begin();
    else this.#forget('BlueZ (bluetoothd) is not running');
  }

  signal(signal: Signal): void {
    if (!this.#reading.queues(signal)) this.#apply(signal);
  }

  called(call: Signal): CallVerdict {
    const verdict = agentAnswer(call, (device) => this.#commands.admits(device));
    const { member } = call;
    if (!verdict.ok)
      this.#publish.log('info', 'a request from BlueZ was refused', { member, reason: verdict.error.text });
    return verdict;
  }

  async handle(command: BluetoothCommand): Promise<Answer> {
    if (this.#state.kind === 'unavailable')
      return failure('unavailable', `There is no adapter: ${this.#state.reason}`);
    const { adapter } = this.#state;
    if (!('address' in command))
      return this.#oncePublished(command, await this.#commands.switchAdapter(adapter, command.do));
    const address = command.address.toUpperCase();
    const device = this.#devices().find(({ Address }) => Address === address);
    if (device === undefined)
      return failure('no-such-device', `There is no device ${JSON.stringify(command.address)}`);
    const answer = await this.#commands.commandDevice(adapter, device, command.do);
    if (answer.ok && command.do === 'disconnect') this.#automatic.left(device.path);
    return this.#oncePublished(command, answer, address);
  }

  /**
   * BlueZ replies before it announces what it has changed. The answer waits for the change, so that a client
   * that has the answer also finds the change.
   */
  async #oncePublished(command: BluetoothCommand, answer: Answer, address = ''): Promise<Answer> {
    const isDone = IS_DONE[command.do];
    if (answer.ok && isDone !== undefined)
      await this.#publisher.untilPublished((records) => isDone(records, address));
    return answer;
  }

  applyChanges(batch: ChangeBatch): void {
    if (this.#outputs.applyChanges(batch)) this.#changed();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#reading.cancel();
    this.#automatic.end();
    this.#publisher.forget();
    if (this.#state.kind === 'up') await this.#commands.leave(this.#state.adapter, STOP_MAX_MS);
    this.#bus.stop();
  }

  /** The adapter in use; undefined while there is none. */
  get #adapter(): Adapter | undefined {
    return this.#state.kind === 'up' ? this.#state.adapter : undefined;
  }

  /** The devices of our adapter. */
  #devices(): readonly Device[] {
    const adapter = this.#adapter;
    return adapter === undefined ? [] : this.#objects.devicesOf(adapter.path);
  }

  #hasRead(objects: BluezObjects): void {
    const before = this.#objects;
    this.#objects = objects;
    for (const device of objects.devices()) this.#followPairing(device, before.device(device.path));
    this.#changed();
    if (this.#state.kind === 'unavailable') this.#adapterLost(this.#missing());
  }

  /**
   * Applies a signal. A scan by another program brings thousands of signals a second, nearly all about
   * devices, so one signal must cost little.
   */
  #apply(signal: Signal): void {
    const change = this.#objects.apply(signal);
    if (change === undefined) {
      this.#automatic.applyReason(signal);
      return;
    }
    const { before, after } = change;
    if (before === undefined && after === undefined) this.#changed();
    else {
      if (after !== undefined) this.#followPairing(after, before);
      this.#automatic.deviceChanged(change);
      this.#changedSoon();
    }
  }

  #followPairing(device: Device, before: Device | undefined): void {
    const adapter = this.#adapter;
    if (device.Paired !== true || adapter === undefined || device.Adapter !== adapter.path) return;
    this.#commands.pairedDeviceChanged(adapter, device, before && before.Paired === true);
  }

  /** Calls `#changed` once for all signals that are read together. */
  #changedSoon(): void {
    if (this.#isChangeQueued) return;
    this.#isChangeQueued = true;
    void Promise.resolve().then(() => {
      this.#isChangeQueued = false;
      this.#changed();
    });
  }

  /** Makes the state and the records match the objects of BlueZ. */
  #changed(): void {
    if (this.#isStopped) return;
    const before = this.#adapter;
    const adapter = this.#objects.adapter(this.#settings.adapter, before?.path, this.#commands.isBusy);
    if (adapter === undefined) {
      if (before !== undefined) this.#adapterLost(this.#missing());
      return;
    }
    if (before?.path === adapter.path) this.#adapterChanged(before, adapter);
    else this.#arrived(adapter);
    this.#automatic.watch();
  }

  #adapterChanged(before: Adapter, adapter: Adapter): void {
    if (this.#state.kind === 'up') this.#state = { ...this.#state, adapter };
    if (before.Powered === true && adapter.Powered !== true) this.#commands.wasSwitchedOff();
    this.#automatic.adapterChanged(before, adapter);
    if (before.PowerState !== adapter.PowerState || before.Powered !== adapter.Powered)
      this.#reportDetail(blockedIn(adapter));
    this.#publisher.changed();
  }

  #arrived(adapter: Adapter): void {
    if (this.#state.kind === 'up') this.#adapterLost('another adapter is used from now on');
    const detail = blockedIn(adapter);
    this.#state = { kind: 'up', adapter, detail };
    this.#publisher.publishNow();
    this.#publishUp(detail);
    this.#publish.log('info', 'using the Bluetooth adapter', { adapter: adapter.path });
    void this.#commands.begin(adapter, this.#settings.powerOnStart && !this.#hasBeenUp);
    this.#hasBeenUp = true;
    this.#automatic.adapterChanged(undefined, adapter);
  }

  #reportDetail(detail: string): void {
    if (this.#state.kind !== 'up' || this.#state.detail === detail) return;
    this.#state = { ...this.#state, detail };
    this.#publishUp(detail);
  }

  #publishUp(detail: string): void {
    this.#publish.status('up', detail === '' ? undefined : detail);
  }

  #missing(): string {
    const { adapter } = this.#settings;
    return `BlueZ has no adapter${adapter === undefined ? '' : ` ${adapter}`}`;
  }

  /** Forgets everything about BlueZ. */
  #forget(reason: string): void {
    this.#objects = new BluezObjects();
    this.#adapterLost(reason);
    this.#commands.bluezLost();
  }

  #adapterLost(reason: string): void {
    this.#reading.cancel();
    this.#automatic.end();
    this.#publisher.forget();
    this.#commands.adapterLost();
    const isNews = this.#state.kind === 'up' || this.#state.reason !== reason;
    this.#state = { kind: 'unavailable', reason };
    if (isNews) this.#publish.status('connecting', reason);
  }

  #recordsNow(): BluetoothRecords | undefined {
    const adapter = this.#adapter;
    return adapter && recordsOf(adapter, this.#devices(), this.#outputs, this.#commands.until);
  }
}

function blockedIn({ PowerState }: Adapter): string {
  return PowerState === POWER_BLOCKED ? 'The adapter is blocked by rfkill' : '';
}

export default actorThread<'bluetooth'>(
  (settings, publish) => new BluetoothBackend(settings, publish, systemClock),
);
