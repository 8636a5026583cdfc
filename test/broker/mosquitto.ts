// A private MQTT broker for a test: mosquitto as a child, on a port of its own, with its life and its end.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram } from '../sound/program.js';
import { freePort } from '../tools/free-port.js';
import { until } from '../until.js';

export interface BrokerOptions {
  /** Further lines of its configuration, under the listener. */
  readonly lines?: readonly string[];
  /** Files beside the configuration, by name; lines may name them as `DIR/NAME`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Unless false, anybody may come. */
  readonly anonymous?: boolean;
}

export interface Broker {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  readonly pid: number;
  /** Its log so far. */
  log(): string;
  freeze(): void;
  thaw(): void;
  /** Ends it; what it retained is lost with SIGKILL, and kept with SIGTERM. */
  end(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port; `forget`: without what it has kept. */
  start(how?: { readonly forget?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Needs the program `mosquitto`. */
export async function startBroker(options: BrokerOptions = {}): Promise<Broker> {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-broker-'));
  const port = await freePort();
  const database = join(directory, 'mosquitto.db');
  const lastResort = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', lastResort);
  for (const [name, text] of Object.entries(options.files ?? {})) {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
  }
  const config = [
    `user ${userInfo().username}`,
    'persistence true',
    `persistence_location ${directory}/`,
    'log_type all',
    'log_dest stderr',
    `listener ${port} 127.0.0.1`,
    `allow_anonymous ${options.anonymous ?? true}`,
    ...(options.lines ?? []).map((line) => line.replaceAll('DIR', directory)),
  ];
  writeFileSync(join(directory, 'mosquitto.conf'), `${config.join('\n')}\n`);
  const logFile = join(directory, 'log');
  let program: Program | undefined;
  const broker: Broker = {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    directory,
    get pid() {
      return program?.pid ?? 0;
    },
    log: () => readFileSync(logFile, 'utf8'),
    freeze: () => program?.signal('SIGSTOP'),
    thaw: () => program?.signal('SIGCONT'),
    end: async (signal = 'SIGTERM') => program?.end(signal),
    start: async ({ forget = false } = {}) => {
      if (forget) rmSync(database, { force: true });
      const started = startProgram('mosquitto', ['-c', join(directory, 'mosquitto.conf')], {
        env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
        log: logFile,
      });
      program = started;
      await until('the broker answers', async () => {
        if (!started.alive()) throw new Error(`mosquitto has ended:\n${broker.log()}`);
        return await answers(port);
      });
    },
    stop: async () => {
      await program?.end('SIGKILL');
      process.off('exit', lastResort);
      lastResort();
    },
  };
  await broker.start();
  return broker;
}
