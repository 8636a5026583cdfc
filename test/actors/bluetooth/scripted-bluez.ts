// A scripted BlueZ on a real bus. It answers calls and announces changes as BlueZ does for an adapter and its
// devices. A test can also make it fail, hang or die.

import { once } from 'node:events';
import { Message, type MessageBus, MessageType, sessionBus, Variant } from 'dbus-next';
import {
  ADAPTER_INTERFACE,
  AGENT_INTERFACE,
  BLUEZ_NAME,
  DEVICE_INTERFACE,
} from '../../../src/protocol/dbus/bluez.js';

const PROPERTIES = 'org.freedesktop.DBus.Properties';
const OBJECT_MANAGER = 'org.freedesktop.DBus.ObjectManager';

export const ADAPTER = '/org/bluez/hci0';
export const PHONE = 'AA:BB:CC:DD:EE:01';
export const SPEAKER = 'AA:BB:CC:DD:EE:02';
export const A2DP_SINK = '0000110b-0000-1000-8000-00805f9b34fb';
export const A2DP_SOURCE = '0000110a-0000-1000-8000-00805f9b34fb';

export const pathOf = (address: string): string => `${ADAPTER}/dev_${address.replaceAll(':', '_')}`;

type PropertyValue = string | boolean | number | readonly string[];
/** The properties of one interface, by name. */
type Facts = Record<string, PropertyValue>;

/** A call fails with this error, or hangs: it has no answer until the test calls `answerHung`. */
type Misbehaviour = { readonly error: string; readonly text?: string } | 'hang';

/** The signature of each property that is neither a text nor a boolean. */
const SIGNATURES: Readonly<Record<string, string>> = {
  DiscoverableTimeout: 'u',
  PairableTimeout: 'u',
  RSSI: 'n',
  Percentage: 'y',
  Adapter: 'o',
  UUIDs: 'as',
};

/** The methods of BlueZ's manuals, each with its interface and the signature of its arguments. */
const METHODS: Readonly<Record<string, string>> = {
  GetManagedObjects: OBJECT_MANAGER,
  RegisterAgent: 'org.bluez.AgentManager1 os',
  RequestDefaultAgent: 'org.bluez.AgentManager1 o',
  UnregisterAgent: 'org.bluez.AgentManager1 o',
  SetDiscoveryFilter: 'org.bluez.Adapter1 a{sv}',
  StartDiscovery: 'org.bluez.Adapter1',
  StopDiscovery: 'org.bluez.Adapter1',
  RemoveDevice: 'org.bluez.Adapter1 o',
  Pair: 'org.bluez.Device1',
  Connect: 'org.bluez.Device1',
  Disconnect: 'org.bluez.Device1',
  Set: `${PROPERTIES} ssv`,
};

/** Methods that BlueZ answers before it announces what they have changed. */
const REPLIES_FIRST: readonly string[] = ['Set', 'Disconnect', 'RemoveDevice'];

const signatureOf = (name: string, value: unknown): string =>
  SIGNATURES[name] ?? (typeof value === 'boolean' ? 'b' : 's');

function mapValues<In, Out>(record: Readonly<Record<string, In>>, convert: (value: In, key: string) => Out) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, convert(value, key)]));
}

const variants = (facts: Facts) =>
  mapValues(facts, (value, name) => new Variant(signatureOf(name, value), value));

export function device(address: string, facts: Facts = {}): Facts {
  return {
    Adapter: ADAPTER,
    Address: address,
    Alias: `Device ${address.slice(-2)}`,
    Paired: false,
    Trusted: false,
    Connected: false,
    ...facts,
  };
}

export class ScriptedBluez {
  /** The properties of all objects, by path, then by interface. */
  readonly objects = new Map<string, Record<string, Facts>>();
  /** All calls, in order, such as `Connect` and `Set Powered=false`. */
  readonly calls: string[] = [];
  /** Calls that fail or hang. A key is the name of a method, or a text as in `calls`. */
  readonly misbehaviours = new Map<string, Misbehaviour>();
  /** Functions that run before a call has its effect and its answer, by the name of the method. */
  readonly onCall = new Map<string, (path: string) => Promise<void> | void>();
  /** The registered agent: its path, and the bus name of its owner. */
  agent: { readonly owner: string; readonly path: string } | undefined;
  /** The services of each device that pairs. BlueZ learns these services after the pairing. */
  offeredServices: readonly string[] = [A2DP_SOURCE];
  /** Calls that hang, in order. */
  readonly #hung: Message[] = [];
  #bus: MessageBus | undefined;
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
    this.objects.set(ADAPTER, { [ADAPTER_INTERFACE]: this.#newAdapter() });
  }

  adapter(path = ADAPTER): Facts {
    return this.objects.get(path)?.[ADAPTER_INTERFACE] ?? {};
  }

  device(address: string): Facts {
    return this.objects.get(pathOf(address))?.[DEVICE_INTERFACE] ?? {};
  }

  /** Connects to the bus. Answers calls even before it takes BlueZ's name, as bluetoothd does. */
  async start(): Promise<void> {
    const bus = sessionBus({ busAddress: this.#address, authMethods: ['EXTERNAL'] });
    bus.on('error', () => undefined);
    await once(bus, 'connect');
    bus.addMethodHandler((message: Message) => this.#answer(bus, message));
    await bus.requestName(BLUEZ_NAME, 0);
    this.#bus = bus;
  }

  /** Leaves the bus, as bluetoothd does when it dies. */
  die(): void {
    this.#bus?.disconnect();
    this.#bus = undefined;
    this.agent = undefined;
  }

  add(path: string, interfaces: Record<string, Facts>): void {
    this.objects.set(path, { ...this.objects.get(path), ...interfaces });
    this.#emit('/', OBJECT_MANAGER, 'InterfacesAdded', 'oa{sa{sv}}', [path, mapValues(interfaces, variants)]);
  }

  addDevice(address: string, facts: Facts = {}): void {
    this.add(pathOf(address), { [DEVICE_INTERFACE]: device(address, facts) });
  }

  remove(path: string): void {
    const interfaces = Object.keys(this.objects.get(path) ?? {});
    this.objects.delete(path);
    this.#emit('/', OBJECT_MANAGER, 'InterfacesRemoved', 'oas', [path, interfaces]);
  }

  plugIn(facts: Facts = {}): void {
    this.add(ADAPTER, { [ADAPTER_INTERFACE]: { ...this.#newAdapter(), ...facts } });
  }

  change(path: string, iface: string, facts: Facts): void {
    const object = this.objects.get(path)?.[iface];
    if (object === undefined) return;
    Object.assign(object, facts);
    this.#emit(path, PROPERTIES, 'PropertiesChanged', 'sa{sv}as', [iface, variants(facts), []]);
  }

  changeDevice(address: string, facts: Facts): void {
    this.change(pathOf(address), DEVICE_INTERFACE, facts);
  }

  /** Ends a connection. A BlueZ before version 5.82 gives no `reason`. */
  endConnection(address: string, reason?: string): void {
    if (reason !== undefined)
      this.#emit(pathOf(address), DEVICE_INTERFACE, 'Disconnected', 'ss', [
        `org.bluez.Reason.${reason}`,
        'Connection ended',
      ]);
    this.changeDevice(address, { Connected: false });
  }

  changeAdapter(facts: Facts): void {
    this.change(ADAPTER, ADAPTER_INTERFACE, facts);
  }

  /** Answers all calls that hang, with `error` or else with success. */
  answerHung(error?: string): void {
    for (const message of this.#hung.splice(0)) {
      if (this.#bus === undefined) continue;
      if (error !== undefined) this.#refuse(this.#bus, message, error);
      else this.#bus.send(Message.newMethodReturn(message));
    }
  }

  /**
   * Calls a method of the registered agent, as bluetoothd does. A test may pass `agent` to call an agent
   * that is no longer registered, or `bus` to call from another connection. Resolves with `done`,
   * `no agent`, or the name of the error.
   */
  async callAgent(
    [member, signature = '', ...body]: readonly [member: string, signature?: string, ...body: unknown[]],
    { agent = this.agent, bus = this.#bus } = {},
  ): Promise<string> {
    if (agent === undefined || bus === undefined) return 'no agent';
    const { owner: destination, path } = agent;
    try {
      await bus.call(new Message({ destination, path, interface: AGENT_INTERFACE, member, signature, body }));
      return 'done';
    } catch (error) {
      return String((error as { readonly type?: string }).type);
    }
  }

  #newAdapter(): Facts {
    const state = { Powered: true, Discoverable: false, Pairable: false, Discovering: false };
    return { Address: '00:AA:01:00:00:00', Alias: 'kitchen', ...state };
  }

  #emit(path: string, iface: string, member: string, signature: string, body: unknown[]): void {
    this.#bus?.send(Message.newSignal(path, iface, member, signature, body));
  }

  #answer(bus: MessageBus, message: Message): boolean {
    const { member, path } = message;
    // dbus-next itself answers the calls of this interface.
    if (message.interface === 'org.freedesktop.DBus.Peer') return false;
    // Only `Set` has three arguments: the interface, the property, and the value.
    const [, property, value] = message.body as [string, string, Variant | undefined];
    const callText = member === 'Set' ? `Set ${property}=${String(value?.value)}` : member;
    this.calls.push(callText);
    const misbehaviour = this.misbehaviours.get(callText) ?? this.misbehaviours.get(member);
    const hasRightType = value === undefined || value.signature === signatureOf(property, value.value);
    const isKnownMethod = METHODS[member] === `${message.interface} ${message.signature}`.trim();
    if (misbehaviour === 'hang') this.#hung.push(message);
    else if (misbehaviour !== undefined) this.#refuse(bus, message, misbehaviour.error, misbehaviour.text);
    else if (isKnownMethod && hasRightType) void this.#carryOut(bus, message, path).catch(() => undefined);
    else this.#refuse(bus, message, 'org.freedesktop.DBus.Error.UnknownMethod');
    return true;
  }

  async #carryOut(bus: MessageBus, message: Message, path: string): Promise<void> {
    const { member } = message;
    await this.onCall.get(member)?.(path);
    if (member === 'GetManagedObjects') {
      const managedObjects = mapValues(Object.fromEntries(this.objects), (interfaces) =>
        mapValues(interfaces, variants),
      );
      bus.send(Message.newMethodReturn(message, 'a{oa{sa{sv}}}', [managedObjects]));
      return;
    }
    // BlueZ takes the calls about agents at `/org/bluez`, which is not in `objects`.
    if (path !== '/org/bluez' && !this.objects.has(path)) {
      this.#refuse(bus, message, 'org.freedesktop.DBus.Error.UnknownObject');
      return;
    }
    if (REPLIES_FIRST.includes(member)) bus.send(Message.newMethodReturn(message));
    this.#applyEffect(message, path);
    if (!REPLIES_FIRST.includes(member)) bus.send(Message.newMethodReturn(message));
  }

  #applyEffect({ member, body, sender }: Message, path: string): void {
    const effects: Readonly<Record<string, () => void>> = {
      RegisterAgent: () => {
        this.agent = { owner: sender ?? '', path: String(body[0]) };
      },
      UnregisterAgent: () => {
        this.agent = undefined;
      },
      Set: () => {
        const [iface, name, { value }] = body as [string, string, Variant];
        // BlueZ announces nothing if the property has this value already.
        if (this.objects.get(path)?.[iface]?.[name] !== value) this.change(path, iface, { [name]: value });
      },
      StartDiscovery: () => this.changeAdapter({ Discovering: true }),
      StopDiscovery: () => this.changeAdapter({ Discovering: false }),
      RemoveDevice: () => this.remove(String(body[0])),
      Pair: () => {
        this.change(path, DEVICE_INTERFACE, { Paired: true, Bonded: true });
        // BlueZ learns the services of a device only after the device has paired.
        this.change(path, DEVICE_INTERFACE, { UUIDs: this.offeredServices });
      },
      Connect: () => this.change(path, DEVICE_INTERFACE, { Connected: true }),
      Disconnect: () => this.change(path, DEVICE_INTERFACE, { Connected: false }),
    };
    effects[member]?.();
  }

  #refuse(bus: MessageBus, call: Message, error: string, text = 'not today'): void {
    const reply = Message.newMethodReturn(call, 's', [text]);
    bus.send(Object.assign(reply, { type: MessageType.ERROR, errorName: error }));
  }
}
