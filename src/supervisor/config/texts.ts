// Checks texts of the configuration: addresses, origins, host names, paths, unit names. Pure; looks nothing
// up.

import { isIP } from 'node:net';
import { failed, type Result, success } from '../../protocol/actor/result.js';

/** The converted text, or the reason why it is not valid. */
type CheckResult = Result<string, string>;

/** `home` replaces a leading `~`; '' if there is none. */
export type TextCheck = (text: string, home: string) => CheckResult;

/**
 * Accepts a text that matches none of the rules. The first rule that it matches is the reason for the
 * refusal.
 */
function unless(...rules: readonly (readonly [wrong: string, rule: RegExp | ((text: string) => boolean)])[]) {
  return (text: string): CheckResult => {
    const found = rules.find(([, rule]) => (rule instanceof RegExp ? rule.test(text) : rule(text)));
    return found === undefined ? success(text) : failed(found[0]);
  };
}

const isLongerThan = (maxBytes: number) => (text: string) => Buffer.byteLength(text) > maxBytes;

/** IFNAMSIZ counts the terminating zero (linux/if.h). */
const MAX_INTERFACE_BYTES = 15;

/**
 * Stricter than the kernel (dev_valid_name in net/core/dev.c): other names are typing errors or left-overs of
 * a shell.
 */
const interfaceName = unless(
  ['it is not a whole IPv4 address', /^[0-9]*\.[0-9.]*$/],
  ['it is not an IPv6 address (write it without brackets and port)', /[:[\]]/],
  [`an interface name has 1 to ${MAX_INTERFACE_BYTES} bytes`, /^$/],
  [`an interface name has 1 to ${MAX_INTERFACE_BYTES} bytes`, isLongerThan(MAX_INTERFACE_BYTES)],
  ['an interface name has only letters, digits and . _ -, and does not begin with . or -', /^(?!\w[\w.-]*$)/],
);

/** RFC 1035, section 2.3.4, in the dotted form. */
const MAX_HOST_CHARS = 253;

// RFC 1123 labels, plus the underscore, which home networks use.
const HOST = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::([0-9]{1,5}))?$/i;

/** `all`, an IP address, or the name of an interface. */
export function bindTarget(text: string): CheckResult {
  // `isIP` is not called for a plain name, because its first call costs 4 ms of CPU (gateway/bind.ts).
  return /[.:]/.test(text) && isIP(text) !== 0 ? success(text) : interfaceName(text);
}

/** `*`, or an origin as browsers send it: lower case, without the scheme's default port. */
export function corsOrigin(text: string): CheckResult {
  if (text === '*') return success(text);
  const parts = ORIGIN.exec(text);
  if (parts === null) return failed('write scheme://host or scheme://host:port, without a path, or *');
  const [, scheme = '', host = '', port] = parts;
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65535))
    return failed('the port must be 1 to 65535');
  const isIpv6 = host.startsWith('[');
  if (!isIpv6 && (!HOST.test(host) || host.length > MAX_HOST_CHARS)) return failed(hostFault(host));
  if (isIpv6 && isIP(host.slice(1, -1)) !== 6) return failed('it holds no valid IPv6 address');
  // The URL standard normalizes the host, and knows a default port, only for http and https.
  if (!/^https?$/i.test(scheme)) return success(text.toLowerCase());
  return URL.canParse(text) ? success(new URL(text).origin) : failed('its host is not a valid address');
}

/** A host name in lower case without the trailing dot: the form that `Host` headers are compared with. */
export function hostName(text: string): CheckResult {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (!HOST.test(name) || name.length > MAX_HOST_CHARS) return failed(hostFault(name));
  return success(name.toLowerCase());
}

function hostFault(host: string): string {
  if (host.length > MAX_HOST_CHARS) return `a host name has at most ${MAX_HOST_CHARS} characters`;
  if (/[^\0-\x7f]/.test(host)) return 'write an international host name in its xn-- form';
  return 'a host name has parts of 1 to 63 letters, digits, - and _ with dots between them, and no scheme, port or path';
}

export const adapterName = unless(['it must be hci and a number, such as hci0', /^(?!hci\d{1,3}$)/]);

/** In capitals, as BlueZ writes it. */
export function bluetoothAddress(text: string): CheckResult {
  const address = text.toUpperCase();
  const isOne = /^[0-9A-F]{2}(?::[0-9A-F]{2}){5}$/.test(address);
  return isOne ? success(address) : failed('write it as AA:BB:CC:DD:EE:FF');
}

/** The D-Bus specification's limit. */
const BUS_NAME_BYTES_MAX = 255;

/** A media player's name on the bus, or what follows MPRIS' prefix; `*` stands for any characters. */
export const playerPattern = unless(
  ['it is empty', /^$/],
  [`it is longer than ${BUS_NAME_BYTES_MAX} bytes`, isLongerThan(BUS_NAME_BYTES_MAX)],
  ['a name on the bus has only letters, digits and . _ -, and * stands for anything', /[^\w.*-]/],
);

/** The limit of a DNS label (RFC 6763, section 4.1.1). */
export const SERVICE_NAME_BYTES_MAX = 63;

/** The name of a service on the network: any printable text. */
export function serviceName(text: string): CheckResult {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > SERVICE_NAME_BYTES_MAX)
    return failed(`it has ${bytes} bytes, 1 to ${SERVICE_NAME_BYTES_MAX} are allowed`);
  return /\p{Cc}/u.test(text) ? failed('it holds a control character') : success(text);
}

const LABEL_CHARS_MAX = 64;
export function outputLabel(text: string): CheckResult {
  const count = [...text].length;
  const bounds = `1 to ${LABEL_CHARS_MAX} are allowed, and at least one is no blank`;
  if (text.trim() === '' || count > LABEL_CHARS_MAX) return failed(`it has ${count} characters, ${bounds}`);
  return /\p{Cc}/u.test(text) ? failed('it holds a control character') : success(text);
}

/** The name stands in a list of the sound server, in which nothing can be quoted. */
export const outputName = unless(
  ['a name has 1 to 127 characters', /^(?!.{1,127}$)/su],
  ['a name has no blank, comma, quote or backslash', /[\s\p{Cc},"'\\]/u],
  ['a name does not begin with @', /^@/],
  ['it is a group itself; name its outputs', /^tonearm\./],
);

/** The name stands in a module's argument, where the two sound servers read quotes differently. */
export const deviceName = unless(
  ['a name has 1 to 127 characters', /^(?!.{1,127}$)/su],
  ['a name has no blank, quote or backslash', /[\s\p{Cc}"'\\]/u],
  ['a name does not begin with @', /^@/],
);

/**
 * A broker's address: scheme, host, optional port. No credentials, because they would be displayed with it.
 */
export const brokerUrl = unless(
  ['it does not begin with mqtt:// or mqtts://', /^(?!mqtts?:\/\/)/i],
  ['it has no host', (text) => !URL.canParse(text) || new URL(text).hostname === ''],
  [
    'write name and password into mqtt.username and mqtt.passwordFile, not here',
    (text) => new URL(text).username + new URL(text).password !== '',
  ],
  ['nothing may follow the host and port', (text) => pathOf(new URL(text)) !== ''],
  ['port 0 cannot be used', (text) => new URL(text).port === '0'],
);

const addressOfNode = unless(
  ['it does not begin with http:// or https://', /^(?!https?:\/\/)/i],
  ['it has no valid host', (text) => !URL.canParse(text)],
  ['a node has no user and password', (text) => new URL(text).username + new URL(text).password !== ''],
  ['nothing may follow the host and port', (text) => pathOf(new URL(text)) !== ''],
  ['port 0 cannot be used', (text) => new URL(text).port === '0'],
  // The record of a node has no scheme: https is known by its port.
  ['https is only possible at port 443', /^https:\/\/[^/]*:(?!443\/?$)\d+\/?$/i],
  ['port 443 is for https', /^http:\/\/[^/]*:443\/?$/i],
);

/** A node of the house, as its origin. */
export function nodeUrl(text: string): CheckResult {
  const checked = addressOfNode(text);
  return checked.ok ? success(new URL(text).origin) : checked;
}

const pathOf = ({ pathname, search, hash }: URL): string => pathname.slice(1) + search + hash;

/** MQTT allows 65 535 bytes; below this prefix, names are added. */
const MAX_TOPIC_BYTES = 256;

/** The prefix of our topics. Topics with `$` belong to the broker (MQTT 5, section 4.7.2). */
export const mqttTopic = unless(
  [`it is longer than ${MAX_TOPIC_BYTES} bytes`, isLongerThan(MAX_TOPIC_BYTES)],
  ['it holds a wildcard, + or #', /[+#]/],
  ['it holds a control character', /[\p{Cc}\p{Noncharacter_Code_Point}\p{Cs}]/u],
  ['topics that begin with $ belong to the broker', /^\$/],
  ['one of its levels is empty', (text) => text.split('/').includes('')],
);

/** A unit's record is one event of the stream. */
const MAX_URL_BYTES = 4096;

/** The address that a unit's record shows, as it is written. */
export const url = unless(
  ['it is empty', /^$/],
  [`it is longer than ${MAX_URL_BYTES} bytes`, isLongerThan(MAX_URL_BYTES)],
);

/** MQTT's limit: UTF-8 of at most 65 535 bytes. */
export const userName = unless(
  ['it is empty', /^$/],
  ['it is too long, or holds a control character', /\p{Cc}/u],
  ['it is too long, or holds a control character', isLongerThan(65_535)],
);

/** PATH_MAX includes the terminating zero (linux/limits.h). */
const MAX_PATH_BYTES = 4095;

/**
 * sun_path of a sockaddr_un, without the terminating zero (unix(7)), and without the folder that the socket
 * is first bound in.
 */
const MAX_SOCKET_PATH_BYTES = 107 - '.xxxxxx/s'.length;

/** An absolute path of a file; a leading `~/` is replaced by the home directory. */
export const filePath = pathUpTo(MAX_PATH_BYTES);

/** Like `filePath`, but short enough for a Unix socket. */
export const socketPath = pathUpTo(MAX_SOCKET_PATH_BYTES);

function pathUpTo(maxBytes: number): TextCheck {
  return (text, home) => {
    const inHome = text.startsWith('~/');
    if (inHome && !home.startsWith('/')) return failed('there is no home directory to replace ~ with');
    const path = inHome ? home.replace(/\/+$/, '') + text.slice(1) : text;
    if (!path.startsWith('/')) return failed('it must begin with / or ~/');
    if (path.includes('\0')) return failed('it holds a zero character');
    if (path.endsWith('/')) return failed('it is the path of a directory, not of a file');
    const bytes = Buffer.byteLength(path);
    return bytes > maxBytes
      ? failed(`it has ${bytes} bytes, at most ${maxBytes} are allowed`)
      : success(path);
  };
}

/** UNIT_NAME_MAX includes the terminating zero. */
const MAX_UNIT_NAME_BYTES = 255;

/** systemd.unit(5), in the order of enum UnitType. */
const SUFFIX = /\.(?:service|mount|swap|socket|target|device|automount|timer|path|slice|scope)$/;

const STEM = /^[0-9A-Za-z:\-_.\\@]+$/;

/**
 * A unit that can be started: unit_name_is_valid() for plain names and template instances (systemd,
 * src/basic/unit-name.c).
 */
export const unitName = unless(
  ['it is empty', /^$/],
  [`it is longer than ${MAX_UNIT_NAME_BYTES} bytes`, isLongerThan(MAX_UNIT_NAME_BYTES)],
  ['it has no suffix such as .service', (name) => !SUFFIX.test(name)],
  ['it has nothing before the suffix', (name) => stemOf(name) === ''],
  ['only letters, digits and : - _ . \\ @ are allowed', (name) => !STEM.test(stemOf(name))],
  ['it has nothing before the @', /^@/],
  // The first @ ends the template's name; the rest is the instance, which may contain more of them.
  ['a template needs an instance, such as player@kitchen.service', (name) => /^[^@]*@$/.test(stemOf(name))],
);

function stemOf(name: string): string {
  return name.slice(0, name.lastIndexOf('.'));
}
