// Decides which commands from the broker go to the gateway, and refuses the others. Each refusal, by this
// file or by the gateway, is published at the node's own topic for errors, and at the command's response
// topic if the command has a usable one.

import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { NodeLink } from '../runtime.js';
import type { BrokerMessage } from './broker.js';
import { CommandQueues, type CommandSource, type WaitingRequest } from './command-queues.js';
import { requestsOf, withReferences, wordsAt } from './commands.js';
import type { PassingMessage } from './passing-messages.js';
import {
  BODY_TOO_LARGE,
  choiceRefused,
  RETAINED_COMMAND,
  TOO_MANY_COMMANDS,
  unknownWord,
} from './refusals.js';
import type { RetainedTopics } from './retained-topics.js';
import { isPublishable, isTooLongForBody } from './topics.js';

export class CommandHandler {
  readonly #node: Pick<NodeLink, 'ask'>;
  readonly #topics: Pick<RetainedTopics, 'wholeTopic' | 'referenceTo'>;
  readonly #publish: (message: PassingMessage) => void;
  readonly #queues = new CommandQueues(
    (request) => this.#carryOut(request),
    ({ source }, behind) => this.#refuse(source, choiceRefused(behind)),
  );

  constructor(
    node: Pick<NodeLink, 'ask'>,
    topics: Pick<RetainedTopics, 'wholeTopic' | 'referenceTo'>,
    publish: (message: PassingMessage) => void,
  ) {
    this.#node = node;
    this.#topics = topics;
    this.#publish = publish;
  }

  /** `relativeTopic`: the message's topic, relative to the node's topic. */
  handle(relativeTopic: string, message: BrokerMessage): void {
    const { topic, text, retained, response } = message;
    // An empty text is no command: it removes a retained command from the broker.
    if (text === '') return;
    if (retained) {
      this.#refuse(message, RETAINED_COMMAND);
      return;
    }
    // The source has no text, because a source stays in memory while its requests wait.
    const source: CommandSource = response === undefined ? { topic } : { topic, response };
    const size = commandSize(message);
    let isChoiceRefused = false;
    for (const parsed of requestsOf(relativeTopic, text)) {
      const request = withReferences(parsed.request, (kind, name) => this.#topics.referenceTo(kind, name));
      if (request.operation === undefined) {
        this.#refuse(message, unknownWord(text, wordsAt(relativeTopic)));
        continue;
      }
      // A text that is too long is never parsed, so it is in `invalidBody`. The gateway would also refuse
      // it, but only after the request has waited.
      if (request.invalidBody !== undefined && isTooLongForBody(text)) {
        this.#refuse(message, BODY_TOO_LARGE);
        continue;
      }
      // A choice chooses what the later requests of the message act on, such as a new default output. If the
      // queues refuse a choice, the later requests must not run. But the queues might accept them: even full
      // queues accept a request that replaces an older one. So none of the later requests is added.
      const isAdded = !isChoiceRefused && this.#queues.add({ ...parsed, request, source, size });
      if (isAdded) continue;
      this.#refuse(message, TOO_MANY_COMMANDS);
      isChoiceRefused ||= parsed.isChoice === true;
    }
  }

  async #carryOut({ source, request }: WaitingRequest): Promise<Result<undefined, object>> {
    const reply = await this.#node.ask(request);
    if (reply.status < 400) return success(undefined);
    const problem: object = JSON.parse(reply.body);
    this.#refuse(source, problem);
    return failed(problem);
  }

  #refuse({ topic, response }: CommandSource, problem: object): void {
    const text = JSON.stringify({ ...problem, topic });
    this.#publish({ topic: this.#topics.wholeTopic('error'), text });
    // The broker may end the connection for an unfit response topic, such as one with wildcards.
    if (response !== undefined && isPublishable(response.topic)) this.#publish({ ...response, text });
  }
}

function commandSize({ topic, text, response }: BrokerMessage): number {
  const { topic: responseTopic = '', correlation } = response ?? {};
  return topic.length + text.length + responseTopic.length + (correlation?.byteLength ?? 0);
}
