// Decides whether this node may serve its branch. The probe has a connection of its own. The probe reads what
// the broker retains for the node: the branch, and the device message for Home Assistant. The probe asks at
// the topic `who` whether another node that claims the branch or the device is alive. The probe may not
// change the branch of another node: its connection has no will, and it publishes nothing but this question.

import { type Clock, within } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { ENDED, type Ended } from './acknowledgement.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { branchOfDevice } from './home-assistant.js';
import { ONLINE, type RetainedTopics } from './retained-topics.js';
import { ownerText } from './topics.js';

/** A node publishes far less than these two bounds. A branch that exceeds one of them belongs to no node. */
const TOPICS_MAX = 10_000;
const CHARS_MAX = 16 * 1024 * 1024;
const TOO_MUCH_REASON = 'the branch holds more than a node publishes';
/**
 * A bridge that serves a branch answers the probe's question within this time (docs/home-assistant.md, "Two
 * nodes with one branch"). The probe also subscribes to its own question, and the broker has the same time to
 * send the question back.
 */
const ANSWER_MS = 5_000;
/**
 * The retained messages count as read when none has come for this time. Most brokers send them before the
 * probe's own question and before the reply to an UNSUBSCRIBE. But EMQX may send them after these two,
 * because it has a separate process for retained messages (docs/development/what-we-learnt.md).
 */
export const QUIET_MS = 100;
/** If the broker sends retained messages without a pause, the probe stops reading after this time. */
const READ_MAX_MS = 5_000;

export interface RetainedState {
  /**
   * The texts of this node's branch, and the text of this node's device message, by topic. If the device
   * message names another branch, there are also the texts of `node` and `status` of that branch. If another
   * node had this node's branch before, there is also the device message of that other node.
   */
  readonly retained: ReadonlyMap<string, string>;
  /** The branch of a living node that owns the device instead of this node; undefined if there is none. */
  readonly otherDeviceOwner: string | undefined;
  /**
   * True if nobody has answered the question, although the broker retains a claim to the branch: an
   * identifier at the topic `node`, and `online` at the topic `status`.
   */
  readonly isLeftover: boolean;
}

/** Why the branch may not be served now. */
export interface ProbeError {
  /** `failed`: the probe has no result. `occupied`: another living node owns the branch. */
  readonly kind: 'failed' | 'occupied';
  /** For people. */
  readonly reason: string;
}

export type ProbeResult = Result<RetainedState, ProbeError>;

type Dial = (onMessage: (message: BrokerMessage) => void) => BrokerConnection;

interface Claim {
  /** The identifier that the broker retains at the branch's topic `node`; '' if there is none. */
  readonly node: string;
  readonly isAlive: boolean;
  /** See `RetainedState.isLeftover`. */
  readonly isLeftover: boolean;
}

interface ExpectedMessage {
  readonly topic: string;
  readonly text: string;
  readonly onArrival: () => void;
}

export async function probe(topics: RetainedTopics, clock: Clock, dial: Dial): Promise<ProbeResult> {
  const running = new Probe(topics, clock, dial);
  return running.finish(await running.run());
}

class Probe {
  readonly #topics: RetainedTopics;
  readonly #clock: Clock;
  readonly #connection: BrokerConnection;
  readonly #retained = new Map<string, string>();
  /**
   * The probe reads only what is in these branches or at `#deviceTopics`, because a broker may also send
   * topics that were not subscribed to.
   */
  readonly #branches: string[];
  readonly #deviceTopics: string[];
  #retainedChars = 0;
  #retainedMessageCount = 0;
  /** True if the broker has sent too much. Then the connection is cut, and `finish` returns the reason. */
  #isTooMuch = false;
  /** The probe waits for these messages, which are not retained. */
  readonly #expected: ExpectedMessage[] = [];

  constructor(topics: RetainedTopics, clock: Clock, dial: Dial) {
    this.#topics = topics;
    this.#clock = clock;
    this.#branches = [topics.topic];
    this.#deviceTopics = [topics.deviceTopic];
    this.#connection = dial((message) => this.#receive(message));
  }

  async run(): Promise<Result<RetainedState, ProbeError | Ended>> {
    const { identifier, topic, deviceTopic } = this.#topics;
    if (!(await this.#connection.ready)) return ENDED;
    const claim = await this.#readClaim(topic, [`${topic}/#`, deviceTopic]);
    if (!claim.ok) return claim;
    const { node, isAlive, isLeftover } = claim.value;
    if (isAlive) return failed({ kind: 'occupied', reason: ownerText(node, identifier) });
    const otherDeviceTopic = this.#topics.otherDeviceTopic(node);
    if (otherDeviceTopic !== undefined && !(await this.#readDevice(otherDeviceTopic))) return ENDED;
    const retained = this.#retained;
    const deviceBranch = branchOfDevice(retained.get(deviceTopic) ?? '');
    if (deviceBranch === undefined || deviceBranch === topic)
      return success({ retained, otherDeviceOwner: undefined, isLeftover });
    const servedByClone = await this.#isServedByClone(deviceBranch);
    if (!servedByClone.ok) return servedByClone;
    const otherDeviceOwner = servedByClone.value ? deviceBranch : undefined;
    return success({ retained, otherDeviceOwner, isLeftover });
  }

  /**
   * Ends the connection, and then makes the final result. Messages may still arrive after the last reply that
   * `run` waits for. So only the end of the connection shows whether the broker has sent too much.
   */
  async finish(result: Result<RetainedState, ProbeError | Ended>): Promise<ProbeResult> {
    await this.#connection.end('the probe is over');
    if (this.#isTooMuch) return failed({ kind: 'failed', reason: TOO_MUCH_REASON });
    if (result.ok) return result;
    if (result.error.kind === 'ended')
      return failed({ kind: 'failed', reason: await this.#connection.ended });
    return failed(result.error);
  }

  /** Reads the device message of the node that had the branch before. False if the connection has ended. */
  async #readDevice(topic: string): Promise<boolean> {
    this.#deviceTopics.push(topic);
    const subscription = await this.#connection.subscribe([topic], { qos: 0 });
    // If the broker refuses the subscription, the probe goes on. Without the text of that device message,
    // retained-topics.ts does not remove it.
    if (!subscription.ok) return subscription.error.kind !== 'ended';
    return this.#untilUnsubscribed([topic]);
  }

  /** True if the branch belongs to a clone: another living node that has the identifier of this node. */
  async #isServedByClone(branch: string): Promise<Result<boolean, Ended>> {
    this.#branches.push(branch);
    // `#readClaim` itself subscribes to the status.
    const claim = await this.#readClaim(branch, [`${branch}/node`, `${branch}/who`]);
    // By now, the branch may belong to a node that is no clone.
    if (claim.ok) return success(claim.value.isAlive && claim.value.node === this.#topics.identifier);
    // If the broker refuses the subscription or the question, it stays unknown whether there is a clone.
    // This node then publishes the device.
    return claim.error.kind === 'ended' ? ENDED : success(false);
  }

  /** Reads the retained messages of `filters`, and finds out whether a living node claims the branch. */
  async #readClaim(branch: string, filters: readonly string[]): Promise<Result<Claim, ProbeError | Ended>> {
    const who = `${branch}/who`;
    const status = `${branch}/status`;
    // At QoS 0 the broker sends all retained messages in order, and waits for no acknowledgement in between.
    const subscription = await this.#connection.subscribe(filters, { qos: 0 });
    if (!subscription.ok) {
      const { error } = subscription;
      return error.kind === 'ended' ? ENDED : refused(error.topics.join(', '), error.reason);
    }
    // The status uses QoS 1, because the owner's answer must not be lost. If the broker refuses this
    // subscription, the probe goes on: a branch whose status it cannot read counts as unclaimed.
    await this.#connection.subscribe([status], { qos: 1 });
    const questionArrival = this.#arrivalOf(who, this.#topics.identifier);
    const answerArrival = this.#arrivalOf(status, ONLINE);
    // If too much has come, the connection was cut. `finish` returns the reason.
    if (this.#isTooMuch) return ENDED;
    const question = await this.#connection.publish(who, this.#topics.identifier, false);
    // If the broker refuses the question, this matters only if the branch is claimed (see below).
    if (!question.ok && question.error.kind === 'ended') return ENDED;
    // Most brokers keep the order: when our question comes back, all retained messages have come.
    const isQuestionBack = question.ok && (await this.#waitFor(questionArrival)) === 'arrived';
    // If the question does not come back, for instance because the broker's access list hides it, the probe
    // reads until the reply to an UNSUBSCRIBE.
    const reading = isQuestionBack ? this.#untilQuiet() : this.#untilUnsubscribed(filters);
    if (!(await reading)) return ENDED;
    const node = this.#retained.get(`${branch}/node`) ?? '';
    const isClaimed = node !== '' && this.#retained.get(status) === ONLINE;
    if (!isClaimed) return success({ node, isAlive: false, isLeftover: false });
    // The claim may be left over: the status may stay `online` after a crash of the owner or the broker, or
    // after the loss of an earlier connection of ours. Only an answer shows that the owner lives.
    if (!question.ok && question.error.kind === 'refused') return refused(who, question.error.reason);
    const answer = await this.#waitFor(answerArrival);
    if (this.#isTooMuch || answer === 'ended') return ENDED;
    const isAlive = answer === 'arrived';
    return success({ node, isAlive, isLeftover: !isAlive });
  }

  /**
   * Ends the subscription to `filters`, and resolves when the retained messages have been read. Brokers that
   * keep the order send all of them before the reply to an UNSUBSCRIBE. False if the connection has ended.
   */
  async #untilUnsubscribed(filters: readonly string[]): Promise<boolean> {
    const reply = await this.#connection.unsubscribe(filters);
    if (!reply.ok && reply.error.kind === 'ended') return false;
    return this.#untilQuiet();
  }

  /** Resolves when this message comes as a new one, not as a retained one. */
  #arrivalOf(topic: string, text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#expected.push({ topic, text, onArrival: resolve });
    });
  }

  /**
   * Resolves when no retained message has come for `QUIET_MS`, or after `READ_MAX_MS`. False if the
   * connection has ended.
   */
  async #untilQuiet(): Promise<boolean> {
    const endMs = this.#clock.monotonic() + READ_MAX_MS;
    for (;;) {
      const countBefore = this.#retainedMessageCount;
      const hasEnded = (await within(this.#clock, QUIET_MS, this.#connection.ended)) !== undefined;
      if (hasEnded) return false;
      const isQuiet = this.#retainedMessageCount === countBefore;
      if (isQuiet || this.#clock.monotonic() >= endMs) return true;
    }
  }

  /** `late` means that `ANSWER_MS` have passed, and `ended` that the connection has ended meanwhile. */
  async #waitFor(arrival: Promise<void>): Promise<'arrived' | 'late' | 'ended'> {
    const arrived = arrival.then(() => 'arrived' as const);
    const ended = this.#connection.ended.then(() => 'ended' as const);
    return (await within(this.#clock, ANSWER_MS, Promise.race([arrived, ended]))) ?? 'late';
  }

  #receive({ topic, text, retained }: BrokerMessage): void {
    const isInBranches = this.#branches.some((branch) => topic.startsWith(`${branch}/`));
    if (!isInBranches && !this.#deviceTopics.includes(topic)) return;
    if (retained) {
      this.#keepRetained(topic, text);
      return;
    }
    for (const expected of this.#expected)
      if (expected.topic === topic && expected.text === text) expected.onArrival();
  }

  #keepRetained(topic: string, text: string): void {
    this.#retainedMessageCount += 1;
    this.#retainedChars += topic.length + text.length;
    this.#isTooMuch ||= this.#retained.size >= TOPICS_MAX || this.#retainedChars > CHARS_MAX;
    if (this.#isTooMuch) this.#connection.cut(TOO_MUCH_REASON);
    else this.#retained.set(topic, text);
  }
}

function refused(topics: string, brokersReason: string): Result<never, ProbeError> {
  const reason = `the broker refuses ${topics} (${brokersReason}), without which nobody knows whose branch this is`;
  return failed({ kind: 'failed', reason });
}
