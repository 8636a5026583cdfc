// Carries out the requests of bridges: the same operations as over HTTP, with the same checks, deadlines and refusals. Trust is not
// checked, because a bridge is part of the node.

import type { BridgeReply, BridgeRequest, Log } from '../protocol/actor/messages.js';
import { OPERATIONS, type RouteSettings } from '../protocol/actor/operations.js';
import { type Params, parametersOf } from '../protocol/actor/parameters.js';
import { BODY_LIMIT_BYTES, BODY_TOO_LARGE, type ParsedBody, parseBody } from './body.js';
import type { RequestHandler } from './handler.js';
import type { OperationReplies } from './operation-replies.js';
import { GATEWAY_FAILED, problemReply, SHUTTING_DOWN } from './problem.js';
import type { HttpReply } from './reply.js';
import { BAD_PATHS, noSuchPath } from './router.js';

interface Parts {
  readonly handler: Pick<RequestHandler, 'isShutDown'>;
  readonly replies: Pick<OperationReplies, 'reply'>;
  readonly settings: RouteSettings;
  readonly log: Log;
}

/** The returned function carries a request out, and never rejects. Each bridge bounds its own requests. */
export function bridgeRequests(parts: Parts): (request: BridgeRequest) => Promise<BridgeReply> {
  return async (request) => {
    try {
      return bridgeReply(await replyTo(request, parts));
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const facts = { operation: request.operation ?? '', reason };
      parts.log('error', 'a request failed inside the gateway', facts);
      return bridgeReply(problemReply(GATEWAY_FAILED));
    }
  };
}

function replyTo(
  { operation: name, params = {}, body: sent, unread }: BridgeRequest,
  { handler, replies, settings }: Parts,
): HttpReply | Promise<HttpReply> {
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
