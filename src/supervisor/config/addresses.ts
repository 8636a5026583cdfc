// How names and addresses in the configuration must look: where to listen, which origins and hosts to trust. Pure; resolves nothing.

import { isIP } from 'node:net';
import type { Verdict } from './readers.js';

/** IFNAMSIZ counts the terminating zero (linux/if.h). */
const MAX_INTERFACE_BYTES = 15;

/** RFC 1035, section 2.3.4, in the dotted form. */
const MAX_HOST_CHARS = 253;

// RFC 1123 labels, and the underscore that home networks do use.
const HOST = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::([0-9]{1,5}))?$/i;

/** `all`, an IP address, or a name that the kernel would give an interface (dev_valid_name in net/core/dev.c). */
export function bindTarget(text: string): Verdict<string> {
  if (isIP(text) !== 0) return { value: text };
  if (/^[0-9.]+$/.test(text) && text.includes('.')) return { wrong: 'it is not a whole IPv4 address' };
  if (/[:[\]]/.test(text)) return { wrong: 'it is not an IPv6 address (write it without brackets and port)' };
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > MAX_INTERFACE_BYTES) {
    return { wrong: `an interface name has 1 to ${MAX_INTERFACE_BYTES} bytes` };
  }
  if (text === '.' || text === '..' || /[/\s\0]/.test(text)) {
    return { wrong: 'an interface name has no slash and no white space' };
  }
  return { value: text };
}

/** `*`, or an origin in the spelling in which browsers send it: lower case, without the scheme's default port. */
export function corsOrigin(text: string): Verdict<string> {
  if (text === '*') return { value: text };
  const parts = ORIGIN.exec(text);
  if (parts === null) return { wrong: 'write scheme://host or scheme://host:port, without a path, or *' };
  const [, scheme = '', host = '', port] = parts;
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65535)) {
    return { wrong: 'the port must be 1 to 65535' };
  }
  if (!host.startsWith('[') && (!HOST.test(host) || host.length > MAX_HOST_CHARS)) {
    return { wrong: hostFault(host) };
  }
  if (host.startsWith('[') && isIP(host.slice(1, -1)) !== 6)
    return { wrong: 'it holds no valid IPv6 address' };
  // Only http and https have a host that the URL standard normalises, and a default port.
  if (!/^https?$/i.test(scheme))
    return { value: `${scheme.toLowerCase()}://${text.slice(scheme.length + 3)}` };
  return URL.canParse(text) ? { value: new URL(text).origin } : { wrong: 'its host is not a valid address' };
}

/** A host name in lower case, without the root's dot: the form that a `Host` header is compared in. */
export function hostName(text: string): Verdict<string> {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (!HOST.test(name) || name.length > MAX_HOST_CHARS) return { wrong: hostFault(name) };
  return { value: name.toLowerCase() };
}

function hostFault(host: string): string {
  if (host.length > MAX_HOST_CHARS) return `a host name has at most ${MAX_HOST_CHARS} characters`;
  if (/[^\0-\x7f]/.test(host)) return 'write an international host name in its xn-- form';
  return 'a host name is letters, digits, - and _ between dots, at most 63 each, without scheme, port or path';
}
