// Trusts devices that were accepted, each when it has paired and turns out to be for sound, and forgets those that nobody wanted.

import { BLUEZ_METHODS, isInputService, isSoundService } from '../../protocol/dbus/bluez.js';
import type { Publisher } from '../runtime.js';
import type { Bluez } from './bluez.js';
import type { Adapter, Device } from './objects.js';
import { trust } from './pairing.js';

const ADMITTED_MAX = 16;

export class Admission {
  readonly #bluez: Bluez;
  readonly #publish: Pick<Publisher, 'log'>;
  /** By path, until it is decided. */
  readonly #devices = new Map<string, 'may pair' | 'has paired'>();

  constructor(bluez: Bluez, publish: Pick<Publisher, 'log'>) {
    this.#bluez = bluez;
    this.#publish = publish;
  }

  includes(device: string): boolean {
    return this.#devices.has(device);
  }

  admit(device: string): void {
    if (!this.#devices.has(device)) this.#put(device, 'may pair');
  }

  hasPaired(device: string): void {
    this.#put(device, 'has paired');
  }

  clear(): void {
    this.#devices.clear();
  }

  /** Undefined if it is not to be decided, or not yet, as BlueZ does not know its services. Resolves when it is trusted, or not. */
  decide({ path, UUIDs = [] }: Device): Promise<void> | undefined {
    if (this.#devices.get(path) !== 'has paired') return undefined;
    const isInput = UUIDs.some(isInputService);
    if (!isInput && !UUIDs.some(isSoundService)) return undefined;
    this.#devices.delete(path);
    return this.#decided(path, !isInput);
  }

  /**
   * For a device that has paired unasked. BlueZ makes all adapters pairable while any agent is registered, and under one that has neither keys
   * nor a display, as ours for a connection, the kernel accepts everybody and asks nobody. Who pairs a device by another program has
   * found it first, or has made the adapter discoverable: that one stays.
   */
  async refuse(
    { path: adapter, Discoverable }: Adapter,
    device: Device,
    isConnecting: boolean,
  ): Promise<void> {
    const { path, Trusted, wasFound } = device;
    if (Discoverable === true || Trusted === true || (wasFound && !isConnecting)) return;
    const { ok: isForgotten } = await this.#bluez(BLUEZ_METHODS.removeDevice, [path], { path: adapter });
    this.#publish.log('warn', 'a device has paired unasked', { device: path, isForgotten });
  }

  async #decided(device: string, isForSound: boolean): Promise<void> {
    const isTrusted = isForSound && (await trust(this.#bluez, device)).ok;
    this.#publish.log('info', 'a device has paired', { device, isTrusted });
  }

  #put(device: string, state: 'may pair' | 'has paired'): void {
    if (this.#devices.size < ADMITTED_MAX || this.#devices.has(device)) this.#devices.set(device, state);
  }
}
