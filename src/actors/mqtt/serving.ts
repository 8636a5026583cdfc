// One connection that serves the node's branch: publishes differences and runs commands, until the connection ends or another node wants
// the branch.

import type { Clock } from '../../clock.js';
import { within } from '../../clock.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { CommandQueues, type WaitingRequest } from './command-queues.js';
import { COMMAND_FILTERS, isCommand, requestsOf } from './commands.js';
import { OFFLINE, type OwnTopics } from './own-topics.js';
import type { Publication, RetainedTopics } from './retained-topics.js';

/** Non-retained messages that wait for the broker; beyond this the oldest are dropped. */
const PASSING_MAX = 256;
const PASSING_CHARS_MAX = 1 << 20;
/** For the last status; after this the will publishes it. */
const OFFLINE_DEADLINE_MS = 200;

export interface ServingParts {
  readonly node: Pick<NodeLink, 'ask' | 'log'>;
  readonly clock: Clock;
  readonly topics: OwnTopics;
  readonly states: RetainedTopics;
  readonly control: boolean;
  readonly dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection;
  /** All differences are published, except topics whose text is larger than the broker accepts. Called again when these change. */
  readonly onSettled: (leftOut: readonly string[]) => void;
}

interface PassingMessage {
  readonly topic: string;
  readonly text: string;
}

export class Serving {
  readonly #parts: ServingParts;
  readonly #connection: BrokerConnection;
  readonly #commands = new CommandQueues((request) => this.#carryOut(request));
  readonly #passing: PassingMessage[] = [];
  #passingChars = 0;
  #isPassingsTurn = false;
  #inFlight = 0;
  /** `#leftOut`: topics whose text is too large for the broker; `#settledWithout`: the list that was last reported. */
  readonly #leftOut = new Set<string>();
  #settledWithout: string | undefined;
  #cancelPump: () => void = () => undefined;
  #state: 'opening' | 'open' | 'ended' = 'opening';

  constructor(parts: ServingParts) {
    this.#parts = parts;
    this.#connection = parts.dial((message) => this.#take(message));
  }

  async run(): Promise<string> {
    const { topics, control } = this.#parts;
    const commands = control ? COMMAND_FILTERS.map((filter) => topics.full(filter)) : [];
    if (await this.#connection.ready) {
      // Commands use QoS 0: of a flood at QoS 1 mosquitto drops those above 1000, and so the last ones (measured); a lost connection loses
      // commands either way.
      const isOpen =
        (await this.#connection.subscribe([topics.node, topics.status, topics.who], { qos: 1 })) &&
        (commands.length === 0 || (await this.#connection.subscribe(commands, { qos: 0, rap: true })));
      if (isOpen) this.#open();
    }
    const end = await this.#connection.ended;
    this.#state = 'ended';
    this.#cancelPump();
    return end;
  }

  #open(): void {
    this.#state = 'open';
    this.#parts.topics.isDeviceLeftOut = false;
    this.#touchAll();
    this.pump();
  }

  #touchAll(): void {
    const { topics, states } = this.#parts;
    for (const topic of topics.all()) states.touch(topic);
    states.touchHeld();
  }

  /** Has the topic checked. Before the connection is open this is not needed, because then all are checked. */
  touch(topic: string): void {
    if (this.#state === 'open') this.#parts.states.touch(topic);
  }

  /** Publishes what is due, as far as the broker keeps up. */
  pump(): void {
    if (this.#state !== 'open') return;
    this.#cancelPump();
    const { states, clock } = this.#parts;
    let isMore = true;
    while (isMore && this.#inFlight < this.#connection.window) {
      // In turn, so that neither a flood of refusals nor one of changes delays the other.
      this.#isPassingsTurn = !this.#isPassingsTurn;
      isMore = this.#isPassingsTurn
        ? this.#publishPassing() || this.#publishNext()
        : this.#publishNext() || this.#publishPassing();
    }
    if (this.#inFlight > 0) return;
    const now = clock.monotonic();
    states.tidy(now);
    const leftOut = [...this.#leftOut].sort();
    if (this.#settledWithout !== leftOut.join()) {
      this.#settledWithout = leftOut.join();
      this.#parts.onSettled(leftOut);
    }
    const due = states.dueAt();
    if (due !== undefined) this.#cancelPump = clock.after(Math.max(1, due - now), () => this.pump());
  }

  /** Publishes without retain; `topic` is below the node's. Dropped if too large or, because it is momentary, without a connection. */
  publishPassing(topic: string, text: string): void {
    const full = this.#parts.topics.full(topic);
    if (this.#state !== 'open' || !this.#connection.takes(full, text)) return;
    this.#passing.push({ topic: full, text });
    this.#passingChars += text.length;
    while (this.#passing.length > PASSING_MAX || this.#passingChars > PASSING_CHARS_MAX) this.#shift();
    this.pump();
  }

  async close(): Promise<void> {
    const { topics, clock } = this.#parts;
    if (this.#state === 'open') {
      this.#state = 'ended';
      const isSent = await within(
        clock,
        OFFLINE_DEADLINE_MS,
        this.#connection.publish(topics.status, OFFLINE, true),
      );
      // A DISCONNECT would withdraw the will, which now has to publish the status.
      if (isSent !== true) this.#connection.cut('the service ends');
    }
    await this.#connection.end('the service ends');
  }

  #publishPassing(): boolean {
    const passing = this.#shift();
    if (passing === undefined) return false;
    void this.#publish(passing.topic, passing.text, false, () => undefined);
    return true;
  }

  #publishNext(): boolean {
    const { topics, states, clock } = this.#parts;
    const next = states.next(clock.monotonic(), (publication) => this.#fitted(publication));
    if (next === undefined) return false;
    const before = states.heldAt(topics.device);
    void this.#publish(next.topic, next.text, true, () => {
      states.acknowledged(next.topic);
      if (next.topic === topics.device) this.#deviceIsTold(before);
    });
    return true;
  }

  #deviceIsTold(before: string): void {
    const { topics, states } = this.#parts;
    // A select that has got a new name for the current option shows it only when the state is published again.
    if (topics.isDefaultNewTo(before)) states.again(topics.audioServer);
    // Other topics may have waited for this message.
    this.#touchAll();
  }

  /** A state that is too large is emptied, or the old one would be taken for true. Home Assistant's device stays as it was. */
  #fitted({ topic, text }: Publication): string | undefined {
    const { topics } = this.#parts;
    const isTaken = this.#connection.takes(topic, text);
    if (isTaken) this.#leftOut.delete(topic);
    else this.#leftOut.add(topic);
    if (topic !== topics.device) return isTaken ? text : '';
    if (topics.isDeviceLeftOut === isTaken) this.#touchAll();
    topics.isDeviceLeftOut = !isTaken;
    return isTaken ? text : undefined;
  }

  /** A failed publication has ended the connection; its topic still differs when the next one begins. */
  async #publish(topic: string, text: string, retain: boolean, onDone: () => void): Promise<void> {
    this.#inFlight += 1;
    const done = await this.#connection.publish(topic, text, retain);
    this.#inFlight -= 1;
    if (!done || this.#state !== 'open') return;
    onDone();
    this.pump();
  }

  #shift(): PassingMessage | undefined {
    const passing = this.#passing.shift();
    if (passing !== undefined) this.#passingChars -= passing.text.length;
    return passing;
  }

  #take(message: BrokerMessage): void {
    const { topics, states, control } = this.#parts;
    const { topic, text, retained } = message;
    const below = topics.below(topic);
    if (isCommand(below)) {
      // Without `control` commands are not subscribed to, but a broker may send them all the same.
      if (control) this.#command(below, message);
    } else if (topic === topics.status && (!retained || text === OFFLINE)) {
      // From this process, or the will of our previous connection, which this one may have just replaced, or from a person.
      states.published(topic, text);
      this.pump();
    } else if (!retained && topic === topics.who) {
      states.again(topics.status);
      this.pump();
    } else if (!retained && topic === topics.node && text !== topics.wanted(topic, () => '')) {
      // The next look decides who owns the branch, by the last message on this topic, which both nodes see.
      this.#leave('another node has taken this branch');
    }
  }

  #leave(reason: string): void {
    this.#state = 'ended';
    void this.#connection.end(reason);
  }

  #command(below: string, { topic, text, retained }: BrokerMessage): void {
    // An empty text is how a retained command is removed.
    if (text === '') return;
    if (retained) this.#refuse(topic, RETAINED);
    for (const request of retained ? [] : requestsOf(below, text)) {
      if (!this.#commands.take({ ...request, topic })) this.#refuse(topic, TOO_MANY);
    }
  }

  async #carryOut({ topic, request }: WaitingRequest): Promise<void> {
    const reply = await this.#parts.node.ask(request);
    if (reply.status >= 400) this.#refuse(topic, JSON.parse(reply.body));
  }

  #refuse(topic: string, problem: object): void {
    this.publishPassing('error', JSON.stringify({ ...problem, topic }));
  }
}

/** Refusals that do not come from the gateway, in the form of its problem documents. */
const RETAINED = {
  type: 'urn:tonearm:problem:retained-command',
  title: 'A retained command is not carried out',
  status: 400,
  detail: 'It would be carried out again at each connection: publish commands without the retain flag',
};

const TOO_MANY = {
  type: 'urn:tonearm:problem:too-many-commands',
  title: 'Too many commands are waiting',
  status: 503,
  detail: 'No further command can wait: publish it again later',
};
