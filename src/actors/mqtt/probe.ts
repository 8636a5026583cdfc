// The first connection of an attempt: reads what the broker retains for this node, and asks whether those are
// alive who claim its branch or its device. It has no will and publishes only that question, so that it does
// not disturb a branch of another node.

import { type Clock, within } from '../../clock.js';
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
 * The retained state; or why it cannot be read; or the text for people that names the branch's living owner.
 */
export type ProbeResult = RetainedState | { readonly failed: string } | { readonly owner: string };

type Dial = (onMessage: (message: BrokerMessage) => void) => BrokerConnection;

/** A claim to a branch by the node of this identifier, which is '' where nobody claims it. */
interface Claim {
  readonly node: string;
  readonly isAlive: boolean;
}

export async function probe(topics: RetainedTopics, clock: Clock, dial: Dial): Promise<ProbeResult> {
  const running = new Probe(topics, clock, dial);
  const found = await running.run();
  return running.end(found);
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

  /** Undefined if the connection has ended. */
  async run(): Promise<ProbeResult | undefined> {
    const { identifier, topic, device } = this.#topics;
    if (!(await this.#connection.ready)) return undefined;
    const own = await this.#claimOf(topic, [`${topic}/#`, device]);
    if (own === undefined || 'failed' in own) return own;
    if (own.isAlive) return { owner: ownerText(own.node, identifier) };
    const other = branchOfDevice(this.#retained.get(device) ?? '');
    const state = { retained: this.#retained, deviceOwner: undefined };
    if (other === undefined || other === topic) return state;
    this.#branches.push(other);
    const its = await this.#claimOf(other, [`${other}/node`, `${other}/who`]);
    if (its === undefined) return undefined;
    // The owner of that branch may be another node by now, and who may not ask there cannot know.
    const isClone = !('failed' in its) && its.isAlive && its.node === identifier;
    return isClone ? { ...state, deviceOwner: other } : state;
  }

  /**
   * Ends the connection. All messages may have arrived together with the replies, so only the end proves that
   * a look succeeded.
   */
  async end(found: ProbeResult | undefined): Promise<ProbeResult> {
    await this.#connection.end('the look is over');
    if (this.#isTooMuch) return { failed: TOO_MUCH };
    return found ?? { failed: await this.#connection.ended };
  }

  /**
   * Reads what `filters` hold, and who claims the branch. The question is the marker, too: when it comes
   * back, all retained messages have.
   */
  async #claimOf(
    branch: string,
    filters: readonly string[],
  ): Promise<Claim | { failed: string } | undefined> {
    const who = `${branch}/who`;
    const status = `${branch}/status`;
    // At QoS 0 retained messages are sent in order and without a limit; an answer must not be lost.
    const read = await this.#connection.subscribe(filters, { qos: 0 });
    if (read === true) await this.#connection.subscribe([status], { qos: 1 });
    if (typeof read === 'object') return { failed: refused(read.topics.join(', '), read.reason) };
    const answers = this.#answers(who, status);
    const question =
      read && !this.#isTooMuch && (await this.#connection.publish(who, this.#topics.identifier, false));
    if (question === false) return undefined;
    const isQuestionBack = question === true && (await this.#within(answers.marker));
    // An access list that hides the question: brokers that keep the order have sent everything before this
    // reply.
    if (!isQuestionBack && (await this.#connection.unsubscribe(filters)) === false) return undefined;
    const node = this.#retained.get(`${branch}/node`) ?? '';
    // A power failure of a node or a cut connection of a broker leaves a claim behind, and so may an earlier
    // connection of ours.
    if (node === '' || this.#retained.get(status) !== ONLINE) return { node, isAlive: false };
    if (typeof question === 'object') return { failed: refused(who, question.reason) };
    const isAlive = await this.#within(answers.answer);
    return this.#isTooMuch || isAlive === undefined ? undefined : { node, isAlive };
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

function refused(what: string, reason: string): string {
  return `the broker refuses ${what} (${reason}), without which nobody knows whose branch this is`;
}
