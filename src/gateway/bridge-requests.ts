// Carries out what bridges ask, as if it had come over HTTP: the same routes, checks, deadlines and refusals. Only trust is not asked
// for: it is the node itself that asks.

import type { ChildName } from '../protocol/actor/backends.js';
import type { BridgeReply, BridgeRequest } from '../protocol/actor/messages.js';
import type { ReceivedBody } from './body.js';
import { BODY_LIMIT_BYTES, type ResponseStream } from './exchange.js';
import type { RequestHandler, TrustedExchange } from './handler.js';
import { problem, problemReply } from './problem.js';
import type { HttpReply } from './reply.js';

/** Of one bridge: more than a person or a house asks at a time. */
const UNDER_WAY_MAX = 64;

export class BridgeRequests {
  readonly #handler: Pick<RequestHandler, 'serveTrusted' | 'onFault'>;
  readonly #underWay = new Map<ChildName, number>();

  constructor(handler: Pick<RequestHandler, 'serveTrusted' | 'onFault'>) {
    this.#handler = handler;
  }

  /** Never rejects. */
  async carryOut(child: ChildName, request: BridgeRequest): Promise<BridgeReply> {
    const others = this.#underWay.get(child) ?? 0;
    if (others >= UNDER_WAY_MAX) {
      return replied(
        problemReply(problem('unavailable', `${UNDER_WAY_MAX} requests of ${child} wait already`)),
      );
    }
    this.#underWay.set(child, others + 1);
    const reply = await this.#served(request);
    this.#underWay.set(child, (this.#underWay.get(child) ?? 1) - 1);
    return replied(reply);
  }

  #served(request: BridgeRequest): Promise<HttpReply> {
    return new Promise((resolve) => {
      const exchange = new BridgeExchange(request, resolve);
      try {
        const later = this.#handler.serveTrusted(exchange);
        later?.catch((error: unknown) => this.#handler.onFault(exchange, error));
      } catch (error) {
        this.#handler.onFault(exchange, error);
      }
    });
  }
}

function replied({ status, body = '' }: HttpReply): BridgeReply {
  return { status, body: typeof body === 'string' ? body : Buffer.from(body).toString() };
}

/** A request without a connection. */
class BridgeExchange implements TrustedExchange {
  readonly method: string;
  readonly path: string;
  readonly #body: Buffer;
  readonly #onReply: (reply: HttpReply) => void;

  constructor({ method, path, body = '' }: BridgeRequest, onReply: (reply: HttpReply) => void) {
    this.method = method;
    this.path = path;
    this.#body = Buffer.from(body);
    this.#onReply = onReply;
  }

  header(name: string): string {
    return name === 'content-type' ? 'application/json' : '';
  }

  query(): string {
    return '';
  }

  async receiveBody(): Promise<ReceivedBody> {
    if (this.#body.byteLength > BODY_LIMIT_BYTES) return { kind: 'too-large' };
    return { kind: 'whole', bytes: this.#body };
  }

  /** The first counts. */
  answer(reply: HttpReply): void {
    this.#onReply(reply);
  }

  openStream(): ResponseStream {
    throw new Error('A bridge has no connection that could be a stream: it is told what the streams are');
  }

  cut(): void {
    // There is no connection, and behind every failure the answer has been given.
  }
}
