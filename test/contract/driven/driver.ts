// Drives a built daemon for the rows (row.ts). Each row is a test. The driver records which requests have
// succeeded, and which events have come, since the current row began. With these, row.ts checks what the row
// has driven.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventConsumer } from '../../consumer/consumer.js';
import type { HttpAnswer } from '../../tools/http.js';
import { until } from '../../until.js';
import { Daemon, type DaemonOptions, type Ending } from '../daemon.js';

export class Driver {
  readonly daemon: Daemon;
  /** Method and path of each request that was answered with a status below 300. */
  readonly succeeded: string[] = [];
  /** `earlierEventCount` is the number of events that had come when the current row began. */
  readonly #streams: { readonly stream: EventConsumer; earlierEventCount: number }[] = [];

  private constructor(daemon: Daemon) {
    this.daemon = daemon;
  }

  /** Starts a daemon that ends with `t`, and opens an event stream for each query. */
  static async start(t: Ending, options: DaemonOptions, ...queries: readonly string[]): Promise<Driver> {
    const driver = new Driver(await Daemon.start(options, t));
    for (const query of queries) await driver.openStream(query);
    return driver;
  }

  /** Opens one more stream. A row may close the stream; otherwise the stream ends with the daemon. */
  async openStream(query: string): Promise<EventConsumer> {
    const stream = await this.daemon.events(query);
    this.#streams.push({ stream, earlierEventCount: 0 });
    return stream;
  }

  get config(): string {
    return readFileSync(join(this.daemon.directory, 'config.yaml'), 'utf8');
  }

  /** Forgets the requests and events of earlier rows. */
  beginRow(): void {
    this.succeeded.length = 0;
    for (const entry of this.#streams) entry.earlierEventCount = entry.stream.events.length;
  }

  /** The types of the events that have come since the row began. */
  receivedTypes(): ReadonlySet<string> {
    return new Set(this.#eventsOfRow().map(({ type }) => type));
  }

  /** Sends any request, and records it if it succeeds. */
  async send(method: string, path: string, body?: unknown, headers = {}): Promise<HttpAnswer> {
    const answer = await this.daemon.send(method, path, body, headers);
    if (answer.status < 300) this.succeeded.push(`${method} ${path}`);
    return answer;
  }

  async statusOf(path: string, headers = {}): Promise<number> {
    return (await this.send('GET', path, undefined, headers)).status;
  }

  /** Sends a GET, and returns the parsed body. The status must be 200. */
  async read<T>(path: string): Promise<T> {
    const { status, text } = await this.send('GET', path);
    assert.equal(status, 200, `GET ${path}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Sends a POST. The status of the answer must be 202, and its body empty. */
  async post(path: string, body?: unknown): Promise<void> {
    const { status, text } = await this.send('POST', path, body);
    assert.deepEqual([status, text], [202, ''], `POST ${path}`);
  }

  /** Repeats a GET until it returns a document for which `fits` is true. */
  untilRead<T>(path: string, fits: (document: T) => boolean): Promise<boolean> {
    return until(`GET ${path} is as expected`, async () => fits(await this.read<T>(path)));
  }

  /** Waits for an event of this type with data that fit. An event since the row began counts, too. */
  async untilEvent(type: string, fits: (data: string) => boolean = () => true): Promise<void> {
    await until(`the event ${type} has come`, () =>
      this.#eventsOfRow().some((event) => event.type === type && fits(event.data)),
    );
  }

  #eventsOfRow() {
    return this.#streams.flatMap(({ stream, earlierEventCount }) => stream.events.slice(earlierEventCount));
  }
}
