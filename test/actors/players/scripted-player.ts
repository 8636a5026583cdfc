// A scripted media player on a real bus. It can also do what no real player does.

import { once } from 'node:events';
import { Message, type MessageBus, MessageType, sessionBus, Variant } from 'dbus-next';
import {
  PLAYER_INTERFACE,
  PLAYER_NAME_PREFIX,
  PLAYER_PATH,
  ROOT_INTERFACE,
} from '../../../src/protocol/dbus/mpris.js';
import type { PrivateBus } from '../bus/private-bus.js';

const PROPERTIES = 'org.freedesktop.DBus.Properties';
const NO_FLAGS = 0;

export type Properties = Readonly<Record<string, Variant>>;
/** A test, or anything else that runs a function at its end. */
type Ending = { after(end: () => unknown): void };
type Reachable = Pick<PrivateBus, 'address'>;

/**
 * A call fails with this error, or hangs: it has no answer until the test calls `answerHung` or `refuseHung`.
 */
type Misbehaviour = { readonly error: string } | 'hang';

const ROOT: Properties = {
  Identity: new Variant('s', 'Scripted'),
  CanRaise: new Variant('b', false),
  CanQuit: new Variant('b', true),
};

const CAPABILITIES = ['CanGoNext', 'CanGoPrevious', 'CanPlay', 'CanPause', 'CanSeek', 'CanControl'];
const PLAYER: Properties = {
  PlaybackStatus: new Variant('s', 'Paused'),
  Rate: new Variant('d', 1),
  Volume: new Variant('d', 0.5),
  Position: new Variant('x', 1_000_000),
  ...Object.fromEntries(CAPABILITIES.map((name) => [name, new Variant('b', true)])),
};

/** A text gets D-Bus's type `s`, and a list of texts `as`. A `Variant` has its type already. */
export function metadata(values: Readonly<Record<string, string | string[] | Variant>>): Variant {
  const typed = Object.entries(values).map(([key, value]) => {
    if (value instanceof Variant) return [key, value];
    return [key, Array.isArray(value) ? new Variant('as', value) : new Variant('s', value)];
  });
  return new Variant('a{sv}', Object.fromEntries(typed));
}

export class ScriptedPlayer {
  /** The properties that GetAll and Get return, by interface. */
  readonly properties: Record<string, Record<string, Variant>> = {
    [ROOT_INTERFACE]: { ...ROOT },
    [PLAYER_INTERFACE]: { ...PLAYER },
  };
  /** All calls, in order: `Play`, `Seek 5`, `Set Volume 0.5`, `GetAll org.mpris.MediaPlayer2`. */
  readonly calls: string[] = [];
  /** The calls that fail or hang, by the name of the method. */
  readonly misbehaviours = new Map<string, Misbehaviour>();
  /** Each GetAll of this interface hangs. */
  hungInterface = '';
  /** Calls that hang, in order. */
  readonly #hung: Message[] = [];
  readonly #bus: MessageBus;
  #hasLeft = false;

  private constructor(bus: MessageBus) {
    this.#bus = bus;
    // The bus may end before the player leaves. Without a listener, the error event would throw.
    bus.on('error', () => undefined);
    bus.addMethodHandler((message: Message) => this.#answer(message));
  }

  /** Connects a player that has no name on the bus. It leaves when the test ends. */
  static async connect(t: Ending, { address }: Reachable): Promise<ScriptedPlayer> {
    const bus = sessionBus({ busAddress: address });
    const player = new ScriptedPlayer(bus);
    t.after(() => player.leave());
    await once(bus, 'connect');
    return player;
  }

  /**
   * Connects a player that has this name on the bus. `properties` belong to the interface Player. They are
   * added to the usual properties, or replace them.
   */
  static async start(t: Ending, bus: Reachable, name = 'scripted', properties: Properties = {}) {
    const player = await ScriptedPlayer.connect(t, bus);
    Object.assign(player.properties[PLAYER_INTERFACE] ?? {}, properties);
    await player.requestName(name);
    return player;
  }

  /** Resolves with 1 if the player now owns the name, and with 2 if the player must wait for the name. */
  requestName(name: string): Promise<number> {
    return this.#bus.requestName(PLAYER_NAME_PREFIX + name, NO_FLAGS);
  }

  async releaseName(name: string): Promise<void> {
    await this.#bus.releaseName(PLAYER_NAME_PREFIX + name);
  }

  /** Changes properties of the interface Player, and announces them. */
  change(changed: Properties): void {
    Object.assign(this.properties[PLAYER_INTERFACE] ?? {}, changed);
    this.announce(changed);
  }

  /**
   * Sends the signal PropertiesChanged. The answers to GetAll and Get stay the same. `invalidated` names
   * properties whose new values the signal lacks.
   */
  announce(changed: Properties, invalidated: readonly string[] = [], iface = PLAYER_INTERFACE): void {
    this.emit(PROPERTIES, 'PropertiesChanged', 'sa{sv}as', [iface, { ...changed }, [...invalidated]]);
  }

  announceSeek(positionUs: number): void {
    this.emit(PLAYER_INTERFACE, 'Seeked', 'x', [BigInt(positionUs)]);
  }

  emit(iface: string, member: string, signature: string, body: readonly unknown[]): void {
    this.#bus.send(Message.newSignal(PLAYER_PATH, iface, member, signature, [...body]));
  }

  /** Sends these properties as the answer to each call that hangs. */
  answerHung(properties: Properties): void {
    for (const message of this.#hung.splice(0)) this.#sendProperties(message, properties);
  }

  /** Answers each call that hangs with this error. */
  refuseHung(errorName: string): void {
    for (const message of this.#hung.splice(0)) this.#refuse(message, errorName);
  }

  leave(): void {
    this.#hasLeft = true;
    this.#bus.disconnect();
  }

  #answer(message: Message): boolean {
    // After the player has left, an answer would make dbus-next throw where nothing can catch the error.
    if (this.#hasLeft) return true;
    if (message.path !== PLAYER_PATH) return false;
    const { member, body } = message;
    const texts = body.map((value: unknown) => String(value instanceof Variant ? value.value : value));
    // The first argument of Set is the interface, which `calls` omits.
    const recordedTexts = member === 'Set' ? texts.slice(1) : texts;
    this.calls.push([member, ...recordedTexts].join(' '));
    const misbehaviour = this.misbehaviours.get(member);
    const isGetAll = member === 'GetAll';
    if (misbehaviour === 'hang' || (isGetAll && this.hungInterface === body[0])) this.#hung.push(message);
    else if (misbehaviour !== undefined) this.#refuse(message, misbehaviour.error);
    else if (isGetAll) this.#sendProperties(message, this.properties[String(body[0])]);
    else if (member === 'Get')
      this.#sendProperty(message, this.properties[String(body[0])]?.[String(body[1])]);
    else this.#reply(Message.newMethodReturn(message));
    return true;
  }

  #sendProperties(message: Message, properties: Properties | undefined): void {
    if (properties === undefined) this.#refuse(message, 'org.freedesktop.DBus.Error.UnknownMethod');
    else this.#reply(Message.newMethodReturn(message, 'a{sv}', [properties]));
  }

  #sendProperty(message: Message, value: Variant | undefined): void {
    if (value === undefined) this.#refuse(message, 'org.freedesktop.DBus.Error.UnknownProperty');
    else this.#reply(Message.newMethodReturn(message, 'v', [value]));
  }

  #refuse(call: Message, errorName: string): void {
    // The error is made from a reply, because dbus-next declares `Message.newError` wrongly.
    const reply = Message.newMethodReturn(call, 's', ['not today']);
    this.#reply(Object.assign(reply, { type: MessageType.ERROR, errorName }));
  }

  /**
   * Sends the reply, unless the connection is closed. If this method threw then, dbus-next would send an
   * error on the closed connection. The exception of that second attempt could be caught nowhere.
   */
  #reply(message: Message): void {
    try {
      this.#bus.send(message);
    } catch (error) {
      if (!String(error).includes('stream is closed')) throw error;
    }
  }
}
