// One connection that serves the node's branch: publishes differences and runs commands, until it ends or
// another node wants the branch.

import { type Clock, within } from '../../clock.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import {
  COMMAND_FILTERS,
  commandQueues,
  isCommand,
  requestsOf,
  type WaitingRequest,
  withReferences,
} from './commands.js';
import { RETAINED, TOO_MANY } from './refusals.js';
import { type LeftOut, OFFLINE, ONLINE, type Publication, type RetainedTopics } from './retained-topics.js';

/**
 * From the end of one round of differences to the next: a little above a tenth of a second, for network
 * delays.
 */
export const ROUND_GAP_MS = 110;
/** Non-retained messages that wait for the broker; beyond this the oldest are dropped. */
const PASSING_MAX = 256;
/** For the last status; after this the will publishes it. */
const OFFLINE_DEADLINE_MS = 200;

const TOO_LARGE = 'too large for the broker';
const refusedBecause = (reason: string): string => `refused by the broker (${reason})`;

export interface ServingParts {
  readonly node: Pick<NodeLink, 'ask' | 'log'>;
  readonly clock: Clock;
  readonly topics: RetainedTopics;
  readonly control: boolean;
  readonly dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection;
  /**
   * All differences are published, except the topics that are left out. Called again when these or the
   * device's owner change.
   */
  readonly onSettled: (leftOut: readonly LeftOut[]) => void;
}

export class Serving {
  readonly #parts: ServingParts;
  readonly #connection: BrokerConnection;
  readonly #takeCommand = commandQueues((request) => this.#carryOut(request));
  /** The rest of the present round, which has each topic once at most. */
  #round: Publication[] = [];
  #unacknowledged = 0;
  #tooLarge: readonly string[] = [];
  /** Subscriptions that the broker refuses. */
  readonly #refusedFilters: LeftOut[] = [];
  /** The status of the node that publishes the device instead of this one; '' for none. */
  #watchedStatus = '';
  #settledWithout: string | undefined;
  /** Undefined between rounds, while nothing has changed. */
  #rest: 'publishing' | (() => void) | undefined;
  #hasChanged = false;
  readonly #passing: Publication[] = [];
  #inFlight = 0;
  #state: 'opening' | 'open' | 'ended' = 'opening';

  constructor(parts: ServingParts) {
    this.#parts = parts;
    this.#connection = parts.dial((message) => this.#receive(message));
  }

  async run(): Promise<string> {
    const { topics, control } = this.#parts;
    const commands = control ? COMMAND_FILTERS.map((filter) => topics.full(filter)) : [];
    const watched = [topics.node, topics.status, topics.full('who'), topics.device];
    // Commands use QoS 0: of a flood at QoS 1 mosquitto drops the last ones (measured), and a lost connection
    // loses either kind.
    const isOpen =
      (await this.#connection.ready) &&
      (await this.#subscribe(watched, { qos: 1 })) &&
      (commands.length === 0 || (await this.#subscribe(commands, { qos: 0, rap: true })));
    if (isOpen && this.#state === 'opening') {
      this.#state = 'open';
      this.#watchDeviceOwner();
      this.changed();
      this.#pump();
    }
    const reason = await this.#connection.ended;
    this.#end();
    return reason;
  }

  /** False if the connection has ended. */
  async #subscribe(...[filters, how]: Parameters<BrokerConnection['subscribe']>): Promise<boolean> {
    const answer = await this.#connection.subscribe(filters, how);
    if (typeof answer === 'boolean') return answer;
    for (const topic of answer.topics)
      this.#refusedFilters.push({ topic, reason: refusedBecause(answer.reason) });
    return true;
  }

  /** When the other node goes, its device is this one's. */
  #watchDeviceOwner(): void {
    const { deviceOwner } = this.#parts.topics;
    const status = deviceOwner === undefined ? '' : `${deviceOwner}/status`;
    if (status === this.#watchedStatus || this.#state !== 'open') return;
    if (this.#watchedStatus !== '') void this.#connection.unsubscribe([this.#watchedStatus]);
    this.#watchedStatus = status;
    if (status !== '') void this.#subscribe([status], { qos: 1 });
  }

  /** Call it when the wanted texts may differ: what then differs is published in the next round. */
  changed(): void {
    this.#hasChanged = true;
    if (this.#state === 'open' && this.#rest === undefined) this.#beginRound();
  }

  /**
   * Publishes a message that is not retained. It is momentary: what cannot be published on this connection is
   * dropped.
   */
  publishPassing(topic: string, text: string): void {
    if (this.#state === 'ended') return;
    // While the connection opens it waits: the refusals of retained commands come then.
    this.#passing.push({ topic: this.#parts.topics.full(topic), text });
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
    const accepts: BrokerConnection['accepts'] = (topic, text) => this.#connection.accepts(topic, text);
    const { publications, leftOut } = this.#parts.topics.differences(accepts);
    this.#round = [...publications];
    this.#unacknowledged = publications.length;
    this.#tooLarge = leftOut;
    if (publications.length === 0) this.#endRound();
    else this.#pump();
  }

  #endRound(): void {
    const leftOut = this.#leftOut();
    const { topics } = this.#parts;
    const [refused] = topics.refused;
    if (refused !== undefined && topics.isBranchEmpty) {
      // Nothing at all may be written here.
      this.#connection.cut(`the broker refuses ${refused.topic}: ${refused.reason}`);
      return;
    }
    const without = JSON.stringify([topics.deviceOwner, leftOut]);
    if (this.#settledWithout !== without) {
      this.#settledWithout = without;
      this.#parts.onSettled(leftOut);
    }
    this.#rest = this.#parts.clock.after(ROUND_GAP_MS, () => {
      this.#rest = undefined;
      if (this.#hasChanged) this.#beginRound();
    });
  }

  #leftOut(): readonly LeftOut[] {
    const refused = this.#parts.topics.refused.map(({ topic, reason }) => {
      return { topic, reason: refusedBecause(reason) };
    });
    const tooLarge = this.#tooLarge.map((topic) => ({ topic, reason: TOO_LARGE }));
    return [...tooLarge, ...refused, ...this.#refusedFilters];
  }

  /**
   * Publishes as far as the broker keeps up. Neither starves the other: a topic is in each round once, and
   * few messages wait.
   */
  #pump(): void {
    while (this.#state === 'open' && this.#inFlight < this.#connection.window) {
      const state = this.#round.shift();
      const next = state ?? this.#nextPassing();
      if (next === undefined) return;
      void this.#publish(next, state !== undefined);
    }
  }

  /** Without those that the broker does not take. */
  #nextPassing(): Publication | undefined {
    for (;;) {
      const next = this.#passing.shift();
      if (next === undefined || this.#connection.accepts(next.topic, next.text)) return next;
    }
  }

  /** A failed publication has ended the connection; its topic still differs when the next one begins. */
  async #publish(message: Publication, isRetained: boolean): Promise<void> {
    this.#inFlight += 1;
    const answer = await this.#connection.publish(message.topic, message.text, isRetained);
    this.#inFlight -= 1;
    if (answer === false || this.#state !== 'open') return;
    if (answer !== true) this.#refused(message.topic, answer.reason);
    else if (isRetained) this.#stored(message);
    if (isRetained) this.#unacknowledged -= 1;
    if (isRetained && this.#unacknowledged === 0) this.#endRound();
    this.#pump();
  }

  #stored(message: Publication): void {
    const { topics } = this.#parts;
    topics.acknowledged(message);
    // Other topics may have waited for this message.
    if (message.topic === topics.device) this.#hasChanged = true;
  }

  /** `/health` names it at the end of the next round, also if it belongs to none. */
  #refused(topic: string, reason: string): void {
    this.#parts.topics.refuse(topic, reason);
    this.changed();
  }

  #receive(message: BrokerMessage): void {
    const { topics, control } = this.#parts;
    const { topic, text, retained } = message;
    if (topic === this.#watchedStatus) this.#ownerStatus(text);
    else if (topic === topics.device) this.#device(text, retained);
    if (!topics.isBelow(topic)) return;
    const below = topics.below(topic);
    if (isCommand(below)) {
      // Without `control` commands are not subscribed to, but a broker may send them all the same.
      if (control) this.#command(below, message);
    } else if (topic === topics.status ? text !== ONLINE : below === 'who' && !retained) {
      // A question whether the node lives; or a status of others, or the will of our previous connection,
      // which this one has replaced.
      topics.republish(topics.status);
      this.changed();
    } else if (!retained && topic === topics.node && text !== topics.identifier) {
      // The next probe decides who owns the branch, by the last message on this topic, which both nodes see.
      this.#end();
      void this.#connection.end('another node has taken this branch');
    }
  }

  #ownerStatus(text: string): void {
    if (text === ONLINE) return;
    this.#parts.topics.claimDevice();
    this.#watchDeviceOwner();
    this.changed();
  }

  /** The retained message is the one that the probe has judged, unless the topic has been written since. */
  #device(text: string, isRetained: boolean): void {
    const { topics } = this.#parts;
    if (isRetained && topics.isRetained(topics.device, text)) return;
    if (!topics.deviceReceived(text)) return;
    this.#watchDeviceOwner();
    this.changed();
  }

  #command(below: string, { topic, text, retained }: BrokerMessage): void {
    // An empty text is how a retained command is removed.
    if (text === '') return;
    if (retained) this.#refuse(topic, RETAINED);
    const { topics } = this.#parts;
    for (const queued of retained ? [] : requestsOf(below, text)) {
      const request = withReferences(queued.request, (thing, name) => topics.referenceTo(thing, name));
      if (!this.#takeCommand({ ...queued, request, topic })) this.#refuse(topic, TOO_MANY);
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
