// Carries out operations for HTTP requests and for bridges, and makes the replies. It knows no connections
// and no trust: the caller has checked trust and parsed the body.

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
  replyOf,
} from './reply.js';

export interface ReplyParts {
  readonly documents: Documents;
  readonly responses: ResponseMaker;
  readonly backends: Backends;
  readonly covers: Pick<Covers, 'reply'>;
  /** The record says whether the client that gets it may change something. */
  readonly serverRecord: (mayChange: boolean) => ServerRecord;
  readonly healthRecord: (uptimeMs: number) => HealthRecord;
  /**
   * The text of `GET /openapi.json` for clients that may change something, or nothing. Each of the two texts
   * is requested again until a request for it has succeeded.
   */
  readonly openapi: (mayChange: boolean) => Promise<string>;
  readonly clock: Clock;
}

export interface OperationInput {
  readonly params: Params;
  /** True if the sender of the request may change something. */
  readonly mayChange: boolean;
  /** The text of the header If-None-Match. */
  readonly knownTag?: string;
  /** The raw text behind the question mark. */
  readonly query?: string;
  /** The body; undefined if none was sent. */
  readonly json?: unknown;
}

/** This many answers of backends are remembered, to recognize equal ones. A log may have up to 64 KiB. */
const REMEMBERED_MAX = 32;

type Reply = HttpReply | Promise<HttpReply>;

export class OperationReplies {
  readonly #parts: ReplyParts;
  readonly #startedDate: number;
  readonly #startedAt: number;
  /**
   * The newest answer to each question to a backend. If the next answer has an equal text, it gets the same
   * response, with the same tag and time. The newest question is at the end.
   */
  readonly #remembered = new Map<string, CachedResponse>();
  /** By `mayChange`. */
  readonly #server = new Map<boolean, CachedResponse>();
  /** By `mayChange`. */
  #openapi = new Map<boolean, CachedResponse>();

  constructor(parts: ReplyParts) {
    this.#parts = parts;
    this.#startedDate = parts.clock.date();
    this.#startedAt = parts.clock.monotonic();
  }

  /** To be called when the configuration has changed, because then other routes may exist. */
  reconfigured(): void {
    this.#openapi = new Map();
  }

  reply(operation: Operation, input: OperationInput): Reply {
    const isReading = operation.method === 'GET' && 'backend' in operation;
    const firstHealth = isReading ? this.#parts.documents.firstHealth(operation.backend) : undefined;
    if (firstHealth === undefined) return this.#replyNow(operation, input);
    return firstHealth.then(() => this.#replyNow(operation, input));
  }

  #replyNow(operation: Operation, input: OperationInput): Reply {
    const { params, knownTag = '', query = '', mayChange } = input;
    const { documents, covers, clock } = this.#parts;
    switch (operation.kind) {
      case 'command':
        return this.#change(operation, input);
      case 'document':
        return documentReply(documents.read(operation.resource), knownTag);
      case 'tracklist':
        return documentReply(documents.tracklist(fullBusName(params['player'] ?? '')), knownTag);
      case 'text':
      case 'cookie':
        return this.#ask(operation.backend, operation.command, knownTag);
      case 'log': {
        const lines = logLines(query);
        const fault = badParameter(params);
        if (fault !== undefined || lines === undefined) return problemReply(fault ?? BAD_LINES);
        return this.#ask(operation.backend, operation.command(params, lines), knownTag);
      }
      case 'cover':
        return covers.reply(fullBusName(params['player'] ?? ''), knownTag);
      case 'server':
        return this.#serverReply(mayChange, knownTag);
      case 'health': {
        const body = JSON.stringify(this.#parts.healthRecord(clock.monotonic() - this.#startedAt));
        return { status: 200, headers: [JSON_TYPE, NO_STORE], body };
      }
      case 'openapi':
        return this.#openapiReply(mayChange, knownTag);
    }
  }

  async #change(operation: ChangeOperation, { params, json }: OperationInput): Promise<HttpReply> {
    const body = await checkBody(operation, json);
    if (!body.ok) return problemReply(body.error);
    const fault = badParameter(params);
    if (fault !== undefined) return problemReply(fault);
    const command = operation.command(params, body.value);
    const answer = await this.#parts.backends.ask(operation.backend, command);
    return answer.ok ? ACCEPTED : problemReply(answer.error);
  }

  async #ask(backend: Backend, command: Command, knownTag: string): Promise<HttpReply> {
    const question = `${backend} ${JSON.stringify(command)}`;
    const answer = await this.#parts.backends.ask(backend, command);
    if (!answer.ok) return problemReply(answer.error);
    const { bytes, text } = answer.value;
    if (bytes !== undefined) return cookieReply(bytes);
    if (text === undefined) throw new Error('The backend answered without the bytes or the text');
    const { responses, clock } = this.#parts;
    const response = responses.remake(this.#remembered.get(question), text, clock.date());
    this.#remember(question, response);
    return replyOf(response, knownTag);
  }

  #remember(question: string, response: CachedResponse): void {
    // The question is deleted first, because `set` would leave a known question at its old place.
    this.#remembered.delete(question);
    this.#remembered.set(question, response);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > REMEMBERED_MAX && oldest !== undefined) this.#remembered.delete(oldest);
  }

  #serverReply(mayChange: boolean, knownTag: string): HttpReply {
    const { responses, serverRecord, clock } = this.#parts;
    const before = this.#server.get(mayChange);
    const date = before === undefined ? this.#startedDate : clock.date();
    const response = responses.remake(before, JSON.stringify(serverRecord(mayChange)), date);
    this.#server.set(mayChange, response);
    return replyOf(response, knownTag);
  }

  /** A failure is not remembered, because the next attempt to load the document may succeed. */
  async #openapiReply(mayChange: boolean, knownTag: string): Promise<HttpReply> {
    const { openapi, responses } = this.#parts;
    // A change of the configuration replaces `#openapi`. A text that is made meanwhile stays in the old map.
    const cached = this.#openapi;
    const response = cached.get(mayChange) ?? responses.make(await openapi(mayChange), this.#startedDate);
    cached.set(mayChange, response);
    return replyOf(response, knownTag);
  }
}

const BAD_LINES = problem(
  'bad-query',
  `Parameter lines must be given once, as ${LOG_LINES.minimum} to ${LOG_LINES.maximum}`,
);

/** The value of `lines`; undefined if it is not a number within the bounds. Other parameters are ignored. */
function logLines(query: string): number | undefined {
  const values = new URLSearchParams(query).getAll('lines');
  if (values.length === 0) return LOG_LINES.byDefault;
  const [value = ''] = values;
  const lines = values.length === 1 && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  return lines >= LOG_LINES.minimum && lines <= LOG_LINES.maximum ? lines : undefined;
}

function documentReply(document: Result<CachedResponse, Problem>, knownTag: string): HttpReply {
  return document.ok ? replyOf(document.value, knownTag) : problemReply(document.error);
}

/** Checks the length of each parameter, which bounds what an actor gets, and the words of a scope. */
function badParameter(params: Params): Problem | undefined {
  if (Object.values(params).some(({ length }) => length > NAME_MAX_CHARACTERS))
    return problem('not-found', `A name has at most ${NAME_MAX_CHARACTERS} characters`);
  const { scope } = params;
  const words: readonly string[] = PARAMETERS.scope;
  if (scope === undefined || words.includes(scope)) return undefined;
  return problem('not-found', `There is no scope ${JSON.stringify(scope)}, only ${words.join(' and ')}`);
}
