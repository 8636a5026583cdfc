// The first connection of an attempt: reads what the broker retains for this node, and asks whether the nodes
// that claim its branch or its device are alive. It has no will and publishes only that question, so that it
// does not disturb the branch of another node.

import { type Clock, within } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { ENDED, type Ended } from './acknowledgement.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { branchOfDevice } from './home-assistant.js';
import { ONLINE, type RetainedTopics } from './retained-topics.js';
import { ownerText } from './topics.js';

/** Far above what a node publishes; a branch with more is not a node's. */
const TOPICS_MAX = 10_000;
const CHARS_MAX = 16 << 20;
const TOO_MUCH = 'the branch holds more than a node publishes';
/**
 * A bridge that serves a branch answers within this time (docs/home-assistant.md, "Two nodes with one
 * branch").
 */
const ANSWER_MS = 5_000;

/** `deviceOwner`: the branch of the living node that publishes the device of this identifier. */
export interface RetainedState {
  readonly retained: ReadonlyMap<string, string>;
  readonly deviceOwner: string | undefined;
}

/**
 * `failed`: the state cannot be read. `occupied`: another living node owns the branch. The reason is a text
 * for people.
 */
export interface ProbeError {
  readonly kind: 'failed' | 'occupied';
  readonly reason: string;
}

export type ProbeResult = Result<RetainedState, ProbeError>;

type Dial = (onMessage: (message: BrokerMessage) => void) => BrokerConnection;

/** A claim to a branch by the node of this identifier, which is '' where nobody claims it. */
interface Claim {
  readonly node: string;
  readonly isAlive: boolean;
}

export async function probe(topics: RetainedTopics, clock: Clock, dial: Dial): Promise<ProbeResult> {
  const running = new Probe(topics, clock, dial);
  return running.end(await running.run());
}

class Probe {
  readonly #topics: RetainedTopics;
  readonly #clock: Clock;
  readonly #connection: BrokerConnection;
  readonly #retained = new Map<string, string>();
  /** A broker may send other topics than those that were subscribed to. */
  readonly #branches: string[];
  #chars = 0;
  #isTooMuch = false;
  /** Called with each message that is not retained. */
  #onNew: (topic: string, text: string) => void = () => undefined;

  constructor(topics: RetainedTopics, clock: Clock, dial: Dial) {
    this.#topics = topics;
    this.#clock = clock;
    this.#branches = [topics.topic];
    this.#connection = dial((message) => this.#receive(message));
  }

  async run(): Promise<Result<RetainedState, ProbeError | Ended>> {
    const { identifier, topic, device } = this.#topics;
    if (!(await this.#connection.ready)) return ENDED;
    const own = await this.#claimOf(topic, [`${topic}/#`, device]);
    if (!own.ok) return own;
    if (own.value.isAlive) return failed({ kind: 'occupied', reason: ownerText(own.value.node, identifier) });
    const other = branchOfDevice(this.#retained.get(device) ?? '');
    const state = { retained: this.#retained, deviceOwner: undefined };
    if (other === undefined || other === topic) return success(state);
    this.#branches.push(other);
    const its = await this.#claimOf(other, [`${other}/node`, `${other}/who`]);
    if (!its.ok && its.error.kind === 'ended') return ENDED;
    // Another node may own that branch by now. If the broker refuses the question there, nobody can know.
    const isClone = its.ok && its.value.isAlive && its.value.node === identifier;
    return success(isClone ? { ...state, deviceOwner: other } : state);
  }

  /**
   * Ends the connection. All messages may have arrived together with the replies, so only at the end it is
   * known whether they are too many.
   */
  async end(found: Result<RetainedState, ProbeError | Ended>): Promise<ProbeResult> {
    await this.#connection.end('the probe is over');
    if (this.#isTooMuch) return failed({ kind: 'failed', reason: TOO_MUCH });
    if (found.ok) return found;
    if (found.error.kind === 'ended') return failed({ kind: 'failed', reason: await this.#connection.ended });
    return failed(found.error);
  }

  /**
   * Reads the retained messages of `filters`, and which node claims the branch. The question is also a
   * marker: when it comes back, all retained messages have come.
   */
  async #claimOf(branch: string, filters: readonly string[]): Promise<Result<Claim, ProbeError | Ended>> {
    const who = `${branch}/who`;
    const status = `${branch}/status`;
    // At QoS 0 retained messages are sent in order and without a limit; an answer must not be lost.
    const read = await this.#connection.subscribe(filters, { qos: 0 });
    if (!read.ok)
      return read.error.kind === 'ended' ? ENDED : refused(read.error.topics.join(', '), read.error.reason);
    await this.#connection.subscribe([status], { qos: 1 });
    const answers = this.#answers(who, status);
    if (this.#isTooMuch) return ENDED;
    const question = await this.#connection.publish(who, this.#topics.identifier, false);
    if (!question.ok && question.error.kind === 'ended') return ENDED;
    const isQuestionBack = question.ok && (await this.#within(answers.marker));
    // The broker's access list may withhold the question. Brokers that keep the order send all retained
    // messages before their reply to this.
    if (!isQuestionBack) {
      const reply = await this.#connection.unsubscribe(filters);
      if (!reply.ok && reply.error.kind === 'ended') return ENDED;
    }
    const node = this.#retained.get(`${branch}/node`) ?? '';
    // A claim may be a leftover: of a node that lost its power, of a broker that lost its connection, or of
    // our own earlier connection.
    if (node === '' || this.#retained.get(status) !== ONLINE) return success({ node, isAlive: false });
    if (!question.ok && question.error.kind === 'refused') return refused(who, question.error.reason);
    const isAlive = await this.#within(answers.answer);
    return this.#isTooMuch || isAlive === undefined ? ENDED : success({ node, isAlive });
  }

  /** False if it does not come in time, undefined if the connection ends first. */
  async #within(event: Promise<true>): Promise<boolean | undefined> {
    const ended = this.#connection.ended.then(() => 'ended' as const);
    const first = await within(this.#clock, ANSWER_MS, Promise.race([event, ended]));
    if (first === 'ended') return undefined;
    return first === true;
  }

  #answers(who: string, status: string) {
    let markerCame = (): void => undefined;
    let answerCame = (): void => undefined;
    const marker = new Promise<true>((resolve) => {
      markerCame = () => resolve(true);
    });
    const answer = new Promise<true>((resolve) => {
      answerCame = () => resolve(true);
    });
    this.#onNew = (topic, text) => {
      if (topic === who && text === this.#topics.identifier) markerCame();
      if (topic === status && text === ONLINE) answerCame();
    };
    return { marker, answer };
  }

  #receive({ topic, text, retained }: BrokerMessage): void {
    const isExpected = this.#branches.some((branch) => topic.startsWith(`${branch}/`));
    if (!isExpected && topic !== this.#topics.device) return;
    if (!retained) {
      this.#onNew(topic, text);
      return;
    }
    this.#chars += text.length;
    this.#isTooMuch ||= this.#retained.size >= TOPICS_MAX || this.#chars > CHARS_MAX;
    if (this.#isTooMuch) this.#connection.cut(TOO_MUCH);
    else this.#retained.set(topic, text);
  }
}

function refused(what: string, why: string): Result<never, ProbeError> {
  const reason = `the broker refuses ${what} (${why}), without which nobody knows whose branch this is`;
  return failed({ kind: 'failed', reason });
}
