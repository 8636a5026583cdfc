// One connection that serves the node's branch: publishes differences and runs commands, until it ends or
// another node wants the branch.

import { type Clock, within } from '../../host/clock.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { COMMAND_FILTERS, isCommand } from './commands.js';
import { type Passing, PassingMessages } from './passing-messages.js';
import { type LeftOut, OFFLINE, ONLINE, type Publication, type RetainedTopics } from './retained-topics.js';
import { TakenCommands } from './taken-commands.js';

/**
 * From the end of one round of differences to the next: a little above a tenth of a second, for network
 * delays.
 */
export const ROUND_GAP_MS = 110;
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

/**
 * Rounds of differences follow each other with a pause. `idle`: the pause is over, and nothing has changed
 * since the last round.
 */
type Phase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'publishing' }
  | { readonly kind: 'pausing'; readonly cancel: () => void };

export class Serving {
  readonly #parts: ServingParts;
  readonly #connection: BrokerConnection;
  readonly #commands: TakenCommands;
  /** Publications of the present round that have not been sent. A round has each topic once at most. */
  #round: Publication[] = [];
  #unacknowledged = 0;
  #tooLarge: readonly string[] = [];
  /** Subscriptions that the broker refuses. */
  readonly #refusedFilters: LeftOut[] = [];
  /** The status of the node that publishes the device instead of this one; '' for none. */
  #watchedStatus = '';
  #settledWithout: string | undefined;
  #phase: Phase = { kind: 'idle' };
  #hasChanged = false;
  readonly #passing = new PassingMessages();
  #inFlight = 0;
  #state: 'opening' | 'open' | 'ended' = 'opening';
  readonly #accepts: BrokerConnection['accepts'] = (...message) => this.#connection.accepts(...message);

  constructor(parts: ServingParts) {
    this.#parts = parts;
    const { node, topics } = parts;
    this.#commands = new TakenCommands(node, topics, (message) => this.#pass(message));
    this.#connection = parts.dial((message) => this.#receive(message));
  }

  async run(): Promise<string> {
    const { topics, control } = this.#parts;
    const commands = control ? COMMAND_FILTERS.map((filter) => topics.full(filter)) : [];
    const watched = [topics.node, topics.status, topics.full('who'), topics.device];
    // Commands use QoS 0: of a flood at QoS 1 mosquitto drops the last ones
    // (docs/development/what-we-learnt.md), and a lost connection loses commands of either kind.
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
    if (answer.ok) return true;
    if (answer.error.kind === 'ended') return false;
    const reason = refusedBecause(answer.error.reason);
    for (const topic of answer.error.topics) this.#refusedFilters.push({ topic, reason });
    return true;
  }

  /** Subscribes to the status of the device's other owner: when that node goes, the device is this node's. */
  #watchDeviceOwner(): void {
    const { deviceOwner } = this.#parts.topics;
    const status = deviceOwner === undefined ? '' : `${deviceOwner}/status`;
    if (status === this.#watchedStatus || this.#state !== 'open') return;
    if (this.#watchedStatus !== '') void this.#connection.unsubscribe([this.#watchedStatus]);
    this.#watchedStatus = status;
    if (status !== '') void this.#subscribe([status], { qos: 1 });
  }

  /** Call it when the desired texts may have changed: the differences are published in the next round. */
  changed(): void {
    this.#hasChanged = true;
    if (this.#state === 'open' && this.#phase.kind === 'idle') this.#beginRound();
  }

  /**
   * Publishes a message that is not retained. It is only of use now, so it is dropped if this connection
   * cannot publish it.
   */
  publishPassing(topic: string, text: string): void {
    this.#pass({ topic: this.#parts.topics.full(topic), text });
  }

  #pass(message: Passing): void {
    if (this.#state === 'ended') return;
    // While the connection opens, the message waits: retained commands are refused then.
    this.#passing.add(message);
    this.#pump();
  }

  async close(): Promise<void> {
    const { topics, clock } = this.#parts;
    const wasOpen = this.#state === 'open';
    this.#end();
    if (wasOpen) {
      const offline = this.#connection.publish(topics.status, OFFLINE, true);
      // A DISCONNECT would withdraw the will, which now has to publish the status.
      const answer = await within(clock, OFFLINE_DEADLINE_MS, offline);
      if (answer === undefined || !answer.ok) this.#connection.cut('the service ends');
    }
    await this.#connection.end('the service ends');
  }

  #end(): void {
    this.#state = 'ended';
    if (this.#phase.kind === 'pausing') this.#phase.cancel();
  }

  #beginRound(): void {
    this.#hasChanged = false;
    this.#phase = { kind: 'publishing' };
    const { publications, leftOut } = this.#parts.topics.differences(this.#accepts);
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
      // The access list allows no topic of the branch.
      this.#connection.cut(`the broker refuses ${refused.topic}: ${refused.reason}`);
      return;
    }
    const without = JSON.stringify([topics.deviceOwner, leftOut]);
    if (this.#settledWithout !== without) {
      this.#settledWithout = without;
      this.#parts.onSettled(leftOut);
    }
    const cancel = this.#parts.clock.after(ROUND_GAP_MS, () => {
      this.#phase = { kind: 'idle' };
      if (this.#hasChanged) this.#beginRound();
    });
    this.#phase = { kind: 'pausing', cancel };
  }

  #leftOut(): readonly LeftOut[] {
    const refused = this.#parts.topics.refused.map(({ topic, reason }) => {
      return { topic, reason: refusedBecause(reason) };
    });
    const tooLarge = this.#tooLarge.map((topic) => ({ topic, reason: TOO_LARGE }));
    return [...tooLarge, ...refused, ...this.#refusedFilters];
  }

  /**
   * Publishes as many messages as the broker keeps up with. Retained and other messages do not starve each
   * other, because a round has each topic once, and few other messages wait.
   */
  #pump(): void {
    while (this.#state === 'open' && this.#inFlight < this.#connection.window) {
      const state = this.#round.shift();
      const next: Passing | undefined = state ?? this.#passing.next(this.#accepts);
      if (next === undefined) return;
      void this.#publish(next, state !== undefined);
    }
  }

  /** A failed publication has ended the connection; its topic still differs when the next one begins. */
  async #publish(message: Passing, isRetained: boolean): Promise<void> {
    this.#inFlight += 1;
    const { topic, text, correlation } = message;
    const answer = await this.#connection.publish(topic, text, isRetained, correlation);
    this.#inFlight -= 1;
    const hasEnded = !answer.ok && answer.error.kind === 'ended';
    if (hasEnded || this.#state !== 'open') return;
    const isOurs = isRetained || this.#parts.topics.isBelow(topic);
    // A response topic that the broker refuses is a problem of the sender alone.
    if (!answer.ok && answer.error.kind === 'refused' && isOurs) this.#refused(topic, answer.error.reason);
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

  /** `/health` names the topic at the end of the next round, even if the topic belongs to no round. */
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
    // Another node asks whether this one is alive.
    const isQuestion = below === 'who' && !retained;
    if (isCommand(below)) {
      // Without `control` commands are not subscribed to, but a broker may send them all the same.
      if (control) this.#commands.take(below, message);
    } else if (isQuestion || this.#isForeignStatus(message)) {
      topics.republish(topics.status);
      this.changed();
    } else if (!retained && topic === topics.node && text !== topics.identifier) {
      // The next probe decides who owns the branch, by the last message on this topic, which both nodes see.
      this.#end();
      void this.#connection.end('another node has taken this branch');
    }
  }

  /** True for a status that others wrote, or that is the will of our previous connection. */
  #isForeignStatus({ topic, text }: BrokerMessage): boolean {
    return topic === this.#parts.topics.status && text !== ONLINE;
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
}
