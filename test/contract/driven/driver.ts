// Drives a built daemon for the rows (row.ts), each of which is a test. It records which requests succeeded
// and which events came since the current row began, so that row.ts can check what the row has driven.

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
  /** `earlierEvents` counts the stream's events from before the current row. */
  readonly #streams: { readonly stream: EventConsumer; earlierEvents: number }[] = [];

  private constructor(daemon: Daemon) {
    this.daemon = daemon;
  }

  /** Starts a daemon that ends with `t`, and opens an event stream for each query. */
  static async start(t: Ending, options: DaemonOptions, ...queries: readonly string[]): Promise<Driver> {
    const driver = new Driver(await Daemon.start(options, t));
    for (const query of queries) await driver.openStream(query);
    return driver;
  }

  /** Opens one more stream. A row may close the stream; otherwise it ends with the daemon. */
  async openStream(query: string): Promise<EventConsumer> {
    const stream = await this.daemon.events(query);
    this.#streams.push({ stream, earlierEvents: 0 });
    return stream;
  }

  get config(): string {
    return readFileSync(join(this.daemon.directory, 'config.yaml'), 'utf8');
  }

  /** Forgets the requests and events of earlier rows. */
  beginRow(): void {
    this.succeeded.length = 0;
    for (const entry of this.#streams) entry.earlierEvents = entry.stream.events.length;
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

  /** The parsed body of a GET that must be 200. */
  async read<T>(path: string): Promise<T> {
    const { status, text } = await this.send('GET', path);
    assert.equal(status, 200, `GET ${path}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** POSTs, and demands a 202 with an empty body. */
  async post(path: string, body?: unknown): Promise<void> {
    const { status, text } = await this.send('POST', path, body);
    assert.deepEqual([status, text], [202, ''], `POST ${path}`);
  }

  /** Waits until `fits` is true of the document that a GET returns. */
  untilRead<T>(path: string, fits: (document: T) => boolean): Promise<boolean> {
    return until(`GET ${path} is as expected`, async () => fits(await this.read<T>(path)));
  }

  /** Waits until an event of this type, whose data fit, has come since the row began. */
  async untilEvent(type: string, fits: (data: string) => boolean = () => true): Promise<void> {
    await until(`the event ${type} has come`, () =>
      this.#eventsOfRow().some((event) => event.type === type && fits(event.data)),
    );
  }

  #eventsOfRow() {
    return this.#streams.flatMap(({ stream, earlierEvents }) => stream.events.slice(earlierEvents));
  }
}
