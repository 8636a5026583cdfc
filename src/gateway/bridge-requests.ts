// Carries out the requests of bridges: the same operations as over HTTP, with the same checks, deadlines and refusals. Trust is not
// checked, because a bridge is part of the node.

import type { BridgeReply, BridgeRequest, Log } from '../protocol/actor/messages.js';
import { OPERATIONS, type RouteSettings } from '../protocol/actor/operations.js';
import { type Params, parametersOf } from '../protocol/actor/parameters.js';
import { BODY_LIMIT_BYTES, BODY_TOO_LARGE, type ParsedBody, parseBody } from './body.js';
import type { RequestHandler } from './handler.js';
import type { OperationReplies } from './operation-replies.js';
import { GATEWAY_FAILED, problem, problemReply, SHUTTING_DOWN } from './problem.js';
import type { HttpReply } from './reply.js';
import { BAD_PATHS, noSuchPath } from './router.js';

/** For all bridges together; more than a person or a house needs at a time. */
const UNDER_WAY_MAX = 64;

export interface BridgeRequestParts {
  readonly handler: Pick<RequestHandler, 'isShutDown'>;
  readonly replies: Pick<OperationReplies, 'reply'>;
  readonly settings: RouteSettings;
  readonly log: Log;
}

export class BridgeRequests {
  readonly #parts: BridgeRequestParts;
  #underWay = 0;

  constructor(parts: BridgeRequestParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async carryOut(request: BridgeRequest): Promise<BridgeReply> {
    if (this.#underWay >= UNDER_WAY_MAX)
      return bridgeReply(problemReply(problem('unavailable', `${UNDER_WAY_MAX} requests wait already`)));
    this.#underWay += 1;
    const reply = await this.#reply(request).catch((error: unknown) => this.#failed(request, error));
    this.#underWay -= 1;
    return bridgeReply(reply);
  }

  async #reply({ operation: name, params = {}, body: sent, unread }: BridgeRequest): Promise<HttpReply> {
    const { handler, replies, settings } = this.#parts;
    if (handler.isShutDown) return problemReply(SHUTTING_DOWN);
    if (!areTexts(params)) return problemReply(BAD_PATHS.encoding);
    if (Object.values(params).some((text) => text.includes('\0'))) return problemReply(BAD_PATHS.nul);
    const operation = name && OPERATIONS[name];
    const lacking = operation?.lacks(settings);
    const isWhole = operation && parametersOf(operation.path).every((parameter) => params[parameter]);
    if (!isWhole || lacking !== undefined) return problemReply(noSuchPath(lacking));
    const body = unread === undefined ? ({ ok: true, json: sent } as const) : parseText(unread);
    return body.ok ? replies.reply(operation, { params, json: body.json }) : problemReply(body);
  }

  #failed({ operation }: BridgeRequest, error: unknown): HttpReply {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#parts.log('error', 'a request failed inside the gateway', { operation: operation ?? '', reason });
    return problemReply(GATEWAY_FAILED);
  }
}

function areTexts(params: Readonly<Record<string, string | undefined>>): params is Params {
  return Object.values(params).every((text) => text !== undefined);
}

/** Refused with the same texts as over HTTP. */
function parseText(text: string): ParsedBody {
  const bytes = Buffer.from(text);
  return bytes.byteLength > BODY_LIMIT_BYTES ? BODY_TOO_LARGE : parseBody('application/json', bytes);
}

function bridgeReply({ status, body = '' }: HttpReply): BridgeReply {
  return { status, body: typeof body === 'string' ? body : Buffer.from(body).toString() };
}
