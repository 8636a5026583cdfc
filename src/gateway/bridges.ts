// Sends the journal to bridges and other subscribers, to each at its own pace: a slow subscriber gets the
// newest text of each record, and nothing is queued for it. Requests of bridges are carried out as over
// HTTP, with the same checks, deadlines and refusals. Trust is not checked, because a bridge is part of the
// node. This file parses no text of the journal, and knows no thread.

import { errorText } from '../printable.js';
import { type ChildName, SUBSCRIBERS, type Subscriber } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, COLLECTION_SPECS } from '../protocol/actor/collections.js';
import {
  type BridgeReply,
  type BridgeRequest,
  type Change,
  type ChangeBatch,
  type Log,
  UNWANTED,
} from '../protocol/actor/messages.js';
import { OPERATIONS } from '../protocol/actor/operations.js';
import { type Params, parametersOf } from '../protocol/actor/parameters.js';
import { failed, success } from '../protocol/actor/result.js';
import { BODY_LIMIT_BYTES, BODY_TOO_LARGE, type ParsedBody, parseBody } from './body.js';
import type { RequestHandler } from './handler.js';
import type { Journal, JournalEntry } from './journal.js';
import type { OperationReplies } from './operation-replies.js';
import { problemOf, problemReply, SHUTTING_DOWN } from './problem.js';
import type { HttpReply } from './reply.js';
import { BAD_PATHS, lackingKey, noSuchPath, type RouteSettings } from './routes.js';

/** How far a subscriber's thread has read the journal. Only a subscriber's newest thread has a feed. */
interface Feed {
  readonly send: (batch: ChangeBatch) => void;
  /** Undefined if the thread is new. */
  reached: number | undefined;
  /** True if the thread has applied everything that it was sent. */
  isReady: boolean;
}

export class BridgeFeeds {
  readonly #journal: Journal;
  readonly #feeds = new Map<Subscriber, Feed>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** To be called with the new entries of the journal. A feed that is ready has sent all earlier entries. */
  changed(entries: readonly JournalEntry[]): void {
    for (const [subscriber, feed] of this.#feeds)
      if (feed.isReady) this.#send(subscriber, feed, false, entries);
  }

  /** To be called when the child is not enabled any more. */
  forget(child: ChildName): void {
    for (const subscriber of SUBSCRIBERS) if (subscriber === child) this.#feeds.delete(subscriber);
  }

  /**
   * Must be the last call. Sends unread changes also to subscribers that are not ready, because `stop` is
   * the next message that they get.
   */
  end(): void {
    for (const [subscriber, feed] of this.#feeds) this.#sendUnread(subscriber, feed);
  }

  /**
   * To be called when the subscriber's thread is ready for more. `isFirst` and `send` are those of
   * `ChildListener`. The new feed replaces that of an earlier thread.
   */
  feedRequest(child: ChildName, isFirst: boolean, send: (batch: ChangeBatch) => void): void {
    const subscriber = SUBSCRIBERS.find((name) => name === child);
    if (subscriber === undefined) return;
    const reached = isFirst ? undefined : this.#feeds.get(subscriber)?.reached;
    const feed: Feed = { send, reached, isReady: true };
    this.#feeds.set(subscriber, feed);
    this.#sendUnread(subscriber, feed);
  }

  /**
   * Sends what the thread has not read. If it has read nothing, it gets all records. If the journal has
   * dropped something that it has not read, it gets the actions that are left, and all records.
   */
  #sendUnread(subscriber: Subscriber, feed: Feed): void {
    const { reached } = feed;
    const journal = this.#journal;
    const isUnwanted = UNWANTED[subscriber];
    const unread = reached === undefined ? [] : [...journal.after(reached)];
    const isWhole = reached === undefined || !journal.isCompleteAfter(reached, (name) => !isUnwanted(name));
    const unreadActions = unread.filter(({ kind }) => kind === 'action');
    const entries = isWhole ? unreadActions.concat(this.#allRecords()) : unread;
    this.#send(subscriber, feed, isWhole, entries);
  }

  #allRecords(): readonly JournalEntry[] {
    const collections = COLLECTION_NAMES.filter((name) => COLLECTION_SPECS[name].keeps === undefined);
    return collections.flatMap((name) => [...this.#journal.records(name)]);
  }

  #send(subscriber: Subscriber, feed: Feed, isWhole: boolean, entries: readonly JournalEntry[]): void {
    feed.reached = this.#journal.newest;
    const relevant = entries.filter(({ collection }) => !UNWANTED[subscriber](collection));
    const changes = relevant.map(
      ({ kind, collection, key, json }): Change =>
        kind === 'removal' ? { kind: 'drop', collection, key } : { kind: 'put', collection, key, json },
    );
    if (changes.length === 0 && !isWhole) return;
    feed.isReady = false;
    feed.send({ isWhole, changes });
  }
}

interface Parts {
  readonly handler: Pick<RequestHandler, 'isShutDown'>;
  readonly replies: Pick<OperationReplies, 'reply'>;
  readonly settings: RouteSettings;
  readonly log: Log;
}

/** Carries a request out, and never rejects. Each bridge limits its own pending requests. */
export async function carryOut(request: BridgeRequest, parts: Parts): Promise<BridgeReply> {
  try {
    return bridgeReply(await replyTo(request, parts));
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? errorText(error)) : errorText(error);
    const facts = { operation: request.operation ?? '', reason };
    parts.log('error', 'a request failed inside the gateway', facts);
    return bridgeReply(problemReply(problemOf(error)));
  }
}

function replyTo(
  { operation: name, params = {}, body: sent, invalidBody }: BridgeRequest,
  { handler, replies, settings }: Parts,
): HttpReply | Promise<HttpReply> {
  if (handler.isShutDown) return problemReply(SHUTTING_DOWN);
  if (!areTexts(params)) return problemReply(BAD_PATHS.encoding);
  if (Object.values(params).some((text) => text.includes('\0'))) return problemReply(BAD_PATHS.nul);
  const operation = name && OPERATIONS[name];
  const lacking = operation && lackingKey(operation, settings);
  const hasAllParams = operation && parametersOf(operation.path).every((parameter) => params[parameter]);
  if (!hasAllParams || lacking !== undefined) return problemReply(noSuchPath(lacking));
  const body = invalidBody === undefined ? success(sent) : parseText(invalidBody);
  if (!body.ok) return problemReply(body.error);
  // `api.control` is for HTTP. MQTT is the only bridge with clients of its own, so its key decides here.
  return replies.reply(operation, { params, mayChange: settings.mqtt.control, json: body.value });
}

function areTexts(params: Readonly<Record<string, string | undefined>>): params is Params {
  return Object.values(params).every((text) => text !== undefined);
}

/** A bad text is refused with the same words as over HTTP. */
function parseText(text: string): ParsedBody {
  const bytes = Buffer.from(text);
  if (bytes.byteLength > BODY_LIMIT_BYTES) return failed(BODY_TOO_LARGE);
  return parseBody('application/json', bytes);
}

function bridgeReply({ status, body = '' }: HttpReply): BridgeReply {
  return { status, body: typeof body === 'string' ? body : Buffer.from(body).toString() };
}
