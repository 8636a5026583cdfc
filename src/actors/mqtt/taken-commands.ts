// Takes the commands that come from the broker, has the gateway carry them out, and answers each refusal: at
// the node's own topic for errors, and at the response topic of the sender.

import type { NodeLink } from '../runtime.js';
import type { BrokerMessage } from './broker.js';
import {
  CommandQueues,
  type CommandSource,
  requestsOf,
  type WaitingRequest,
  withReferences,
  wordsAt,
} from './commands.js';
import type { Passing } from './passing-messages.js';
import { RETAINED, TOO_MANY, unknownWord } from './refusals.js';
import type { RetainedTopics } from './retained-topics.js';
import { isPublishable } from './topics.js';

export class TakenCommands {
  readonly #node: Pick<NodeLink, 'ask'>;
  readonly #topics: Pick<RetainedTopics, 'full' | 'referenceTo'>;
  readonly #publish: (message: Passing) => void;
  readonly #queues = new CommandQueues((request) => this.#carryOut(request));

  constructor(
    node: Pick<NodeLink, 'ask'>,
    topics: Pick<RetainedTopics, 'full' | 'referenceTo'>,
    publish: (message: Passing) => void,
  ) {
    this.#node = node;
    this.#topics = topics;
    this.#publish = publish;
  }

  /** `below` is the message's topic below the node's branch. */
  take(below: string, message: BrokerMessage): void {
    const { text, retained } = message;
    // An empty text removes a retained command.
    if (text === '') return;
    if (retained) this.#refuse(message, RETAINED);
    for (const queued of retained ? [] : requestsOf(below, text)) {
      const request = withReferences(queued.request, (thing, name) => this.#topics.referenceTo(thing, name));
      if (request.operation === undefined) this.#refuse(message, unknownWord(text, wordsAt(below)));
      else if (!this.#queues.add({ ...queued, request, source: message })) this.#refuse(message, TOO_MANY);
    }
  }

  async #carryOut({ source, request }: WaitingRequest): Promise<void> {
    const reply = await this.#node.ask(request);
    if (reply.status >= 400) this.#refuse(source, JSON.parse(reply.body));
  }

  #refuse({ topic, response }: CommandSource, problem: object): void {
    const text = JSON.stringify({ ...problem, topic });
    this.#publish({ topic: this.#topics.full('error'), text });
    // The broker would end the connection for a topic with wildcards.
    if (response !== undefined && isPublishable(response.topic)) this.#publish({ ...response, text });
  }
}
