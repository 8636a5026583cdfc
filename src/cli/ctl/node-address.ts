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
  /** The password of a proxy in front of the node, as a header; empty if there is none. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The default of `api.port`. */
const USUAL_PORT = 8018;
const LOOPBACK_ADDRESS = '127.0.0.1';
/** A socket that is bound to one of these addresses can be reached by loopback. */
const REACHED_BY_LOOPBACK = [LOOPBACK_ADDRESS, EVERY_ADDRESS, EVERY_IPV4];

/**
 * `text` is a host, a host with its port, or a URL; each may begin with user and password. An empty query or
 * fragment counts as absent.
 */
export function addressOf(text: string): Result<NodeAddress, string> {
  const address = text.replace(/[?#]+$/, '');
  const isUrl = /^https?:\/\//i.test(address);
  const host = isIP(address) === 6 ? `[${address}]` : address;
  const url = urlIn(isUrl ? address : `http://${host}`);
  if (url === undefined || !hasNodeAddressOnly(url, isUrl))
    return failed(
      `${JSON.stringify(withoutPassword(text))} is no address such as kitchen.local, kitchen.local:8018 or a URL`,
    );
  // The text decides, because `url.port` is empty for `kitchen.local:80`, too: 80 is HTTP's default port.
  const hasPort = /:\d+\/?$/.test(host);
  if (!isUrl && !hasPort) url.port = String(USUAL_PORT);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const secret = Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64');
  return success({ base: url.href, headers: username === '' ? {} : { Authorization: `Basic ${secret}` } });
}

/** A proxy may serve the node below a path, so a whole URL may have a path. A host alone must have none. */
function hasNodeAddressOnly({ pathname, search, hash }: URL, mayHavePath: boolean): boolean {
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
  // Under sudo the program runs as root, but the configuration is that of the user who called sudo.
  const { actAsInvokingUser } = await import('../invoking-user.js');
  actAsInvokingUser();
  const { loadSettings } = await import('../../supervisor/config/load.js');
  const { env } = process;
  const uid = process.getuid?.() ?? 0;
  // The files of secrets are not checked, because only the daemon needs them, and this user may have no
  // right to read them.
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
