// Runs a private MQTT broker for a test: the program mosquitto, on a port of its own. The test can freeze the
// broker, end it, and start it again.

import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { Hopeless, until } from '../until.js';

export interface BrokerOptions {
  /** Further lines of the broker's configuration, after the lines of the listener. */
  readonly lines?: readonly string[];
  /** Texts of files in the configuration's folder, by file name. In `lines`, `DIR` stands for this folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** False if clients need a name and a password. The default is true. */
  readonly anonymous?: boolean;
}

export type Broker = Awaited<ReturnType<typeof startBroker>>;

/** Starts a broker, and resolves when it accepts connections. The program `mosquitto` must be installed. */
export async function startBroker({ lines = [], files = {}, anonymous = true }: BrokerOptions = {}) {
  const directory = temporaryFolder();
  const port = await freePort();
  const config = `user ${userInfo().username}
persistence true
persistence_location ${directory}/
log_type all
log_dest stderr
listener ${port} 127.0.0.1
allow_anonymous ${anonymous}
${lines.join('\n').replaceAll('DIR', directory)}
`;
  for (const [name, text] of Object.entries({ ...files, 'mosquitto.conf': config }))
    writeFileSync(join(directory, name), text, { mode: 0o600 });
  const logFile = join(directory, 'log');
  let program: Program | undefined;
  /** The log of the broker so far. */
  const log = (): string => readFileSync(logFile, 'utf8');
  const broker = {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    directory,
    get pid(): number {
      return program?.pid ?? 0;
    },
    log,
    freeze: () => program?.signal('SIGSTOP'),
    thaw: () => program?.signal('SIGCONT'),
    /** Ends the broker. Retained messages are lost with SIGKILL, and saved with SIGTERM. */
    end: async (signal: NodeJS.Signals = 'SIGTERM') => program?.end(signal),
    /** Starts the broker, always on the same port. `forget` removes its saved messages before the start. */
    start: async ({ forget = false } = {}) => {
      if (forget) rmSync(join(directory, 'mosquitto.db'), { force: true });
      const started = startProgram('mosquitto', ['-c', join(directory, 'mosquitto.conf')], {
        // Debian installs mosquitto in /usr/sbin. The PATH of a user may lack this folder.
        env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
        log: logFile,
      });
      program = started;
      await until('the broker answers', async () => {
        if (!started.alive()) throw new Hopeless(`mosquitto has ended:\n${log()}`);
        const socket = connect(port, '127.0.0.1');
        // If the broker refuses the connection, `once` throws, and `until` tries again.
        await once(socket, 'connect');
        socket.destroy();
        return true;
      });
    },
    stop: async () => {
      await program?.end('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await broker.start();
  return broker;
}
