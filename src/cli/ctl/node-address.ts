// Decides which node `tonearm ctl` asks, and at which address (docs/ctl.md, "Which node").

import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { resolveBind } from '../../gateway/bind.js';
import { EVERY_ADDRESS, EVERY_IPV4 } from '../../host/own-addresses.js';
import { homeDirectory } from '../../host/user-directories.js';
import { withoutPassword } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';

export interface NodeAddress {
  /** The address that the client's function `tonearm` takes. */
  readonly base: string;
  /** User and password for a proxy in front of the node, as a header. Empty if the address has no user. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The default of `api.port`. */
const USUAL_PORT = 8018;
const LOOPBACK_ADDRESS = '127.0.0.1';
/** A socket that is bound to one of these addresses can be reached by loopback. */
const REACHED_BY_LOOPBACK = [LOOPBACK_ADDRESS, EVERY_ADDRESS, EVERY_IPV4];

/**
 * `text` is a host, a host with its port, or a URL. User and password may stand before the host. An empty
 * query or fragment counts as absent.
 */
export function addressOf(text: string): Result<NodeAddress, string> {
  const address = text.replace(/[?#]+$/, '');
  const isUrl = /^https?:\/\//i.test(address);
  const hostAndPort = isIP(address) === 6 ? `[${address}]` : address;
  const url = urlIn(isUrl ? address : `http://${hostAndPort}`);
  if (url === undefined || !isNodeAddress(url, isUrl))
    return failed(
      `${JSON.stringify(withoutPassword(text))} is no address such as kitchen.local, kitchen.local:8018 or a URL`,
    );
  // `url.port` cannot decide, because it is empty for `kitchen.local:80`, too: 80 is HTTP's default port.
  const hasPort = /:\d+\/?$/.test(hostAndPort);
  if (!isUrl && !hasPort) url.port = String(USUAL_PORT);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const secret = Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64');
  const hasSecret = username !== '' || password !== '';
  return success({ base: url.href, headers: hasSecret ? { Authorization: `Basic ${secret}` } : {} });
}

/** A proxy may serve the node below a path, so a URL may have a path. A host without a scheme has none. */
function isNodeAddress({ pathname, search, hash }: URL, mayHavePath: boolean): boolean {
  return search === '' && hash === '' && (mayHavePath || pathname === '/');
}

function urlIn(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Decodes `%C3%BC` to `ü`. A `%` that escapes nothing stays, because a password may contain it. */
function unescaped(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escaped) =>
    Buffer.from(escaped.replaceAll('%', ''), 'hex').toString(),
  );
}

/**
 * The address of the node on this machine. The error lists the problems of the configuration, one line each.
 * Two modules are loaded only here, because a command with `--node` does not need them.
 */
export async function addressHere(): Promise<Result<NodeAddress, readonly string[]>> {
  // Under sudo, run0 or pkexec, the program runs as root, but the configuration is that of the user who has
  // become root.
  const { actAsInvokingUser } = await import('../invoking-user.js');
  actAsInvokingUser();
  const { loadSettings } = await import('../../supervisor/config/load.js');
  const { env } = process;
  const uid = process.getuid?.() ?? 0;
  // The files of secrets are not checked, because only the daemon needs them, and the user of this process
  // may have no right to read them.
  const noFault = (): undefined => undefined;
  const environment = { env, home: homeDirectory(), hostname: hostname(), uid, secretFault: noFault };
  const loaded = await loadSettings(environment);
  if (!loaded.ok) return failed(loaded.error.problems);
  const { bind, api } = loaded.value.settings;
  return success({ base: `http://${hostHere(bind)}:${api.port}`, headers: {} });
}

/** Prefers loopback, because with `api.control: local` the node accepts changes only from loopback. */
function hostHere(bind: readonly string[]): string {
  const served = resolveBind(bind, networkInterfaces()).present.map(({ address }) => address);
  if (served.some((address) => REACHED_BY_LOOPBACK.includes(address))) return LOOPBACK_ADDRESS;
  // A URL has no place for the zone of a link-local address. If there is no other address, the request goes
  // to loopback and fails, and the user reads that the node cannot be reached.
  const usable = served.find((address) => !address.includes('%')) ?? LOOPBACK_ADDRESS;
  return usable.includes(':') ? `[${usable}]` : usable;
}
