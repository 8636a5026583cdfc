// One connection that serves the node's branch: publishes differences and runs commands, until it ends or another node wants the branch.

import { type Clock, within } from '../../clock.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { COMMAND_FILTERS, commandQueues, isCommand, requestsOf, type WaitingRequest } from './commands.js';
import { OFFLINE, ONLINE, type Publication, type RetainedTopics } from './retained-topics.js';

/** From the end of one round of differences to the next: a little above a tenth of a second, for network delays. */
export const ROUND_GAP_MS = 110;
/** Non-retained messages that wait for the broker; beyond this the oldest are dropped. */
const PASSING_MAX = 256;
/** For the last status; after this the will publishes it. */
const OFFLINE_DEADLINE_MS = 200;

export interface ServingParts {
  readonly node: Pick<NodeLink, 'ask' | 'log'>;
  readonly clock: Clock;
  readonly topics: RetainedTopics;
  readonly control: boolean;
  readonly dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection;
  /** All differences are published, except topics whose text is larger than the broker accepts. Called again when these change. */
  readonly onSettled: (leftOut: readonly string[]) => void;
}

export class Serving {
  readonly #parts: ServingParts;
  readonly #connection: BrokerConnection;
  readonly #takeCommand = commandQueues((request) => this.#carryOut(request));
  /** The rest of the present round, which has each topic once at most. */
  #round: Publication[] = [];
  #unacknowledged = 0;
  #leftOut: readonly string[] = [];
  #settledWithout: string | undefined;
  /** Undefined between rounds, while nothing has changed. */
  #rest: 'publishing' | (() => void) | undefined;
  #hasChanged = false;
  readonly #passing: Publication[] = [];
  #inFlight = 0;
  #state: 'opening' | 'open' | 'ended' = 'opening';

  constructor(parts: ServingParts) {
    this.#parts = parts;
    this.#connection = parts.dial((message) => this.#take(message));
  }

  async run(): Promise<string> {
    const { topics, control } = this.#parts;
    const commands = control ? COMMAND_FILTERS.map((filter) => topics.full(filter)) : [];
    const watched = [topics.node, topics.status, topics.full('who')];
    // Commands use QoS 0: of a flood at QoS 1 mosquitto drops the last ones (measured), and a lost connection loses either kind.
    const isOpen =
      (await this.#connection.ready) &&
      (await this.#connection.subscribe(watched, { qos: 1 })) &&
      (commands.length === 0 || (await this.#connection.subscribe(commands, { qos: 0, rap: true })));
    if (isOpen && this.#state === 'opening') {
      this.#state = 'open';
      this.changed();
    }
    const reason = await this.#connection.ended;
    this.#end();
    return reason;
  }

  /** Call it when the wanted texts may differ: what then differs is published in the next round. */
  changed(): void {
    this.#hasChanged = true;
    if (this.#state === 'open' && this.#rest === undefined) this.#beginRound();
  }

  /** Publishes a message that is not retained or, because it is momentary, drops it without a connection. */
  publishPassing(topic: string, text: string): void {
    const message = { topic: this.#parts.topics.full(topic), text };
    if (this.#state !== 'open' || !this.#connection.takes(message.topic, text)) return;
    this.#passing.push(message);
    if (this.#passing.length > PASSING_MAX) this.#passing.shift();
    this.#pump();
  }

  async close(): Promise<void> {
    const { topics, clock } = this.#parts;
    const wasOpen = this.#state === 'open';
    this.#end();
    if (wasOpen) {
      const offline = this.#connection.publish(topics.status, OFFLINE, true);
      // A DISCONNECT would withdraw the will, which now has to publish the status.
      if ((await within(clock, OFFLINE_DEADLINE_MS, offline)) !== true)
        this.#connection.cut('the service ends');
    }
    await this.#connection.end('the service ends');
  }

  #end(): void {
    this.#state = 'ended';
    if (typeof this.#rest === 'function') this.#rest();
  }

  #beginRound(): void {
    this.#hasChanged = false;
    this.#rest = 'publishing';
    const takes: BrokerConnection['takes'] = (topic, text) => this.#connection.takes(topic, text);
    const { publications, leftOut } = this.#parts.topics.differences(takes);
    this.#round = [...publications];
    this.#unacknowledged = publications.length;
    this.#leftOut = leftOut;
    if (publications.length === 0) this.#endRound();
    else this.#pump();
  }

  #endRound(): void {
    if (this.#settledWithout !== this.#leftOut.join()) {
      this.#settledWithout = this.#leftOut.join();
      this.#parts.onSettled(this.#leftOut);
    }
    this.#rest = this.#parts.clock.after(ROUND_GAP_MS, () => {
      this.#rest = undefined;
      if (this.#hasChanged) this.#beginRound();
    });
  }

  /** Publishes as far as the broker keeps up. Neither starves the other: a topic is in each round once, and few messages wait. */
  #pump(): void {
    while (this.#state === 'open' && this.#inFlight < this.#connection.window) {
      const state = this.#round.shift();
      const next = state ?? this.#passing.shift();
      if (next === undefined) return;
      void this.#publish(next, state !== undefined);
    }
  }

  /** A failed publication has ended the connection; its topic still differs when the next one begins. */
  async #publish(message: Publication, isRetained: boolean): Promise<void> {
    this.#inFlight += 1;
    const isDone = await this.#connection.publish(message.topic, message.text, isRetained);
    this.#inFlight -= 1;
    if (!isDone || this.#state !== 'open') return;
    if (isRetained) this.#acknowledged(message);
    this.#pump();
  }

  #acknowledged(message: Publication): void {
    const { topics } = this.#parts;
    topics.acknowledged(message);
    // Other topics may have waited for this message.
    if (message.topic === topics.device) this.#hasChanged = true;
    this.#unacknowledged -= 1;
    if (this.#unacknowledged === 0) this.#endRound();
  }

  #take(message: BrokerMessage): void {
    const { topics, control } = this.#parts;
    const { topic, text, retained } = message;
    const below = topics.below(topic);
    if (isCommand(below)) {
      // Without `control` commands are not subscribed to, but a broker may send them all the same.
      if (control) this.#command(below, message);
    } else if (topic === topics.status ? text !== ONLINE : below === 'who' && !retained) {
      // A question whether the node lives; or a status of others, or the will of our previous connection, which this one has replaced.
      topics.again(topics.status);
      this.changed();
    } else if (!retained && topic === topics.node && text !== topics.identifier) {
      // The next look decides who owns the branch, by the last message on this topic, which both nodes see.
      this.#end();
      void this.#connection.end('another node has taken this branch');
    }
  }

  #command(below: string, { topic, text, retained }: BrokerMessage): void {
    // An empty text is how a retained command is removed.
    if (text === '') return;
    if (retained) this.#refuse(topic, RETAINED);
    for (const request of retained ? [] : requestsOf(below, text))
      if (!this.#takeCommand({ ...request, topic })) this.#refuse(topic, TOO_MANY);
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
