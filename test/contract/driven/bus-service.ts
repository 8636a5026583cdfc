// A scripted service on a real bus, in the place of systemd, logind or Avahi. It answers the calls of the
// built daemon from a table, and records each call.

import { once } from 'node:events';
import { Message, type MessageBus, MessageType, sessionBus } from 'dbus-next';
import type { Ending } from '../daemon.js';

const NO_FLAGS = 0;

export interface BusCall {
  readonly member: string;
  readonly path: string;
  readonly values: readonly unknown[];
}

/** Signature and values of the answer, or the name of an error. */
export type BusAnswer = readonly [signature: string, ...values: unknown[]] | { readonly error: string };
/** Each key is a member: D-Bus's word for a method's name. dbus-next answers other calls with an error. */
export type BusAnswers = Readonly<Record<string, (call: BusCall) => BusAnswer>>;

export class BusService {
  /** Each call as its member and values, such as `StartUnit a.service replace`. */
  readonly calls: string[] = [];
  readonly #bus: MessageBus;

  private constructor(bus: MessageBus, answers: BusAnswers) {
    this.#bus = bus;
    // Without a listener, an `error` event would end the test's process.
    bus.on('error', () => undefined);
    bus.addMethodHandler((message: Message) => this.#answer(message, answers));
  }

  /** Connects to the bus, and owns the name there until `t` ends. */
  static async start(t: Ending, address: string, name: string, answers: BusAnswers): Promise<BusService> {
    const bus = sessionBus({ busAddress: address });
    const service = new BusService(bus, answers);
    t.after(async () => bus.disconnect());
    await once(bus, 'connect');
    await bus.requestName(name, NO_FLAGS);
    return service;
  }

  emit(path: string, interfaceName: string, member: string, signature: string, ...values: unknown[]): void {
    this.#bus.send(Message.newSignal(path, interfaceName, member, signature, values));
  }

  #answer(message: Message, answers: BusAnswers): boolean {
    const { member, path } = message;
    const values: readonly unknown[] = message.body;
    this.calls.push([member, ...values.map(String)].join(' '));
    const answer = answers[member]?.({ member, path, values });
    if (answer === undefined) return false;
    if ('error' in answer) {
      // dbus-next declares `Message.newError` wrongly. So this code turns an ordinary answer into an error.
      const reply = Message.newMethodReturn(message, 's', ['not today']);
      this.#bus.send(Object.assign(reply, { type: MessageType.ERROR, errorName: answer.error }));
      return true;
    }
    const [signature, ...body] = answer;
    this.#bus.send(Message.newMethodReturn(message, signature, body));
    return true;
  }
}
