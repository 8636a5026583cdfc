// The Bluetooth backend: publishes the adapter in use with its devices, and passes commands and signals on.
// BlueZ keeps the state. This thread adds pairing mode, scans, and the attempts to connect devices.

import { type Clock, systemClock } from '../../host/clock.js';
import type { Answer, BluetoothCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { BLUEZ_NAME, BLUEZ_PATH } from '../../protocol/dbus/bluez.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { Bus, type BusOptions, type BusOwner, type CallVerdict } from '../bus/bus.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import { AdapterCommands } from './adapter-commands.js';
import { AutomaticActions } from './automatic.js';
import { type Bluez, blockedDetail, CALL_DEADLINE_MS } from './bluez.js';
import { type BluetoothAdapter, type BluetoothDevice, type BluezChange, BluezObjects } from './objects.js';
import { agentAnswer } from './pairing.js';
import { BluetoothPublisher, IS_CARRIED_OUT } from './publisher.js';
import { BluezReading } from './reading.js';
import { type BluetoothRecords, DeviceOutputs, makeRecords } from './records.js';

/** When the daemon ends, it waits at most this long for the end of pairing mode. */
const STOP_MAX_MS = 300;

type State =
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** `adapter` is the published adapter. `detail` belongs to the status `up` in `/health`. */
  | { readonly kind: 'up'; readonly adapter: BluetoothAdapter; readonly detail: string | undefined };

export class BluetoothBackend implements Actor<BluetoothCommand>, BusOwner {
  readonly #settings: BluetoothSettings;
  readonly #publish: Publisher;
  readonly #bus: Bus<'bluetooth'>;
  readonly #recordPublisher: BluetoothPublisher;
  readonly #commands: AdapterCommands;
  readonly #reading: BluezReading;
  readonly #automatic: AutomaticActions;
  readonly #outputs = new DeviceOutputs();
  #objects = new BluezObjects();
  #state: State = { kind: 'unavailable', reason: 'not connected yet' };
  /** True after an adapter has come into use. The setting `powerOnStart` is only for the first adapter. */
  #hasBeenUp = false;
  /** True while a call of `#update` is queued by `#updateSoon`. */
  #isUpdateQueued = false;
  #isStopped = false;

  constructor(settings: BluetoothSettings, publish: Publisher, clock: Clock, busOptions: BusOptions = {}) {
    this.#settings = settings;
    this.#publish = publish;
    this.#recordPublisher = new BluetoothPublisher(publish, clock, () => this.#currentRecords());
    this.#bus = new Bus('bluetooth', { callDeadlineMs: CALL_DEADLINE_MS, ...busOptions }, this);
    const bluez: Bluez = (method, args, options) => this.#bus.call(method, args, options);
    this.#reading = new BluezReading({
      bluez,
      clock,
      onRead: (objects) => this.#replaceObjects(objects),
      onFailure: (reason) => this.#bluezLost(reason),
    });
    this.#commands = new AdapterCommands({
      bluez,
      settings,
      publish,
      clock,
      onBlocked: (detail) => this.#reportDetail(detail),
      currentDevice: (path) => this.#objects.device(path),
      onChange: () => this.#update(),
      onLateOutcome: () => {
        this.#recordPublisher.publishOutcome();
        this.#update();
      },
      onProgress: (device, progress) => this.#automatic.attemptProgressed(device, progress),
      untilConnected: (address) =>
        this.#recordPublisher.untilPublished(({ devices }) => devices.get(address)?.connected === true),
    });
    this.#automatic = new AutomaticActions({
      settings,
      clock,
      publish,
      commands: this.#commands,
      currentAdapter: () => this.#adapter,
      currentObjects: () => this.#objects,
    });
  }

  async up(): Promise<void> {
    const watchResults = await Promise.all([
      this.#bus.watch({ sender: BLUEZ_NAME, path_namespace: BLUEZ_PATH }),
      // The signals about added and removed objects have this path.
      this.#bus.watch({ sender: BLUEZ_NAME, path: '/' }),
    ]);
    if (!watchResults.every(({ ok }) => ok)) return this.#bus.reconnect('BlueZ cannot be watched');
    this.ownerChanged(BLUEZ_NAME, this.#bus.isRunning(BLUEZ_NAME));
  }

  down(reason: string): void {
    this.#bluezLost(`not connected to the system bus: ${reason}`);
  }

  ownerChanged(_name: string, isOwned: boolean): void {
    if (isOwned) void this.#reading.begin();
    else this.#bluezLost('BlueZ (bluetoothd) is not running');
  }

  signal(signal: Signal): void {
    const outcome = this.#reading.queueDuringReading(signal);
    if (outcome === 'not reading') this.#apply(signal);
    if (outcome === 'full') this.#bus.reconnect('too many signals from BlueZ');
  }

  called(call: Signal): CallVerdict {
    const verdict = agentAnswer(call, (device) => this.#commands.admit(device));
    if (verdict.ok) return verdict;
    const fields = { member: call.member, reason: verdict.error.text };
    this.#publish.log('info', 'a request from BlueZ was refused', fields);
    return verdict;
  }

  async handle(command: BluetoothCommand): Promise<Answer> {
    if (this.#state.kind === 'unavailable')
      return failure('unavailable', `There is no adapter: ${this.#state.reason}`);
    const { adapter } = this.#state;
    if (!('address' in command)) {
      const answer = await this.#commands.switchAdapter(adapter, command.do);
      return this.#answerAfterPublication(command, answer);
    }
    const address = command.address.toUpperCase();
    const device = this.#devices().find(({ Address }) => Address === address);
    if (device === undefined)
      return failure('no-such-device', `There is no device ${JSON.stringify(command.address)}`);
    const answer = await this.#commands.commandDevice(adapter, device, command.do);
    if (answer.ok && command.do === 'disconnect') this.#automatic.leaveDisconnected(device.path);
    return this.#answerAfterPublication(command, answer, address);
  }

  /**
   * BlueZ replies before it announces what it has changed. The answer waits until the change is published, so
   * that a client that has the answer also finds the change in the records. `address` is empty for a command
   * to the adapter. `IS_CARRIED_OUT` lacks `connect`, because connecting.ts itself waits for that outcome.
   */
  async #answerAfterPublication(command: BluetoothCommand, answer: Answer, address = ''): Promise<Answer> {
    const isCarriedOut = IS_CARRIED_OUT[command.do];
    if (answer.ok && isCarriedOut !== undefined)
      await this.#recordPublisher.untilPublished((records) => isCarriedOut(records, address));
    return answer;
  }

  applyChanges(batch: ChangeBatch): void {
    if (this.#outputs.applyChanges(batch)) this.#update();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#reading.cancel();
    this.#automatic.end();
    this.#recordPublisher.forget();
    if (this.#state.kind === 'up') await this.#commands.stop(this.#state.adapter, STOP_MAX_MS);
    this.#bus.stop();
  }

  /** The adapter in use; undefined while there is none. */
  get #adapter(): BluetoothAdapter | undefined {
    return this.#state.kind === 'up' ? this.#state.adapter : undefined;
  }

  #devices(): readonly BluetoothDevice[] {
    const adapter = this.#adapter;
    return adapter === undefined ? [] : this.#objects.devicesOf(adapter.path);
  }

  /** Takes over the objects that were read. If they contain no adapter to use, the backend is unavailable. */
  #replaceObjects(objects: BluezObjects): void {
    const before = this.#objects;
    this.#objects = objects;
    for (const device of objects.devices()) this.#followPairing(device, before.device(device.path));
    this.#update();
    // `#update` reports the reason only if an adapter was in use before. A second report changes nothing.
    if (this.#state.kind === 'unavailable') this.#becomeUnavailable(this.#noAdapterReason());
  }

  /**
   * Applies a signal. One signal must cost little, because a scan by another program brings thousands of
   * signals a second, nearly all about devices. A change without a device is a change of an adapter.
   */
  #apply(signal: Signal): void {
    const change = this.#objects.apply(signal);
    // A signal that changes no object may contain the reason for a disconnection.
    if (change === undefined) this.#automatic.applyDisconnectReason(signal);
    else if (change.before !== undefined || change.after !== undefined) this.#deviceChanged(change);
    else this.#update();
  }

  #deviceChanged(change: BluezChange): void {
    if (change.after === undefined) this.#commands.connecting.deviceRemoved(change.path);
    else this.#followPairing(change.after, change.before);
    this.#automatic.deviceChanged(change);
    this.#updateSoon();
  }

  #followPairing(device: BluetoothDevice, before: BluetoothDevice | undefined): void {
    const adapter = this.#adapter;
    const isOfOurAdapter = adapter !== undefined && device.Adapter === adapter.path;
    if (device.Paired !== true || !isOfOurAdapter) return;
    this.#commands.pairedDeviceChanged(adapter, device, before);
  }

  /** Calls `#update` once for all signals that are read together. */
  #updateSoon(): void {
    if (this.#isUpdateQueued) return;
    this.#isUpdateQueued = true;
    void Promise.resolve().then(() => {
      this.#isUpdateQueued = false;
      this.#update();
    });
  }

  /** Makes the state and the records match the objects of BlueZ. */
  #update(): void {
    if (this.#isStopped) return;
    const before = this.#adapter;
    const adapter = this.#objects.chooseAdapter(this.#settings.adapter, before?.path, this.#commands.isBusy);
    if (adapter === undefined) {
      if (before !== undefined) this.#becomeUnavailable(this.#noAdapterReason());
      return;
    }
    if (before?.path === adapter.path) this.#adapterChanged(before, adapter);
    else this.#useAdapter(adapter);
    this.#automatic.recheck();
  }

  #adapterChanged(before: BluetoothAdapter, adapter: BluetoothAdapter): void {
    if (this.#state.kind === 'up') this.#state = { ...this.#state, adapter };
    if (before.Powered === true && adapter.Powered !== true) this.#commands.adapterSwitchedOff();
    this.#automatic.adapterChanged(before, adapter);
    const hasPowerChanged = before.PowerState !== adapter.PowerState || before.Powered !== adapter.Powered;
    // The detail stays if only other properties have changed, because a command may have reported it.
    if (hasPowerChanged) this.#reportDetail(blockedDetail(adapter));
    this.#recordPublisher.publishSoon();
  }

  #useAdapter(adapter: BluetoothAdapter): void {
    if (this.#state.kind === 'up') this.#becomeUnavailable('another adapter is used from now on');
    const detail = blockedDetail(adapter);
    this.#state = { kind: 'up', adapter, detail };
    this.#recordPublisher.publishNow();
    this.#publish.status('up', detail);
    this.#publish.log('info', 'using the Bluetooth adapter', { adapter: adapter.path });
    void this.#commands.begin(adapter, this.#settings.powerOnStart && !this.#hasBeenUp);
    this.#hasBeenUp = true;
    this.#automatic.adapterChanged(undefined, adapter);
  }

  #reportDetail(detail: string | undefined): void {
    if (this.#state.kind !== 'up' || this.#state.detail === detail) return;
    this.#state = { ...this.#state, detail };
    this.#publish.status('up', detail);
  }

  #noAdapterReason(): string {
    const { adapter } = this.#settings;
    return adapter === undefined ? 'BlueZ has no adapter' : `BlueZ has no adapter ${adapter}`;
  }

  #bluezLost(reason: string): void {
    this.#objects = new BluezObjects();
    this.#becomeUnavailable(reason);
    this.#commands.bluezLost();
  }

  #becomeUnavailable(reason: string): void {
    this.#reading.cancel();
    this.#automatic.end();
    this.#recordPublisher.forget();
    this.#commands.adapterLost();
    const isAlreadyReported = this.#state.kind === 'unavailable' && this.#state.reason === reason;
    this.#state = { kind: 'unavailable', reason };
    if (!isAlreadyReported) this.#publish.status('connecting', reason);
  }

  #currentRecords(): BluetoothRecords | undefined {
    const adapter = this.#adapter;
    return adapter && makeRecords(adapter, this.#devices(), this.#outputs, this.#commands.pairingUntil);
  }
}

export default actorThread<'bluetooth'>(
  (settings, publish) => new BluetoothBackend(settings, publish, systemClock),
);
