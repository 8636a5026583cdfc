// `tonearm ctl watch`: prints one line for each event of the chosen types. If the stream is lost,
// `ReconnectingStream` opens it again.

import type { ProblemError } from '../../client/problem.js';
import { ReconnectingStream } from '../../client/stream.js';
import type { Transport } from '../../client/transport.js';
import { printable } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { EVENT_TYPES } from './commands.js';

/** The levels cost the node CPU time, so this type is sent only to users who name it in full. */
const LEVEL_TYPE = 'audio.level';
/**
 * The node sends this event when the stream begins, after some time without events, and when the daemon
 * ends.
 */
const SERVER_INFO = 'server.info';

export interface WatchOptions {
  /** Empty for all types except `audio.level` and `server.info`. */
  readonly types: readonly string[];
  readonly json: boolean;
  readonly write: (line: string) => void;
  /** Called when the stream is lost, and when it is back. */
  readonly remark: (text: string) => void;
  /** The text of a problem for people. */
  readonly describeProblem: (problem: ProblemError) => string;
  /** Aborts when the lines cannot be written any more. */
  readonly over: AbortSignal;
}

/**
 * The event types for which the words stand. A word is a name, or several names with commas between them.
 * The name `audio` stands for all types that begin with `audio.`, except `audio.level`. The error is the
 * first name that stands for no type.
 */
export function eventTypes(words: readonly string[]): Result<readonly string[], string> {
  const names = words.flatMap(namesIn);
  const matches = names.map((name) => ({ name, types: EVENT_TYPES.filter((type) => isNamedBy(name, type)) }));
  const unknown = matches.find(({ types }) => types.length === 0);
  if (unknown !== undefined) return failed(unknown.name);
  return success([...new Set(matches.flatMap(({ types }) => types))]);
}

/** A word without a name, such as `,`, is returned as it is. An empty list would mean all types. */
function namesIn(word: string): readonly string[] {
  const names = word.split(',').filter((name) => name !== '');
  return names.length === 0 ? [word] : names;
}

function isNamedBy(name: string, type: string): boolean {
  return type === name || (type !== LEVEL_TYPE && type.startsWith(`${name}.`));
}

/** Resolves with undefined when `options.over` aborts, or with the problem if the first attempt fails. */
export function watch(transport: Transport, options: WatchOptions): Promise<ProblemError | undefined> {
  return new Promise((resolve) => new EventWatch(transport, options, resolve));
}

class EventWatch {
  readonly #options: WatchOptions;
  readonly #stream: ReconnectingStream;
  readonly #end: (problem: ProblemError | undefined) => void;
  #wasOpen = false;
  #isLost = false;

  constructor(transport: Transport, options: WatchOptions, end: (problem: ProblemError | undefined) => void) {
    this.#options = options;
    this.#end = end;
    this.#stream = new ReconnectingStream({
      transport,
      query: () => new URLSearchParams(options.types.length > 0 ? { types: options.types.join() } : {}),
      onEvent: ({ type, data }) => this.#print(type, data),
      // The stream calls `onRead` after each piece. Only the first call after the start or a loss matters.
      onRead: () => this.#markOpen(),
      onLost: (problem) => this.#lost(problem),
    });
    options.over.addEventListener('abort', () => this.#close(undefined));
    // A signal that has aborted before does not call the listener.
    if (options.over.aborted) this.#close(undefined);
  }

  /** Prints only chosen types: the node sends `server.info` and the marks of a snapshot in any case. */
  #print(type: string, data: string): void {
    const { types, json, write } = this.#options;
    const isChosen = types.length === 0 ? type !== SERVER_INFO : types.includes(type);
    if (isChosen) write(eventLine(type, data, json));
  }

  #markOpen(): void {
    if (this.#isLost) this.#options.remark('the node is there again');
    this.#wasOpen = true;
    this.#isLost = false;
  }

  #lost(problem: ProblemError): void {
    // If the first attempt fails, the watch ends with the problem. The address may be wrong, or the node may
    // refuse the request. Further attempts would not help.
    if (!this.#wasOpen) {
      this.#close(problem);
      return;
    }
    if (!this.#isLost) this.#options.remark(`${this.#options.describeProblem(problem)}; trying again`);
    this.#isLost = true;
  }

  #close(problem: ProblemError | undefined): void {
    this.#stream.close();
    this.#end(problem);
  }
}

function eventLine(type: string, data: string, json: boolean): string {
  return json ? `{"type":${JSON.stringify(type)},"data":${data}}` : `${type} ${printable(data)}`;
}
