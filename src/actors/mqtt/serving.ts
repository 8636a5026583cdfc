// One connection that serves the node's branch, until it ends or another node takes the branch. It decides
// when differences are published, and what each message of the broker means.

import { type Clock, within } from '../../host/clock.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { CommandHandler } from './command-handler.js';
import { COMMAND_FILTERS, isCommand } from './commands.js';
import { type PassingMessage, PassingMessages } from './passing-messages.js';
import { type LeftOut, OFFLINE, ONLINE, type Publication, type RetainedTopics } from './retained-topics.js';
import { Subscriptions } from './subscriptions.js';

/**
 * The pause between two rounds of publications. It is a little longer than a tenth of a second, so that also
 * after different delays in the network a subscriber gets no topic more than ten times a second.
 */
export const ROUND_GAP_MS = 110;
/**
 * The broker has this time to store the last status. After this time the connection is cut, so that the
 * broker publishes the will, which is the same status.
 */
const OFFLINE_DEADLINE_MS = 200;

const TOO_LARGE = 'too large for the broker';
const TOO_LONG = 'longer than a topic of MQTT may be';
const refusedBecause = (reason: string): string => `refused by the broker (${reason})`;

export interface ServingParts {
  readonly node: Pick<NodeLink, 'ask' | 'log'>;
  readonly clock: Clock;
  readonly topics: RetainedTopics;
  readonly control: boolean;
  readonly dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection;
  /**
   * Called when the broker has the whole branch, except the topics that are left out. Called again when these
   * topics, or the owner of the device, have changed.
   */
  readonly onSettled: (leftOut: readonly LeftOut[]) => void;
}

/**
 * The differences of one moment are published as one round, after which there is a pause. `idle`: the pause
 * is over, and nothing has changed since the last round.
 */
type Phase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'publishing' }
  | { readonly kind: 'pausing'; readonly cancel: () => void };

export class Serving {
  readonly #parts: ServingParts;
  readonly #connection: BrokerConnection;
  readonly #subscriptions: Subscriptions;
  readonly #commands: CommandHandler;
  /** Publications of the present round that have not been sent. A round has each topic once at most. */
  #unsentOfRound: Publication[] = [];
  /** How many publications of the present round the broker has not acknowledged. */
  #unacknowledgedOfRound = 0;
  #tooLarge: readonly string[] = [];
  #tooLong: readonly string[] = [];
  /**
   * The state for which `onSettled` was last called, as a text to compare; undefined before its first call.
   */
  #reportedState: string | undefined;
  #phase: Phase = { kind: 'idle' };
  /** True if the desired texts may have changed since the present round began. */
  #hasChanged = false;
  readonly #passing = new PassingMessages();
  /** How many messages of any kind the broker has not acknowledged. */
  #inFlight = 0;
  #state: 'opening' | 'open' | 'ended' = 'opening';
  readonly #accepts: BrokerConnection['accepts'] = (...message) => this.#connection.accepts(...message);

  constructor(parts: ServingParts) {
    this.#parts = parts;
    const { node, topics } = parts;
    this.#commands = new CommandHandler(node, topics, (message) => this.#pass(message));
    this.#connection = parts.dial((message) => this.#receive(message));
    this.#subscriptions = new Subscriptions(this.#connection, () => this.changed());
  }

  /** Resolves when the connection has ended, to the reason for people. */
  async run(): Promise<string> {
    const isSubscribed = (await this.#connection.ready) && (await this.#subscribeAll());
    if (isSubscribed && this.#state === 'opening') {
      this.#state = 'open';
      this.#watchDeviceOwner();
      this.changed();
      this.#sendWaiting();
    }
    const reason = await this.#connection.ended;
    this.#end();
    return reason;
  }

  /** False if the connection has ended. */
  async #subscribeAll(): Promise<boolean> {
    const { topics, control } = this.#parts;
    const watched = [topics.node, topics.status, topics.full('who'), topics.device];
    if (!(await this.#subscriptions.subscribe(watched, { qos: 1 }))) return false;
    if (!control) return true;
    const commands = COMMAND_FILTERS.map((filter) => topics.full(filter));
    // Commands use QoS 0, because mosquitto drops the last commands of a flood at QoS 1
    // (docs/development/what-we-learnt.md). A lost connection loses commands of either QoS.
    return this.#subscriptions.subscribe(commands, { qos: 0, rap: true });
  }

  /**
   * Watches the status of another node that owns the device. When that node goes offline, this node takes
   * over the device.
   */
  #watchDeviceOwner(): void {
    const { deviceOwner } = this.#parts.topics;
    const status = deviceOwner === undefined ? '' : `${deviceOwner}/status`;
    if (this.#state === 'open') this.#subscriptions.watchStatus(status);
  }

  /** To be called when the desired texts may have changed. The next round publishes the differences. */
  changed(): void {
    this.#hasChanged = true;
    if (this.#state === 'open' && this.#phase.kind === 'idle') this.#beginRound();
  }

  /**
   * Publishes a message that is not retained. Such a message is of use only now, so it is dropped if this
   * connection ends before it is sent. The topic is relative to the node's topic.
   */
  publishPassing(relativeTopic: string, text: string): void {
    this.#pass({ topic: this.#parts.topics.full(relativeTopic), text });
  }

  #pass(message: PassingMessage): void {
    if (this.#state === 'ended') return;
    // The message waits while the connection opens, because refusals of retained commands come at that time.
    this.#passing.add(message);
    this.#sendWaiting();
  }

  /** Ends the connection when the daemon stops. The broker then retains that the node is offline. */
  async close(): Promise<void> {
    const { topics, clock } = this.#parts;
    const wasOpen = this.#state === 'open';
    this.#end();
    if (wasOpen) {
      const offline = this.#connection.publish(topics.status, OFFLINE, true);
      const isStored = (await within(clock, OFFLINE_DEADLINE_MS, offline))?.ok === true;
      // The broker publishes the will, which has the same status, only if it gets no DISCONNECT.
      if (!isStored) this.#connection.cut('the service ends');
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
    const { publications, tooLarge, tooLong } = this.#parts.topics.differences(this.#accepts);
    this.#unsentOfRound = [...publications];
    this.#unacknowledgedOfRound = publications.length;
    this.#tooLarge = tooLarge;
    this.#tooLong = tooLong;
    if (publications.length === 0) this.#endRound();
    else this.#sendWaiting();
  }

  #endRound(): void {
    const leftOut = this.#leftOut();
    const { topics } = this.#parts;
    const [refused] = topics.refused;
    if (refused !== undefined && topics.isBranchEmpty) {
      // The broker's access list allows no topic of the branch, so the node is not connected.
      this.#connection.cut(`the broker refuses ${refused.topic}: ${refused.reason}`);
      return;
    }
    const stateToReport = JSON.stringify([topics.deviceOwner, leftOut]);
    if (this.#reportedState !== stateToReport) {
      this.#reportedState = stateToReport;
      this.#parts.onSettled(leftOut);
    }
    const cancel = this.#parts.clock.after(ROUND_GAP_MS, () => {
      this.#phase = { kind: 'idle' };
      if (this.#hasChanged) this.#beginRound();
    });
    this.#phase = { kind: 'pausing', cancel };
  }

  #leftOut(): readonly LeftOut[] {
    const tooLarge = this.#tooLarge.map((topic) => ({ topic, reason: TOO_LARGE }));
    const tooLong = this.#tooLong.map((topic) => ({ topic, reason: TOO_LONG }));
    const refused = [...this.#parts.topics.refused, ...this.#subscriptions.refused];
    return [
      ...tooLarge,
      ...tooLong,
      ...refused.map(({ topic, reason }) => ({ topic, reason: refusedBecause(reason) })),
    ];
  }

  /**
   * Sends waiting messages, until as many are unacknowledged as the broker takes at one time. The messages
   * of the round come first. The others get their turn, because a round has each topic once at most, and a
   * pause follows it.
   */
  #sendWaiting(): void {
    while (this.#state === 'open' && this.#inFlight < this.#connection.window) {
      const ofRound = this.#unsentOfRound.shift();
      const message: PassingMessage | undefined = ofRound ?? this.#passing.takeNext(this.#accepts);
      if (message === undefined) return;
      void this.#publish(message, ofRound !== undefined);
    }
  }

  async #publish(message: PassingMessage, isOfRound: boolean): Promise<void> {
    const { topic, text, correlation } = message;
    this.#inFlight += 1;
    const answer = await this.#connection.publish(topic, text, isOfRound, correlation);
    this.#inFlight -= 1;
    const hasEnded = !answer.ok && answer.error.kind === 'ended';
    // The next connection publishes the text, because the broker is not known to retain it.
    if (hasEnded || this.#state !== 'open') return;
    // A response topic that the broker refuses is a problem of the command's sender alone.
    const isOurs = isOfRound || this.#parts.topics.isInBranch(topic);
    if (!answer.ok && answer.error.kind === 'refused' && isOurs) this.#refused(topic, answer.error.reason);
    else if (isOfRound) this.#stored(message);
    if (isOfRound) this.#unacknowledgedOfRound -= 1;
    if (isOfRound && this.#unacknowledgedOfRound === 0) this.#endRound();
    this.#sendWaiting();
  }

  #stored(publication: Publication): void {
    const { topics } = this.#parts;
    topics.acknowledged(publication);
    // Other topics may have waited for the device message.
    if (publication.topic === topics.device) this.#hasChanged = true;
  }

  /**
   * Causes a round, also for a message that was not of a round, because the end of a round reports refusals.
   */
  #refused(topic: string, reason: string): void {
    this.#parts.topics.addRefusal(topic, reason);
    this.changed();
  }

  #receive(message: BrokerMessage): void {
    const { topics, control } = this.#parts;
    const { topic, text, retained } = message;
    if (topic === this.#subscriptions.watchedStatus) this.#receiveOwnersStatus(text);
    else if (topic === topics.device) this.#receiveDevice(text, retained);
    if (!topics.isInBranch(topic)) return;
    const relativeTopic = topics.relative(topic);
    // Another node asks whether this one is alive.
    const isQuestion = relativeTopic === 'who' && !retained;
    // Somebody else wrote the status, or it is the will of our connection before this one.
    const isWrongStatus = topic === topics.status && text !== ONLINE;
    const isOthersClaim = topic === topics.node && !retained && text !== topics.identifier;
    if (isCommand(relativeTopic)) {
      // Without `control` commands are not subscribed to, but a broker may send them all the same.
      if (control) this.#commands.handle(relativeTopic, message);
    } else if (isQuestion || isWrongStatus) {
      topics.republish(topics.status);
      this.changed();
    } else if (isOthersClaim) {
      // Both nodes receive the same last message on this topic. By that message the next probe decides which
      // of them owns the branch.
      this.#end();
      void this.#connection.end('another node has taken this branch');
    }
  }

  /** The status of another node that owns the device. */
  #receiveOwnersStatus(text: string): void {
    if (text === ONLINE) return;
    this.#parts.topics.claimDevice();
    this.#watchDeviceOwner();
    this.changed();
  }

  #receiveDevice(text: string, isRetained: boolean): void {
    const { topics } = this.#parts;
    // The probe has read this message already, and has found out whether its node is alive.
    const isKnown = isRetained && topics.isRetained(topics.device, text);
    if (isKnown || !topics.deviceReceived(text)) return;
    this.#watchDeviceOwner();
    this.changed();
  }
}
