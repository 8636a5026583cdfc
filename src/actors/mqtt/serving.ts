// Decides when the node's branch is published on one connection, and what each message from the broker means.

import { type Clock, within } from '../../host/clock.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { CommandHandler } from './command-handler.js';
import { COMMAND_FILTERS, isCommand } from './commands.js';
import { type PassingMessage, PassingMessages } from './passing-messages.js';
import { type LeftOut, OFFLINE, ONLINE, type Publication, type RetainedTopics } from './retained-topics.js';
import { Subscriptions } from './subscriptions.js';

/**
 * The pause between two rounds of publications. A reader of a topic must not get it more than ten times a
 * second. The pause is a little longer than 100 ms, because delays in the network differ.
 */
export const ROUND_GAP_MS = 110;
/**
 * The broker has this time to store the status `offline`. If it does not, the connection is cut, and the
 * broker publishes the will, which has the same status.
 */
const OFFLINE_DEADLINE_MS = 200;

const TOO_LARGE = 'too large for the broker';
const TOO_LONG = 'longer than a topic of MQTT may be';

function refusedText(reason: string): string {
  return `refused by the broker (${reason})`;
}

export interface ServingParts {
  readonly node: Pick<NodeLink, 'ask' | 'log'>;
  readonly clock: Clock;
  readonly topics: RetainedTopics;
  /** False if commands over MQTT are ignored. */
  readonly control: boolean;
  readonly dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection;
  /**
   * This is called after the first round, and after each later round that changes which topics are left out
   * or who owns the device.
   */
  readonly onSettled: (leftOut: readonly LeftOut[]) => void;
}

/**
 * The differences of one moment are published as one round. A pause follows each round. `idle`: neither a
 * round nor a pause is under way.
 */
type PublishingPhase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'publishing' }
  | { readonly kind: 'pausing'; readonly cancel: () => void };

export class Serving {
  readonly #parts: ServingParts;
  readonly #connection: BrokerConnection;
  readonly #subscriptions: Subscriptions;
  readonly #commands: CommandHandler;
  /** Publications of the present round that have not been sent. */
  #unsentOfRound: Publication[] = [];
  /** How many publications of the present round the broker has not acknowledged. */
  #unacknowledgedOfRound = 0;
  #tooLarge: readonly string[] = [];
  #tooLong: readonly string[] = [];
  /** The device's owner and the left-out topics at the last call of `onSettled`, as a text to compare. */
  #reportedState: string | undefined;
  #phase: PublishingPhase = { kind: 'idle' };
  /** True if another round may have something to publish or to report. False when a round begins. */
  #isRoundNeeded = false;
  readonly #passing = new PassingMessages();
  /** How many messages of any kind the broker has not acknowledged. */
  #inFlight = 0;
  #state: 'opening' | 'open' | 'ended' = 'opening';
  readonly #accepts: BrokerConnection['accepts'] = (...message) => this.#connection.accepts(...message);

  constructor(parts: ServingParts) {
    this.#parts = parts;
    const { node, topics } = parts;
    this.#commands = new CommandHandler(node, topics, (message) => this.#addPassing(message));
    this.#connection = parts.dial((message) => this.#receive(message));
    this.#subscriptions = new Subscriptions(this.#connection, () => this.changed());
  }

  /** Resolves at the end of the connection to the reason, a text for people. */
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
    const { nodeTopic, statusTopic, deviceTopic } = topics;
    const watchedTopics = [nodeTopic, statusTopic, topics.wholeTopic('who'), deviceTopic];
    if (!(await this.#subscriptions.subscribe(watchedTopics, { qos: 1 }))) return false;
    if (!control) return true;
    const commands = COMMAND_FILTERS.map((filter) => topics.wholeTopic(filter));
    // Commands use QoS 0, because mosquitto drops the last commands of a flood at QoS 1
    // (docs/development/what-we-learnt.md). QoS 1 would not help when the connection is lost, because each
    // connection is a new session. With `rap` ("Retain As Published" of MQTT 5), a new command with the
    // retain flag counts as retained, and is refused.
    return this.#subscriptions.subscribe(commands, { qos: 0, rap: true });
  }

  /**
   * Watches the status of the other owner of the device, if there is one. When that node goes offline, this
   * node takes over the device.
   */
  #watchDeviceOwner(): void {
    const { otherDeviceOwner } = this.#parts.topics;
    const status = otherDeviceOwner === undefined ? '' : `${otherDeviceOwner}/status`;
    if (this.#state === 'open') this.#subscriptions.watchStatus(status);
  }

  /** To be called when the broker's access list may have changed. */
  retryRefused(): void {
    this.#parts.topics.forgetRefusals();
    this.#subscriptions.retryRefused();
    this.changed();
  }

  /** To be called when the desired texts may have changed. The next round publishes the differences. */
  changed(): void {
    this.#isRoundNeeded = true;
    if (this.#state === 'open' && this.#phase.kind === 'idle') this.#beginRound();
  }

  /**
   * Publishes a message that is not retained. It is of use only now, so it is dropped if the connection ends
   * before the message is sent.
   */
  publishPassing(relativeTopic: string, text: string): void {
    this.#addPassing({ topic: this.#parts.topics.wholeTopic(relativeTopic), text });
  }

  #addPassing(message: PassingMessage): void {
    if (this.#state === 'ended') return;
    // The broker sends retained commands while the connection opens. Each is refused, and the refusal is a
    // passing message, which waits until the connection is open.
    this.#passing.add(message);
    this.#sendWaiting();
  }

  /** To be called when the bridge stops. The broker then retains that the node is offline. */
  async close(): Promise<void> {
    const { topics, clock } = this.#parts;
    const wasOpen = this.#state === 'open';
    this.#end();
    if (wasOpen) {
      const offline = this.#connection.publish(topics.statusTopic, OFFLINE, true);
      const isStored = (await within(clock, OFFLINE_DEADLINE_MS, offline))?.ok === true;
      // The broker publishes the will only if it gets no DISCONNECT.
      if (!isStored) this.#connection.cut('the service ends');
    }
    // After a cut, this only waits for the end.
    await this.#connection.end('the service ends');
  }

  #end(): void {
    this.#state = 'ended';
    if (this.#phase.kind === 'pausing') this.#phase.cancel();
  }

  #beginRound(): void {
    this.#isRoundNeeded = false;
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
    const [firstRefused] = topics.refused;
    if (firstRefused !== undefined && topics.isBranchEmpty) {
      // If the broker's access list allows no topic of the branch, the node counts as not connected.
      this.#connection.cut(`the broker refuses ${firstRefused.topic}: ${firstRefused.reason}`);
      return;
    }
    const stateToReport = JSON.stringify([topics.otherDeviceOwner, leftOut]);
    if (this.#reportedState !== stateToReport) {
      this.#reportedState = stateToReport;
      this.#parts.onSettled(leftOut);
    }
    const cancel = this.#parts.clock.after(ROUND_GAP_MS, () => {
      this.#phase = { kind: 'idle' };
      if (this.#isRoundNeeded) this.#beginRound();
    });
    this.#phase = { kind: 'pausing', cancel };
  }

  #leftOut(): readonly LeftOut[] {
    const tooLarge = this.#tooLarge.map((topic) => ({ topic, reason: TOO_LARGE }));
    const tooLong = this.#tooLong.map((topic) => ({ topic, reason: TOO_LONG }));
    const refused = [...this.#parts.topics.refused, ...this.#subscriptions.refused];
    const refusedTopics = refused.map(({ topic, reason }) => ({ topic, reason: refusedText(reason) }));
    return [...tooLarge, ...tooLong, ...refusedTopics];
  }

  /**
   * Sends waiting messages, as many as the broker takes at one time. Publications of the round come first.
   * Passing messages get their turn, too, because a round has each topic once at most, and a pause follows
   * each round.
   */
  #sendWaiting(): void {
    while (this.#state === 'open' && this.#inFlight < this.#connection.inFlightMax) {
      const publication = this.#unsentOfRound.shift();
      const isOfRound = publication !== undefined;
      const message: PassingMessage | undefined = publication ?? this.#passing.takeNext(this.#accepts);
      if (message === undefined) return;
      void this.#publish(message, isOfRound);
    }
  }

  /** `isOfRound`: the message is one of the round's publications. The broker retains only these. */
  async #publish(message: PassingMessage, isOfRound: boolean): Promise<void> {
    const { topic, text, correlation } = message;
    this.#inFlight += 1;
    const retain = isOfRound;
    const answer = await this.#connection.publish(topic, text, retain, correlation);
    this.#inFlight -= 1;
    const error = answer.ok ? undefined : answer.error;
    // The next connection compares anew with what the broker retains, so nothing is kept for it.
    if (error?.kind === 'ended' || this.#state !== 'open') return;
    // The sender of a command chooses its response topic. A refusal of that topic concerns only the sender.
    const isOurTopic = isOfRound || this.#parts.topics.isInBranch(topic);
    if (error !== undefined && isOurTopic) this.#addRefusal(topic, error.reason);
    if (error === undefined && isOfRound) this.#applyStored(message);
    if (isOfRound) this.#unacknowledgedOfRound -= 1;
    if (isOfRound && this.#unacknowledgedOfRound === 0) this.#endRound();
    this.#sendWaiting();
  }

  #applyStored(publication: Publication): void {
    const { topics } = this.#parts;
    topics.acknowledged(publication);
    // Other topics may have waited for the device message.
    if (publication.topic === topics.deviceTopic) this.#isRoundNeeded = true;
  }

  /** Causes a round, because the end of a round reports refusals. */
  #addRefusal(topic: string, reason: string): void {
    this.#parts.topics.addRefusal(topic, reason);
    this.changed();
  }

  #receive(message: BrokerMessage): void {
    const { topics, control } = this.#parts;
    const { topic, text, retained } = message;
    if (topic === this.#subscriptions.watchedStatus) this.#receiveOwnersStatus(text);
    else if (topic === topics.deviceTopic) this.#receiveDevice(text, retained);
    if (!topics.isInBranch(topic)) return;
    const relativeTopic = topics.relativeTopic(topic);
    // Another node asks whether this one is alive.
    const isQuestion = relativeTopic === 'who' && !retained;
    // Somebody else wrote the status, or the broker published the will of our earlier connection.
    const isWrongStatus = topic === topics.statusTopic && text !== ONLINE;
    const isClaimOfAnotherNode = topic === topics.nodeTopic && !retained && text !== topics.identifier;
    if (isCommand(relativeTopic)) {
      // Without `control`, no commands are subscribed to, but a broker may send some nevertheless.
      if (control) this.#commands.handle(relativeTopic, message);
    } else if (isQuestion || isWrongStatus) {
      topics.republish(topics.statusTopic);
      this.changed();
    } else if (isClaimOfAnotherNode) {
      // The bridge connects again, and its probe finds out whether the other node lives and owns the branch.
      this.#end();
      void this.#connection.end('another node has taken this branch');
    }
  }

  /** A status other than `online` means that the other owner of the device has gone. */
  #receiveOwnersStatus(text: string): void {
    if (text === ONLINE) return;
    this.#parts.topics.claimDevice();
    this.#watchDeviceOwner();
    this.changed();
  }

  #receiveDevice(text: string, isRetainedMessage: boolean): void {
    const { topics } = this.#parts;
    // The probe has read a known message already, and has found out whether the node that wrote it is alive.
    const isKnown = isRetainedMessage && topics.isRetained(topics.deviceTopic, text);
    if (isKnown) return;
    const mustReact = topics.receiveDevice(text);
    if (!mustReact) return;
    this.#watchDeviceOwner();
    this.changed();
  }
}
