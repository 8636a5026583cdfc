// Decides which texts of the configuration are valid addresses, host names, paths, names of units and so on.
// It does not check whether such a host, file or unit exists. Pure.

import { isIP } from 'node:net';
import { failed, type Result, success } from '../../protocol/actor/result.js';

/** The text for the settings, or the reason why the text is not valid. */
type CheckResult = Result<string, string>;

/** Only paths need `home`, which replaces a leading `~`. It is '' if there is no home directory. */
export type TextCheck = (text: string, home: string) => CheckResult;

type Objection = readonly [reason: string, appliesTo: RegExp | ((text: string) => boolean)];

/**
 * The returned check accepts a text to which no objection applies. Its error is the reason of the first
 * objection that applies.
 */
function acceptUnless(...objections: readonly Objection[]) {
  return (text: string): CheckResult => {
    for (const [reason, appliesTo] of objections) {
      const applies = appliesTo instanceof RegExp ? appliesTo.test(text) : appliesTo(text);
      if (applies) return failed(reason);
    }
    return success(text);
  };
}

const doesNotMatch = (pattern: RegExp) => (text: string) => !pattern.test(text);

const isLongerThan = (maxBytes: number) => (text: string) => Buffer.byteLength(text) > maxBytes;

/** IFNAMSIZ of linux/if.h is one more, because it counts the terminating zero. */
const INTERFACE_MAX_BYTES = 15;

/**
 * The rules are stricter than the kernel's (dev_valid_name in net/core/dev.c). The kernel also allows names
 * such as `eth0,` and `$IFACE`. In a configuration these are typing errors, or remains of a shell's syntax.
 * The first two rules are for wrongly written addresses, such as `192.168.1` and `[::1]`.
 */
const interfaceName = acceptUnless(
  ['it is not a whole IPv4 address', /^[0-9]*\.[0-9.]*$/],
  ['it is not an IPv6 address (write it without brackets and port)', /[:[\]]/],
  [`an interface name has 1 to ${INTERFACE_MAX_BYTES} bytes`, /^$/],
  [`an interface name has 1 to ${INTERFACE_MAX_BYTES} bytes`, isLongerThan(INTERFACE_MAX_BYTES)],
  [
    'an interface name has only letters, digits and . _ -, and does not begin with . or -',
    doesNotMatch(/^\w[\w.-]*$/),
  ],
);

/** RFC 1035, section 2.3.4, allows 255 bytes in a message. In the form with dots they are 253 characters. */
const HOST_MAX_CHARACTERS = 253;

/**
 * DNS labels of 1 to 63 characters (RFC 1123) with dots between them. No label begins or ends with `-`. The
 * underscore is allowed, because home networks use it.
 */
const HOST = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;

/** The scheme, the host and the port of an origin such as `https://radio.lan:8443` or `http://[::1]`. */
const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::([0-9]{1,5}))?$/i;

/** Accepts an IP address, an interface's name, or `all`, which has the form of an interface's name. */
export function bindTarget(text: string): CheckResult {
  // `isIP` is not called for a plain name, because its first call costs 4 ms of CPU (gateway/bind.ts).
  const mayBeAddress = /[.:]/.test(text);
  return mayBeAddress && isIP(text) !== 0 ? success(text) : interfaceName(text);
}

/**
 * Accepts `*` or an origin. The result is as browsers send it: lower case, without the default port. Only the
 * default ports of http and https are removed, because most other schemes have no default port.
 */
export function corsOrigin(text: string): CheckResult {
  if (text === '*') return success(text);
  const parts = ORIGIN.exec(text);
  if (parts === null) return failed('write scheme://host or scheme://host:port, without a path, or *');
  const [, scheme = '', host = '', port] = parts;
  const isPortValid = port === undefined || (Number(port) >= 1 && Number(port) <= 65535);
  if (!isPortValid) return failed('the port must be 1 to 65535');
  const hasBrackets = host.startsWith('[');
  if (!hasBrackets && !isHostName(host)) return failed(hostFault(host));
  if (hasBrackets && isIP(host.slice(1, -1)) !== 6) return failed('it holds no valid IPv6 address');
  // `URL` gives the origin `null` for most other schemes, such as `capacitor`, which apps use.
  if (!/^https?$/i.test(scheme)) return success(text.toLowerCase());
  // A host such as `1.2.3.999` passes `isHostName`, but `URL` refuses it as a wrong IPv4 address.
  return URL.canParse(text) ? success(new URL(text).origin) : failed('its host is not a valid address');
}

/** The result is compared with `Host` headers, so it is in lower case and has no trailing dot. */
export function hostName(text: string): CheckResult {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  return isHostName(name) ? success(name.toLowerCase()) : failed(hostFault(name));
}

function isHostName(text: string): boolean {
  return HOST.test(text) && text.length <= HOST_MAX_CHARACTERS;
}

function hostFault(host: string): string {
  if (host.length > HOST_MAX_CHARACTERS) return `a host name has at most ${HOST_MAX_CHARACTERS} characters`;
  if (/[^\0-\x7f]/.test(host)) return 'write an international host name in its xn-- form';
  return 'a host name has parts of 1 to 63 letters, digits, - and _ with dots between them, and no scheme, port or path';
}

export const adapterName = acceptUnless([
  'it must be hci and a number, such as hci0',
  doesNotMatch(/^hci\d{1,3}$/),
]);

/** The result is in capitals, as BlueZ writes addresses. */
export function bluetoothAddress(text: string): CheckResult {
  const address = text.toUpperCase();
  const isValid = /^[0-9A-F]{2}(?::[0-9A-F]{2}){5}$/.test(address);
  return isValid ? success(address) : failed('write it as AA:BB:CC:DD:EE:FF');
}

/** The limit of the D-Bus specification. */
const BUS_NAME_MAX_BYTES = 255;

/** A player's name on the bus, with or without the prefix of MPRIS. `*` stands for any characters. */
export const playerPattern = acceptUnless(
  ['it is empty', /^$/],
  [`it is longer than ${BUS_NAME_MAX_BYTES} bytes`, isLongerThan(BUS_NAME_MAX_BYTES)],
  ['a name on the bus has only letters, digits and . _ -, and * stands for anything', /[^\w.*-]/],
);

/** The limit of a DNS label (RFC 6763, section 4.1.1). */
export const SERVICE_NAME_MAX_BYTES = 63;

/** The name of the node's service on the network. */
export function serviceName(text: string): CheckResult {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > SERVICE_NAME_MAX_BYTES)
    return failed(`it has ${bytes} bytes, 1 to ${SERVICE_NAME_MAX_BYTES} are allowed`);
  return /\p{Cc}/u.test(text) ? failed('it holds a control character') : success(text);
}

const LABEL_MAX_CHARACTERS = 64;

/** The label of an output or a group. */
export function outputLabel(text: string): CheckResult {
  const count = [...text].length;
  const bounds = `1 to ${LABEL_MAX_CHARACTERS} are allowed, and at least one is no blank`;
  if (text.trim() === '' || count > LABEL_MAX_CHARACTERS)
    return failed(`it has ${count} characters, ${bounds}`);
  return /\p{Cc}/u.test(text) ? failed('it holds a control character') : success(text);
}

/**
 * The name of an output or input has 1 to 127 characters. With the flag `s` the dot also matches a line feed.
 * Otherwise a name with a line feed would be refused because of its length, and not because of a blank.
 */
const DEVICE_NAME_LENGTH = /^.{1,127}$/su;

/**
 * The name of an output that plays in a group. The sound server gets such names in a list, in which nothing
 * can be quoted. The prefix `tonearm.` belongs to the groups' own sinks.
 */
export const outputName = acceptUnless(
  ['a name has 1 to 127 characters', doesNotMatch(DEVICE_NAME_LENGTH)],
  ['a name has no blank, comma, quote or backslash', /[\s\p{Cc},"'\\]/u],
  ['a name does not begin with @', /^@/],
  ['it is a group itself; name its outputs', /^tonearm\./],
);

/**
 * The name of an input or output. The sound server gets it in a module's argument, in which PulseAudio and
 * PipeWire read quotes differently. So a name with a quote is refused.
 */
export const deviceName = acceptUnless(
  ['a name has 1 to 127 characters', doesNotMatch(DEVICE_NAME_LENGTH)],
  ['a name has no blank, quote or backslash', /[\s\p{Cc}"'\\]/u],
  ['a name does not begin with @', /^@/],
);

/**
 * A user name and a password are refused, because they would be displayed with the address. `URL` accepts
 * `mqtt://` without a host. The later rules use `new URL`, which throws for an invalid address. So the rule
 * with `canParse` precedes them.
 */
export const brokerUrl = acceptUnless(
  ['it does not begin with mqtt:// or mqtts://', doesNotMatch(/^mqtts?:\/\//i)],
  ['it has no host', (text) => !URL.canParse(text) || new URL(text).hostname === ''],
  ['write name and password into mqtt.username and mqtt.passwordFile, not here', hasCredentials],
  ['nothing may follow the host and port', hasPath],
  ['port 0 cannot be used', hasPortZero],
);

const addressOfNode = acceptUnless(
  ['it does not begin with http:// or https://', doesNotMatch(/^https?:\/\//i)],
  ['it has no valid host', (text) => !URL.canParse(text)],
  ['a node has no user and password', hasCredentials],
  ['nothing may follow the host and port', hasPath],
  ['port 0 cannot be used', hasPortZero],
  // The record of a node has a port but no scheme. So 443 must mean https, and any other port http. An origin
  // does not contain the default port of its scheme, so a port in an https origin is never 443.
  ['https is only possible at port 443', (text) => /^https:.*:\d+$/.test(new URL(text).origin)],
  ['port 443 is for https', (text) => /^http:.*:443$/.test(new URL(text).origin)],
);

/** The address of another node. The result is the origin of this address. */
export function nodeUrl(text: string): CheckResult {
  const checked = addressOfNode(text);
  return checked.ok ? success(new URL(text).origin) : checked;
}

function hasCredentials(text: string): boolean {
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

/** True if more than a single slash follows the host and port. */
function hasPath(text: string): boolean {
  const { pathname, search, hash } = new URL(text);
  return pathname.slice(1) + search + hash !== '';
}

function hasPortZero(text: string): boolean {
  return new URL(text).port === '0';
}

/** MQTT allows 65 535 bytes for a topic. The configured text only begins a topic, so its limit is lower. */
const TOPIC_MAX_BYTES = 256;

/**
 * The beginning of topics, for `mqtt.topic` and `mqtt.homeAssistantPrefix`. Topics that begin with `$` belong
 * to the broker (MQTT 5, section 4.7.2). The first level may be empty, because many people begin topics with
 * a slash.
 */
export const mqttTopic = acceptUnless(
  [`it is longer than ${TOPIC_MAX_BYTES} bytes`, isLongerThan(TOPIC_MAX_BYTES)],
  ['it holds a wildcard, + or #', /[+#]/],
  // MQTT 5, section 1.5.4, lists these characters.
  ['it holds a control or another character that MQTT forbids', /[\p{Cc}\p{Noncharacter_Code_Point}\p{Cs}]/u],
  ['topics that begin with $ belong to the broker', /^\$/],
  ['one of its levels is empty', /^$|\/$|\/\//],
);

/** The record of a unit is one event of the stream, so the address in it needs a bound. */
const URL_MAX_BYTES = 4096;

/** The address in a unit's record. It may have any scheme, and is published as it is written. */
export const url = acceptUnless(
  ['it is empty', /^$/],
  [`it is longer than ${URL_MAX_BYTES} bytes`, isLongerThan(URL_MAX_BYTES)],
);

/** The limit of MQTT for a text, such as the user name for the broker. */
const MQTT_TEXT_MAX_BYTES = 65_535;

export const userName = acceptUnless(
  ['it is empty', /^$/],
  ['it holds a control character', /\p{Cc}/u],
  [`it is longer than ${MQTT_TEXT_MAX_BYTES} bytes`, isLongerThan(MQTT_TEXT_MAX_BYTES)],
);

/** PATH_MAX of linux/limits.h is one more, because it counts the terminating zero. */
const PATH_MAX_BYTES = 4095;

/** sun_path of a sockaddr_un (unix(7)) has room for one byte more, which is the terminating zero. */
const SOCKET_PATH_MAX_BYTES = 107;

/** The result is absolute: the home directory replaces a leading `~`. */
export const filePath = pathUpTo(PATH_MAX_BYTES);

/** Like `filePath`, but short enough for a Unix socket. */
export const socketPath = pathUpTo(SOCKET_PATH_MAX_BYTES);

function pathUpTo(maxBytes: number): TextCheck {
  return (text, home) => {
    const hasTilde = text.startsWith('~/');
    if (hasTilde && !home.startsWith('/')) return failed('there is no home directory to replace ~ with');
    const path = hasTilde ? home.replace(/\/+$/, '') + text.slice(1) : text;
    if (!path.startsWith('/')) return failed('it must begin with / or ~/');
    if (path.includes('\0')) return failed('it holds a zero character');
    if (path.endsWith('/')) return failed('it is the path of a directory, not of a file');
    const bytes = Buffer.byteLength(path);
    return bytes > maxBytes
      ? failed(`it has ${bytes} bytes, at most ${maxBytes} are allowed`)
      : success(path);
  };
}

/** UNIT_NAME_MAX of systemd is one more, because it counts the terminating zero. */
const UNIT_NAME_MAX_BYTES = 255;

/** The types of units (systemd.unit(5)), in the order of enum UnitType. */
const UNIT_SUFFIX = /\.(?:service|mount|swap|socket|target|device|automount|timer|path|slice|scope)$/;

/** The name before the suffix, such as `getty@tty1`. */
const UNIT_STEM = /^[0-9A-Za-z:\-_.\\@]+$/;

/**
 * The rules are those of unit_name_is_valid() for plain names and instances (systemd, src/basic/unit-name.c).
 * A template without an instance is refused, because it cannot be started.
 */
export const unitName = acceptUnless(
  ['it is empty', /^$/],
  [`it is longer than ${UNIT_NAME_MAX_BYTES} bytes`, isLongerThan(UNIT_NAME_MAX_BYTES)],
  ['it has no suffix such as .service', doesNotMatch(UNIT_SUFFIX)],
  ['it has nothing before the suffix', (name) => stemOf(name) === ''],
  ['only letters, digits and : - _ . \\ @ are allowed', (name) => !UNIT_STEM.test(stemOf(name))],
  ['it has nothing before the @', /^@/],
  // The first @ ends the template's name. The instance follows, and may contain an @, too.
  ['a template needs an instance, such as player@kitchen.service', (name) => /^[^@]*@$/.test(stemOf(name))],
);

/** A unit's name without its suffix. */
function stemOf(name: string): string {
  return name.slice(0, name.lastIndexOf('.'));
}
