// Carries out operations for HTTP requests and for bridges, and makes the replies. It knows no connections and no trust: the caller
// has checked trust and parsed the body.

import type { Clock } from '../clock.js';
import type { Backend } from '../protocol/actor/backends.js';
import type { Command } from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';
import {
  type ChangeOperation,
  fullBusName,
  type LogOperation,
  type Operation,
} from '../protocol/actor/operations.js';
import { allowedValues, LOG_LINES, type Params, parametersOf } from '../protocol/actor/parameters.js';
import type { HealthRecord, ServerRecord } from '../protocol/actor/schemas.js';
import { checkBody } from './body.js';
import type { Covers } from './covers.js';
import type { Documents } from './documents.js';
import { type Problem, problem, problemReply } from './problem.js';
import {
  ACCEPTED,
  type CachedResponse,
  cookieReply,
  type HttpReply,
  JSON_TYPE,
  NEVER_KEEP,
  type ResponseMaker,
  replyOf,
} from './reply.js';

export interface ReplyParts {
  readonly documents: Documents;
  readonly responses: ResponseMaker;
  readonly backends: Backends;
  readonly covers: Pick<Covers, 'reply'>;
  readonly serverRecord: () => ServerRecord;
  readonly healthRecord: (uptimeMs: number) => HealthRecord;
  /** The text of `GET /openapi.json`; called until it has succeeded once. */
  readonly openapi: () => Promise<string>;
  readonly clock: Clock;
}

export interface OperationInput {
  readonly params: Params;
  readonly held?: string;
  /** The raw text behind the question mark. */
  readonly query?: string;
  /** The body; undefined if none was sent. */
  readonly json?: unknown;
}

/** Answers that are kept, 64 KiB of a log each; the one that was asked for longest ago goes first. */
const ANSWERS_MAX = 32;

type Reply = HttpReply | Promise<HttpReply>;

export class OperationReplies {
  readonly #parts: ReplyParts;
  readonly #startedDate: number;
  readonly #startedAt: number;
  #server: CachedResponse | undefined;
  /** The newest answer to each question to a backend, by question: an equal text is the same response. */
  readonly #answers = new Map<string, CachedResponse>();
  #openapi: CachedResponse | undefined;

  constructor(parts: ReplyParts) {
    this.#parts = parts;
    this.#startedDate = parts.clock.date();
    this.#startedAt = parts.clock.monotonic();
  }

  reply(operation: Operation, given: OperationInput): Reply {
    const verdict =
      operation.method === 'GET' && 'backend' in operation
        ? this.#parts.documents.firstVerdict(operation.backend)
        : undefined;
    if (verdict === undefined) return this.#replyNow(operation, given);
    return verdict.then(() => this.#replyNow(operation, given));
  }

  #replyNow(operation: Operation, given: OperationInput): Reply {
    const { params, held = '', query = '' } = given;
    switch (operation.kind) {
      case 'command':
        return this.#change(operation, given);
      case 'document':
        return documentReply(this.#parts.documents.read(operation.resource), held);
      case 'tracklist':
        return documentReply(this.#parts.documents.tracklist(fullBusName(params['player'] ?? '')), held);
      case 'text':
      case 'cookie':
        return this.#backendReply(operation.backend, operation.command, held);
      case 'log':
        return this.#log(operation, params, query, held);
      case 'cover':
        return this.#parts.covers.reply(fullBusName(params['player'] ?? ''), held);
      case 'server':
        return this.#serverReply(held);
      case 'health':
        return this.#health();
      case 'openapi':
        return this.#openapiReply(held);
    }
  }

  async #change(operation: ChangeOperation, { params, json }: OperationInput): Promise<HttpReply> {
    const body = await checkBody(operation, json);
    if (!body.ok) return problemReply(body);
    const command = operation.command(params, body.given);
    if (command === undefined) return problemReply(unknownParameter(operation.path, params));
    const answer = await this.#parts.backends.ask(operation.backend, command);
    return answer.ok ? ACCEPTED : problemReply(answer);
  }

  #log({ path, backend, command }: LogOperation, params: Params, query: string, held: string): Reply {
    const lines = logLines(query);
    const asked = command(params, lines ?? LOG_LINES.byDefault);
    if (asked === undefined) return problemReply(unknownParameter(path, params));
    if (lines === undefined) return problemReply(BAD_LINES);
    return this.#backendReply(backend, asked, held);
  }

  async #backendReply<B extends Backend>(backend: B, command: Command<B>, held: string): Promise<HttpReply> {
    const answer = await this.#parts.backends.ask(backend, command);
    if (!answer.ok) return problemReply(answer);
    if (answer.bytes !== undefined) return cookieReply(answer.bytes);
    if (answer.text === undefined) throw new Error('The backend answered without the bytes or the text');
    const { responses, clock } = this.#parts;
    const question = JSON.stringify([backend, command]);
    const made = responses.remake(this.#answers.get(question), answer.text, clock.date());
    this.#answers.delete(question);
    this.#answers.set(question, made);
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size > ANSWERS_MAX) this.#answers.delete(oldest);
    return replyOf(made, held);
  }

  #serverReply(held: string): HttpReply {
    const { responses, clock, serverRecord } = this.#parts;
    const changedAt = this.#server === undefined ? this.#startedDate : clock.date();
    this.#server = responses.remake(this.#server, JSON.stringify(serverRecord()), changedAt);
    return replyOf(this.#server, held);
  }

  #health(): HttpReply {
    const { healthRecord, clock } = this.#parts;
    const body = JSON.stringify(healthRecord(clock.monotonic() - this.#startedAt));
    return { status: 200, headers: [JSON_TYPE, NEVER_KEEP], body };
  }

  /** Made once. A failure is not kept, as the next attempt to load it may succeed. */
  async #openapiReply(held: string): Promise<HttpReply> {
    const { openapi, responses } = this.#parts;
    this.#openapi ??= responses.make(await openapi(), this.#startedDate);
    return replyOf(this.#openapi, held);
  }
}

const BAD_LINES = problem(
  'bad-query',
  `Parameter lines must be given once, as ${LOG_LINES.minimum} to ${LOG_LINES.maximum}`,
);

/** Undefined if it is not a number within the bounds; other parameters are ignored. */
function logLines(query: string): number | undefined {
  const values = new URLSearchParams(query).getAll('lines');
  if (values.length === 0) return LOG_LINES.byDefault;
  const [value = ''] = values;
  const lines = values.length === 1 && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  return lines >= LOG_LINES.minimum && lines <= LOG_LINES.maximum ? lines : undefined;
}

function documentReply(document: CachedResponse | Problem, held: string): HttpReply {
  return 'fault' in document ? problemReply(document) : replyOf(document, held);
}

function unknownParameter(path: string, params: Params): Problem {
  const found = parametersOf(path).find(
    (name) => allowedValues(name)?.includes(params[name] ?? '') === false,
  );
  if (found === undefined) throw new Error(`The operation at ${path} was not given its parameters`);
  const values = allowedValues(found)?.join(' and ');
  return problem('not-found', `There is no ${found} ${JSON.stringify(params[found])}, only ${values}`);
}
