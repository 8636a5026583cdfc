// Carries out operations for HTTP requests and for bridges, and makes the replies. The caller has checked
// trust and parsed the body.

import type { Clock } from '../host/clock.js';
import type { Backend } from '../protocol/actor/backends.js';
import type { Command } from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';
import { type ChangeOperation, fullBusName, type Operation } from '../protocol/actor/operations.js';
import { LOG_LINES, NAME_MAX_CHARACTERS, PARAMETERS, type Params } from '../protocol/actor/parameters.js';
import type { Result } from '../protocol/actor/result.js';
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
  NO_STORE,
  type ResponseMaker,
  replyFor,
} from './reply.js';

export interface ReplyParts {
  readonly documents: Documents;
  readonly responses: ResponseMaker;
  readonly backends: Backends;
  readonly covers: Pick<Covers, 'reply'>;
  /** `mayChange` becomes the record's member `control`. */
  readonly serverRecord: (mayChange: boolean) => ServerRecord;
  readonly healthRecord: (uptimeMs: number) => HealthRecord;
  /**
   * Makes the text of `GET /openapi.json`. Clients that may change nothing get another text. If the promise
   * rejects, the next request calls the function again.
   */
  readonly openapiText: (mayChange: boolean) => Promise<string>;
  readonly clock: Clock;
}

export interface OperationInput {
  readonly params: Params;
  /** True if the client may change something. */
  readonly mayChange: boolean;
  /** The text of the header `If-None-Match`. */
  readonly ifNoneMatch?: string;
  /** The raw text after the question mark of the URL. */
  readonly query?: string;
  /** The parsed body; undefined if the request has no body. */
  readonly json?: unknown;
}

/**
 * At most this many responses are remembered, to recognize an answer of a backend that has not changed. An
 * answer with a log may have 64 KiB, so all remembered responses together may take 2 MiB.
 */
const REMEMBERED_RESPONSES_MAX = 32;

type ReplyOrPromise = HttpReply | Promise<HttpReply>;

export class OperationReplies {
  readonly #parts: ReplyParts;
  /** The time since which the current configuration applies, in milliseconds since the epoch. */
  #configuredAt: number;
  readonly #startedMonotonicMs: number;
  /**
   * The newest response to each question. A question is a text such as `audio {"do":"network"}`: a backend
   * and a command. While a backend answers a question with the same text, the response stays the same, with
   * its tag and time. The map has the most recently answered question last.
   */
  readonly #rememberedResponses = new Map<string, CachedResponse>();
  /** By `mayChange`. */
  readonly #serverResponses = new Map<boolean, CachedResponse>();
  /** By `mayChange`. Each new configuration begins a new map (`onReconfigured`). */
  #openapiResponses = new Map<boolean, CachedResponse>();
  /**
   * The OpenAPI responses of earlier configurations, by `mayChange`. If the new text equals the earlier one,
   * the earlier response is used again, with its tag and time.
   */
  readonly #earlierOpenapiResponses = new Map<boolean, CachedResponse>();

  constructor(parts: ReplyParts) {
    this.#parts = parts;
    this.#configuredAt = parts.clock.date();
    this.#startedMonotonicMs = parts.clock.monotonic();
  }

  /** To be called when the configuration was read again, because the OpenAPI text may then be different. */
  onReconfigured(): void {
    this.#configuredAt = this.#parts.clock.date();
    for (const [mayChange, response] of this.#openapiResponses)
      this.#earlierOpenapiResponses.set(mayChange, response);
    this.#openapiResponses = new Map();
  }

  /**
   * If the operation reads from a backend, the reply waits for the backend's first report of its health
   * (documents.ts).
   */
  reply(operation: Operation, input: OperationInput): ReplyOrPromise {
    const readsFromBackend = operation.method === 'GET' && 'backend' in operation;
    const firstHealthWait = readsFromBackend
      ? this.#parts.documents.waitForFirstHealth(operation.backend)
      : undefined;
    if (firstHealthWait === undefined) return this.#replyNow(operation, input);
    return firstHealthWait.then(() => this.#replyNow(operation, input));
  }

  #replyNow(operation: Operation, input: OperationInput): ReplyOrPromise {
    const { params, ifNoneMatch = '', query = '', mayChange } = input;
    const { documents, covers, clock } = this.#parts;
    switch (operation.kind) {
      case 'command':
        return this.#change(operation, input);
      case 'document':
        return documentReply(documents.responseTo(operation.resource), ifNoneMatch);
      case 'tracklist':
        return documentReply(documents.tracklist(fullBusName(params['player'] ?? '')), ifNoneMatch);
      case 'text':
      case 'cookie':
        return this.#ask(operation.backend, operation.command, ifNoneMatch);
      case 'log': {
        const lines = logLines(query);
        const badParameter = parameterProblem(params);
        if (badParameter !== undefined) return problemReply(badParameter);
        if (lines === undefined) return problemReply(BAD_LINES);
        return this.#ask(operation.backend, operation.command(params, lines), ifNoneMatch);
      }
      case 'cover':
        return covers.reply(fullBusName(params['player'] ?? ''), ifNoneMatch);
      case 'server':
        return this.#serverReply(mayChange, ifNoneMatch);
      case 'health': {
        const body = JSON.stringify(this.#parts.healthRecord(clock.monotonic() - this.#startedMonotonicMs));
        return { status: 200, headers: [JSON_TYPE, NO_STORE], body };
      }
      case 'openapi':
        return this.#openapiReply(mayChange, ifNoneMatch);
    }
  }

  async #change(operation: ChangeOperation, { params, json }: OperationInput): Promise<HttpReply> {
    const body = await checkBody(operation, json);
    if (!body.ok) return problemReply(body.error);
    const badParameter = parameterProblem(params);
    if (badParameter !== undefined) return problemReply(badParameter);
    const command = operation.command(params, body.value);
    const answer = await this.#parts.backends.ask(operation.backend, command);
    return answer.ok ? ACCEPTED : problemReply(answer.error);
  }

  async #ask(backend: Backend, command: Command, ifNoneMatch: string): Promise<HttpReply> {
    const question = `${backend} ${JSON.stringify(command)}`;
    const answer = await this.#parts.backends.ask(backend, command);
    if (!answer.ok) return problemReply(answer.error);
    const { bytes, text } = answer.value;
    // In this method, only the sound server's cookie comes as bytes. Other answers come as text.
    if (bytes !== undefined) return cookieReply(bytes);
    if (text === undefined) throw new Error('The backend answered without the bytes or the text');
    const { responses, clock } = this.#parts;
    const response = responses.makeIfChanged(this.#rememberedResponses.get(question), text, clock.date());
    this.#remember(question, response);
    return replyFor(response, ifNoneMatch);
  }

  #remember(question: string, response: CachedResponse): void {
    // Without `delete`, a question that is already in the map would keep its earlier place.
    this.#rememberedResponses.delete(question);
    this.#rememberedResponses.set(question, response);
    const [oldestQuestion] = this.#rememberedResponses.keys();
    const areTooMany = this.#rememberedResponses.size > REMEMBERED_RESPONSES_MAX;
    if (areTooMany && oldestQuestion !== undefined) this.#rememberedResponses.delete(oldestQuestion);
  }

  #serverReply(mayChange: boolean, ifNoneMatch: string): HttpReply {
    const { responses, serverRecord, clock } = this.#parts;
    const before = this.#serverResponses.get(mayChange);
    // The first record counts as changed when the current configuration began to apply.
    const changedAt = before === undefined ? this.#configuredAt : clock.date();
    const response = responses.makeIfChanged(before, JSON.stringify(serverRecord(mayChange)), changedAt);
    this.#serverResponses.set(mayChange, response);
    return replyFor(response, ifNoneMatch);
  }

  async #openapiReply(mayChange: boolean, ifNoneMatch: string): Promise<HttpReply> {
    const { openapiText, responses } = this.#parts;
    const changedAt = this.#configuredAt;
    // `cached` belongs to the configuration that applies now. If the configuration changes while the text is
    // made, the outdated response goes into `cached`, and not into the new map.
    const cached = this.#openapiResponses;
    const earlier = this.#earlierOpenapiResponses.get(mayChange);
    const response =
      cached.get(mayChange) ?? responses.makeIfChanged(earlier, await openapiText(mayChange), changedAt);
    cached.set(mayChange, response);
    return replyFor(response, ifNoneMatch);
  }
}

const BAD_LINES = problem(
  'bad-query',
  `Parameter lines must be given once, as ${LOG_LINES.minimum} to ${LOG_LINES.maximum}`,
);

/**
 * Returns the default if the query has no `lines`, and undefined if `lines` is repeated, or is not a number
 * within the bounds. Other parameters are ignored.
 */
function logLines(query: string): number | undefined {
  const values = new URLSearchParams(query).getAll('lines');
  if (values.length === 0) return LOG_LINES.byDefault;
  const [value = ''] = values;
  const isOneNumber = values.length === 1 && /^\d{1,3}$/.test(value);
  if (!isOneNumber) return undefined;
  const lines = Number(value);
  return lines >= LOG_LINES.minimum && lines <= LOG_LINES.maximum ? lines : undefined;
}

function documentReply(document: Result<CachedResponse, Problem>, ifNoneMatch: string): HttpReply {
  return document.ok ? replyFor(document.value, ifNoneMatch) : problemReply(document.error);
}

/**
 * Returns a problem if a parameter of the path is too long, or if the parameter `scope` is neither `user` nor
 * `system`. Without the limit of the length, a message to an actor could have any size.
 */
function parameterProblem(params: Params): Problem | undefined {
  if (Object.values(params).some(({ length }) => length > NAME_MAX_CHARACTERS))
    return problem('not-found', `A name has at most ${NAME_MAX_CHARACTERS} characters`);
  const { scope } = params;
  const scopes: readonly string[] = PARAMETERS.scope;
  if (scope === undefined || scopes.includes(scope)) return undefined;
  return problem('not-found', `There is no scope ${JSON.stringify(scope)}, only ${scopes.join(' and ')}`);
}
