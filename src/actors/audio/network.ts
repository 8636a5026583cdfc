// Answers `GET /audio/network`, which says how other machines can play on this node's sound server. The sound
// server and the kernel are read at each request, because the kernel does not announce that a port has opened
// or closed.

import { networkInterfaces } from 'node:os';
import { bestFirst } from '../../host/own-addresses.js';
import type { Answer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import type { NetworkRecord } from '../../protocol/actor/schemas.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import { computerCommands } from './computer-lines.js';
import type { SoundConnection } from './connection.js';
import { listeningSockets } from './listening-sockets.js';
import { openPorts, reachedAddresses } from './open-ports.js';

type CookieSettings = Pick<AudioSettings, 'serveCookie' | 'apiPort'>;

/** `socketPath` is the path of the Unix socket to which the connection was made. */
export async function networkAnswer(
  connection: SoundConnection,
  socketPath: string,
  settings: CookieSettings,
  deadlineMs: number,
): Promise<Answer> {
  const modules = await connection.ask('GET_MODULE_INFO_LIST', {}, deadlineMs);
  if (!modules.ok) {
    const fault = modules.error.kind === 'timeout' ? 'timeout' : 'unavailable';
    return failure(fault, 'The sound server did not list its modules');
  }
  const { kind, server } = connection.state;
  const interfaces = bestFirst(networkInterfaces());
  const ports = openPorts(kind, modules.value, await listeningSockets(socketPath)).map((openPort) => ({
    openPort,
    addresses: reachedAddresses(openPort, interfaces),
  }));
  // The record has only one port. A port that other machines can reach is the best one.
  const reachablePort = ports.find(({ addresses }) => addresses.length > 0);
  const bestPort = reachablePort ?? ports[0];
  if (bestPort === undefined) return answer({ enabled: false, addresses: [], commands: [] });
  const { openPort, addresses } = bestPort;
  const [address] = addresses;
  const node = {
    hostname: server?.host ?? '',
    user: server?.user ?? '',
    // The other machine can fetch the cookie at this port of the daemon.
    cookiePort: settings.serveCookie ? settings.apiPort : undefined,
  };
  const commands = address === undefined ? [] : computerCommands(openPort, { ...node, address });
  const { port, cookie, allowed } = openPort;
  const record: NetworkRecord = { enabled: true, addresses, port, cookie, commands };
  return answer(allowed === undefined ? record : { ...record, allowed });
}

function answer(record: NetworkRecord): Answer {
  return success({ text: JSON.stringify(record) });
}
