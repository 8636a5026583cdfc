// Tests which values a key accepts, what they mean, and which values it refuses (docs/configuration.md,
// "Keys"). groups.test.ts and listen.test.ts have the rows for groups and inputs. Some keys have no rows of
// their own, but yaml.test.ts and resolve.test.ts test every key.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationOf, ENVIRONMENT, problemsIn, resolveTexts } from './full.js';

/**
 * Returns one line of YAML in which this key has this value. If the key ends with `[0]`, the value becomes
 * the only item of a list: `api.hosts[0]` and `a` become `api: {hosts: [a]}`.
 */
function yamlOf(key: string, value: string): string {
  const [section = '', ...innerKeys] = key.replace('[0]', '').split('.');
  const innermost = key.endsWith('[0]') ? `[${value}]` : value;
  const opened = [`${section}:`, ...innerKeys.map((name) => `{${name}:`)].join(' ');
  return `${opened} ${innermost}${'}'.repeat(innerKeys.length)}`;
}

function memberOf(section: unknown, name: string): unknown {
  return Object.entries(section ?? {}).find(([key]) => key === name)?.[1];
}

/** Declares a test: with `yaml`, the key `key` has the value `value`, and there is no warning. */
function yamlMeans(yaml: string, key: string, value: unknown): void {
  test(`${JSON.stringify(yaml)} is accepted`, async () => {
    const resolved = await configurationOf(yaml);
    assert.deepEqual(resolved.warnings, []);
    let actual: unknown = resolved.values;
    for (const name of key.split('.')) actual = memberOf(actual, name);
    assert.deepEqual(actual, value);
  });
}

/** The file's `value` becomes `meaning`. If `key` ends with `[0]`, `meaning` is the whole list. */
function accepts(key: string, value: string, meaning: unknown): void {
  yamlMeans(yamlOf(key, value), key.replace('[0]', ''), meaning);
}

/** `lines` are all problems, each as `LINE:COL: key: text`. */
function refusesYaml(yaml: string, ...lines: string[]): void {
  test(`${JSON.stringify(yaml.slice(0, 80))} is refused`, async () => {
    // The name of the file is `a` (full.ts).
    const expected = lines.map((line) => `a:${line}`);
    assert.deepEqual(await problemsIn(yaml), expected);
  });
}

/** There is one problem. Its text after place and key matches `pattern`. */
function refusesLike(key: string, value: string, pattern: RegExp): void {
  const yaml = yamlOf(key, value);
  test(`${JSON.stringify(yaml.slice(0, 80))} is refused`, async () => {
    const [problem = '', ...others] = await problemsIn(yaml);
    assert.deepEqual(others, []);
    assert.match(problem.replace(/^a:\d+:\d+: [\w.]+: /, ''), pattern);
  });
}

/** There is one problem. Its text after place and key is `problemText`. */
function refuses(key: string, value: string, problemText: string): void {
  // `\0` is in no key, so it marks the column of the value.
  const valueColumn = yamlOf(key, '\0').indexOf('\0') + 1;
  refusesYaml(yamlOf(key, value), `1:${valueColumn}: ${key}: ${problemText}`);
}

accepts('pulseaudio.volumeLimit', '0.6', 0.6);
accepts(
  'pulseaudio.volumeLimit',
  '{alsa_output.usb-0: 0, __proto__: 1}',
  // In an object literal, `__proto__` would set the prototype.
  JSON.parse('{"alsa_output.usb-0": 0, "__proto__": 1}'),
);
for (const value of ['1.1', '-0.1', '.nan', 'loud', '[1]', ''])
  refusesLike('pulseaudio.volumeLimit', value, /^must be a number from 0 to 1, not /);
const LIMIT_RULE = 'must be a number from 0 to 1';
refusesYaml('pulseaudio: {volumeLimit: {a: 2}}', `1:31: pulseaudio.volumeLimit.a: ${LIMIT_RULE}, not 2`);
accepts('pulseaudio.outputs', '', {});
accepts('pulseaudio.outputs', '{a: {label: Küche 🎵}, b: {hidden: true}, c: {}}', {
  a: { label: 'Küche 🎵' },
  b: { hidden: true },
  c: {},
});
accepts('pulseaudio.outputs', '{a: {startVolume: 0}, b: {startVolume: 1}}', {
  a: { startVolume: 0 },
  b: { startVolume: 1 },
});
refusesYaml(
  'pulseaudio: {outputs: {a: {startVolume: 1.1}}}',
  '1:41: pulseaudio.outputs.a.startVolume: must be a number from 0 to 1, not 1.1',
);
accepts('pulseaudio.outputs', `{a: {label: ${'🎵'.repeat(64)}}}`, { a: { label: '🎵'.repeat(64) } });
refuses('pulseaudio.outputs', '[a]', 'must be a map by name, not a list');
const OUTPUT_TEXT = 'must be a map of label, hidden and startVolume, not the text "Kitchen"';
refusesYaml('pulseaudio: {outputs: {a: Kitchen}}', `1:27: pulseaudio.outputs.a: ${OUTPUT_TEXT}`);
const HIDDEN_TEXT = 'must be true or false, not 1';
refusesYaml('pulseaudio: {outputs: {a: {hidden: 1}}}', `1:36: pulseaudio.outputs.a.hidden: ${HIDDEN_TEXT}`);
for (const [label, why] of [
  [`"${'x'.repeat(65)}"`, /is not a label: it has 65 characters/],
  ['""', /is not a label: it has 0 characters/],
  // A text that has only blanks is no label.
  ['"  "', /is not a label: it has 2 characters/],
  ['"\\u0007"', /is not a label: it holds a control character/],
] as const)
  refusesLike('pulseaudio.outputs', `{a: {label: ${label}}}`, why);

accepts('bind', 'eth0', ['eth0']);
accepts('bind', 'all', ['all']);
accepts('bind', '::1', ['::1']);
accepts('bind', '0.0.0.0', ['0.0.0.0']);
accepts('bind', 'fe80::1%eth0', ['fe80::1%eth0']);
accepts('bind', '[lo, wlan0.5, br-lan_1, 10.0.0.7]', ['lo', 'wlan0.5', 'br-lan_1', '10.0.0.7']);
refuses('bind', '[]', 'must not be an empty list');
const TARGET = 'an interface name, an IP address or "all"';
refuses('bind', '', `must be ${TARGET}, not nothing`);
// YAML reads 10.0 as the number 10.
refuses('bind', '10.0', `must be ${TARGET}, not 10`);
refuses('bind', '{a: 1}', `must be ${TARGET}, not a map`);
refusesYaml('bind:\n  - lo\n  - [lo]', `3:5: bind[1]: must be ${TARGET}, not a list`);
const INTERFACE_RULE = 'an interface name has only letters, digits and . _ -, and does not begin with . or -';
for (const name of ['a/b', 'a b', 'lo;reboot', '*', '-x', '.x', 'ü0'])
  refuses('bind', `"${name}"`, `"${name}" is not ${TARGET}: ${INTERFACE_RULE}`);
// A name of digits and dots counts as a bad IPv4 address, and a name with a colon as a bad IPv6 address.
for (const [name, why] of [
  ['', 'an interface name has 1 to 15 bytes'],
  ['interface-name-1', 'an interface name has 1 to 15 bytes'],
  ['..', 'it is not a whole IPv4 address'],
  ['256.1.1.1', 'it is not a whole IPv4 address'],
  ['10.0.0.7:80', 'it is not an IPv6 address (write it without brackets and port)'],
  ['[::1]', 'it is not an IPv6 address (write it without brackets and port)'],
] as const) {
  refuses('bind', `"${name}"`, `"${name}" is not ${TARGET}: ${why}`);
}

accepts('logLevel', 'WARN', 'warn');
accepts('logLevel', 'Trace', 'trace');
accepts('logLevel', 'fatal', 'fatal');
const LEVEL_RULE = 'must be one of fatal, error, warn, info, debug, trace';
refuses('logLevel', 'verbose', `${LEVEL_RULE}, not the text "verbose"`);
refuses('logLevel', '3', `${LEVEL_RULE}, not 3`);
refuses('logLevel', '', `${LEVEL_RULE}, not nothing`);

accepts('api.port', '1', 1);
accepts('api.port', '65535', 65535);
accepts('api.port', '0x1f52', 8018);
const WRONG_PORTS: readonly (readonly [port: string, quoted?: string])[] = [
  ['0'],
  ['65536'],
  ['-1'],
  ['80.5'],
  ['true'],
  ['.inf', 'Infinity'],
  ['.nan', 'NaN'],
  ['"8018"', 'the text "8018"'],
  ['[80]', 'a list'],
];
for (const [port, quoted = port] of WRONG_PORTS)
  refuses('api.port', port, `must be a whole number from 1 to 65535, not ${quoted}`);
accepts('api.sse.maxClients', '1', 1);
accepts('api.sse.maxClients', '10000', 10000);
for (const clients of ['0', '10001'])
  refuses('api.sse.maxClients', clients, `must be a whole number from 1 to 10000, not ${clients}`);

accepts('api.ui.volumeStep', '1', 1);
accepts('api.ui.volumeStep', '10', 10);
for (const step of ['0', '11', '2.5'])
  refuses('api.ui.volumeStep', step, `must be a whole number from 1 to 10, not ${step}`);

accepts('api.sse.enabled', 'true', true);
accepts('api.sse.enabled', 'false', false);
refuses('api.sse.enabled', 'yes', 'must be true or false, not the text "yes"');
refuses('api.sse.enabled', '1', 'must be true or false, not 1');

for (const [origin, meaning] of [
  ['"*"', '*'],
  ['http://A.b:8080', 'http://a.b:8080'],
  ['http://a:80', 'http://a'],
  ['"http://[2001:DB8::1]:81"', 'http://[2001:db8::1]:81'],
  ['Capacitor://Localhost', 'capacitor://localhost'],
] as const) {
  accepts('api.cors.origins[0]', origin, [meaning]);
}
accepts('api.cors.origins', '', []);
const ORIGIN_RULE = 'write scheme://host or scheme://host:port, without a path, or *';
for (const origin of ['null', 'home.example', 'https://', 'https://a/', 'https://a/b', 'http://*:x', ''])
  refuses('api.cors.origins[0]', `"${origin}"`, `"${origin}" is not an origin: ${ORIGIN_RULE}`);
for (const [origin, why] of [
  ['http://a:0', 'the port must be 1 to 65535'],
  ['http://a:65536', 'the port must be 1 to 65535'],
  ['http://1.2.3.256', 'its host is not a valid address'],
  ['http://[1::2::3]', 'it holds no valid IPv6 address'],
  ['http://häuser.example', 'write an international host name in its xn-- form'],
] as const) {
  refuses('api.cors.origins[0]', `"${origin}"`, `"${origin}" is not an origin: ${why}`);
}
// The text before the @ may contain a password, so the message omits it.
refuses('api.cors.origins[0]', '"https://u@a"', `"https://...@a" is not an origin: ${ORIGIN_RULE}`);
refuses('api.cors.origins', '"*"', 'must be a list, not the text "*"');
refuses('api.cors.origins[0]', '1', 'must be an origin, not 1');

accepts('api.hosts', '[Node.LAN, my_node, node.lan.]', ['node.lan', 'my_node', 'node.lan']);
const HOST_RULE =
  'a host name has parts of 1 to 63 letters, digits, - and _ with dots between them, and no scheme, port or path';
for (const host of ['node:8018', 'http://node', '-node', 'node-', 'a..b', '.', '*.lan', 'a b', '[::1]', ''])
  refuses('api.hosts[0]', `"${host}"`, `"${host}" is not a host name: ${HOST_RULE}`);
// Messages quote only the first 60 characters of a text (QUOTED_MAX_CHARACTERS in config/findings.ts).
const LONG_HOST = `"${'a.'.repeat(30)}..." is not a host name: a host name has at most 253 characters`;
refuses('api.hosts[0]', `"${'a.'.repeat(127)}b"`, LONG_HOST);

const NO_SUFFIX = 'is not a unit name: it has no suffix such as .service';
for (const scope of ['system', 'user']) {
  const key = `systemd.${scope}`;
  accepts(key, '', []);
  accepts(key, '[mpd.service]', [{ name: 'mpd.service' }]);
  accepts(key, '[{name: a@b.service, url: x}]', [{ name: 'a@b.service', url: 'x' }]);
  const instance = 'a template needs an instance, such as player@kitchen.service';
  refuses(`${key}[0]`, 'mpd', `"mpd" ${NO_SUFFIX}`);
  refuses(`${key}[0]`, 'player@.service', `"player@.service" is not a unit name: ${instance}`);
  refuses(`${key}[0]`, '5', 'must be a unit name, not 5');
  refuses(`${key}[0]`, '[a.service]', 'must be a unit name or a map of name and url, not a list');
  const list = `systemd:\n  ${scope}:\n`;
  refusesYaml(`${list}    -`, `3:6: ${key}[0]: must be a unit name, not nothing`);
  refusesYaml(
    `${list}    - {name: a.service, url: "${'x'.repeat(4097)}"}`,
    `3:30: ${key}[0].url: "${'x'.repeat(60)}..." is not a URL: it is longer than 4096 bytes`,
  );
  refusesYaml(`${list}    - url: x`, `3:7: ${key}[0].name: is required`);
  refusesYaml(
    `${list}    - name: x\n      url: 5`,
    `3:13: ${key}[0].name: "x" ${NO_SUFFIX}`,
    `4:12: ${key}[0].url: must be a URL, not 5`,
  );
  refusesYaml(
    `${list}    - a.service\n    - b.service\n    - {url: x, name: a.service}\n    - a.service`,
    `5:22: ${key}[2].name: a.service is listed twice, first on line 3`,
    `6:7: ${key}[3]: a.service is listed twice, first on line 3`,
  );
}
// The next two loops follow the rule of systemd's unit_name_is_valid(). The rule was checked by hand against
// systemctl of systemd 252.
for (const name of [
  ...'socket target device mount automount swap timer path'.split(' ').map((suffix) => `mpd.${suffix}`),
  ...'app.slice init.scope -.mount a.b.service ..service org.gnome:Shell_1-2.service'.split(' '),
  'dev-disk-by\\x2dlabel.swap',
  ...'player@a@b.service player@@.service a@b@.service player@.x.service'.split(' '),
  `${'a'.repeat(247)}.service`,
])
  accepts('upgrade.checkUnit', JSON.stringify(name), name);
for (const [why, ...names] of [
  [/it is empty/, ''],
  [/suffix/, 'mpd.', 'mpd.Service', 'mpd.conf', 'mpd.service '],
  [/before the suffix/, '.service'],
  [/before the @/, '@.service', '@a.service'],
  [/letters/, 'my player.service', 'a/b.service', '../x.service', 'häuschen.service', 'mpd*.service'],
  [/letters/, 'mpd\n.service', 'mpd\0.service'],
  [/255 bytes/, `${'a'.repeat(248)}.service`, `${'ä'.repeat(124)}.service`],
] as const)
  for (const name of names) refusesLike('upgrade.checkUnit', JSON.stringify(name), why);
refuses('systemd.user', 'mpd.service', 'must be a list, not the text "mpd.service"');
yamlMeans('systemd: {system: [a.service], user: [a.service]}', 'systemd.user', [{ name: 'a.service' }]);

const NOT_ABSOLUTE = 'is not an absolute path';
for (const key of ['upgrade.resultFile', 'upgrade.progressSocket', 'upgrade.stateFile']) {
  accepts(key, '/a/b', '/a/b');
  accepts(key, '~/a/b', '/home/pi/a/b');
  for (const path of ['a/b', './a', '~', '~root/a', '$HOME/a', ''])
    refuses(key, `"${path}"`, `"${path}" ${NOT_ABSOLUTE}: it must begin with / or ~/`);
  refuses(key, '/a/', `"/a/" ${NOT_ABSOLUTE}: it is the path of a directory, not of a file`);
  refuses(key, '"/\\0"', `"/\\u0000" ${NOT_ABSOLUTE}: it holds a zero character`);
  refuses(key, '', 'must be an absolute path, not nothing');
}
accepts('upgrade.progressSocket', `/${'s'.repeat(106)}`, `/${'s'.repeat(106)}`);
const LONG_SOCKET = `"/${'s'.repeat(59)}..." ${NOT_ABSOLUTE}: it has 108 bytes, at most 107 are allowed`;
refuses('upgrade.progressSocket', `/${'s'.repeat(107)}`, LONG_SOCKET);

for (const key of ['upgrade.checkUnit', 'upgrade.upgradeUnit']) {
  accepts(key, 'a.service', 'a.service');
  refuses(key, 'a', `"a" ${NO_SUFFIX}`);
  refuses(key, '{name: a.service}', 'must be a unit name, not a map');
}

accepts('players.ignore', '["*", "firefox.instance_*"]', ['*', 'firefox.instance_*']);
accepts('players.ignore', '', []);
for (const [name, why] of [
  ['', 'it is empty'],
  ['my player', 'a name on the bus has only letters, digits and . _ -, and * stands for anything'],
] as const)
  refuses('players.ignore[0]', `"${name}"`, `"${name}" is not the name of a player: ${why}`);
refuses(
  'players.ignore[0]',
  'p'.repeat(256),
  `"${'p'.repeat(60)}..." is not the name of a player: it is longer than 255 bytes`,
);
accepts('bluetooth.reconnect', 'true', true);
accepts('bluetooth.reconnect', '[aa:bb:cc:dd:ee:0f]', ['AA:BB:CC:DD:EE:0F']);
refuses('bluetooth.reconnect', 'yes', 'must be true, false or a list, not the text "yes"');
refuses(
  'bluetooth.reconnect[0]',
  'my speaker',
  '"my speaker" is not an address: write it as AA:BB:CC:DD:EE:FF',
);

accepts('discovery.name', 'Küche (oben)', 'Küche (oben)');
accepts('discovery.name', 'n'.repeat(63), 'n'.repeat(63));
// `zeroconf` is a second name of `discovery` (docs/configuration.md, "Other names of sections").
yamlMeans('zeroconf: {enabled: true}', 'discovery.enabled', true);
for (const [name, why] of [
  ['', 'it has 0 bytes, 1 to 63 are allowed'],
  ['ü'.repeat(32), 'it has 64 bytes, 1 to 63 are allowed'],
  ['a\\tb', 'it holds a control character'],
] as const) {
  refuses('discovery.name', `"${name}"`, `"${name}" is not a name: ${why}`);
}
accepts('discovery.trust', 'false', false);
for (const [url, meaning] of [
  ['http://10.8.0.3:8018', 'http://10.8.0.3:8018'],
  ['HTTP://Attic.LAN:80/', 'http://attic.lan'],
  ['https://node.example.org:443', 'https://node.example.org'],
  ['http://[fd00:0::3]:8018', 'http://[fd00::3]:8018'],
] as const)
  accepts('discovery.nodes', `["${url}"]`, [meaning]);
const THIRTY_TWO_NODES = Array.from({ length: 32 }, (_, index) => `http://10.8.0.${index}`);
accepts('discovery.nodes', JSON.stringify(THIRTY_TWO_NODES), THIRTY_TWO_NODES);
for (const [url, why] of [
  ['10.8.0.3', 'it does not begin with http:// or https://'],
  ['mqtt://a', 'it does not begin with http:// or https://'],
  ['http://', 'it has no valid host'],
  ['http://a b', 'it has no valid host'],
  ['http://a:99999', 'it has no valid host'],
  ['http://a/kitchen', 'nothing may follow the host and port'],
  ['http://a?b', 'nothing may follow the host and port'],
  ['http://a:0', 'port 0 cannot be used'],
  ['https://a:8443', 'https is only possible at port 443'],
  ['https://a:8443?', 'https is only possible at port 443'],
  ['http://a:443', 'port 443 is for https'],
  ['http://a:0443#', 'port 443 is for https'],
] as const) {
  refuses('discovery.nodes[0]', `"${url}"`, `"${url}" is not the address of a node: ${why}`);
}
refuses('discovery.nodes', '"http://a"', 'must be a list, not the text "http://a"');
refusesYaml(
  'discovery: {nodes: [http://a, HTTP://A]}',
  '1:31: discovery.nodes[1]: http://a is listed twice, first on line 1',
);
refuses(
  'discovery.nodes',
  JSON.stringify([...THIRTY_TWO_NODES, 'http://10.8.0.32']),
  'has 33 items, at most 32 are allowed',
);

test('the default name of a node is cut to 63 bytes, which is the limit for the name of a service', async () => {
  const resolved = await resolveTexts([], { ...ENVIRONMENT, hostname: `x${'ü'.repeat(40)}` });
  assert.ok(resolved.ok);
  // 63 bytes are allowed. `tonearm on x` has 12 bytes, and 25 letters `ü` have 50 bytes. One byte stays
  // unused, because no letter is cut.
  assert.equal(resolved.value.values.discovery.name, `tonearm on x${'ü'.repeat(25)}`);
});

accepts('mqtt.url', '"mqtt://broker"', 'mqtt://broker');
accepts('mqtt.url', '"mqtts://[::1]:8884/"', 'mqtts://[::1]:8884/');
const CREDENTIALS = 'write name and password into mqtt.username and mqtt.passwordFile, not here';
// In messages `...` replaces a possible password: all before the last @, except the scheme.
for (const [url, why, quoted = url] of [
  ['http://broker', 'it does not begin with mqtt:// or mqtts://'],
  ['broker', 'it does not begin with mqtt:// or mqtts://'],
  ['mqtt://', 'it has no host'],
  ['mqtt://broker/path', 'nothing may follow the host and port'],
  ['mqtt://broker?x', 'nothing may follow the host and port'],
  ['mqtt://broker:0', 'port 0 cannot be used'],
  ['mqtt://me:secret@broker', CREDENTIALS, 'mqtt://...@broker'],
  ['mqtt://secret@broker', CREDENTIALS, 'mqtt://...@broker'],
  // In a URL the host and port end at the slash, so `me` is the host, and `sec` is no port.
  ['mqtt://me:sec/r@et@broker', 'it has no host', 'mqtt://...@broker'],
  ['mqtt://me:my secret@broker', CREDENTIALS, 'mqtt://...@broker'],
  ['me:secret@broker', 'it does not begin with mqtt:// or mqtts://', '...@broker'],
  ['mqtt:/me:my secret@broker', 'it does not begin with mqtt:// or mqtts://', '...@broker'],
] as const) {
  refuses('mqtt.url', `"${url}"`, `"${quoted}" is not the address of a broker: ${why}`);
}
const NO_SCHEME = 'it does not begin with http:// or https://';
refuses('discovery.nodes[0]', '"me:secret@a"', `"...@a" is not the address of a node: ${NO_SCHEME}`);
refuses('discovery.nodes', '"me:secret@a"', 'must be a list, not the text "...@a"');
refuses('discovery.nodes', '"http://me:my secret@a"', 'must be a list, not the text "http://...@a"');
// Somebody may have written the password itself into this key, so the message omits the value.
for (const secret of ['secret', '1234'])
  refuses('mqtt.passwordFile', secret, 'must be an absolute path: it must begin with / or ~/');
accepts('mqtt.passwordFile', '/etc/secret', '/etc/secret');

accepts('mqtt.topic', 'house/küche', 'house/küche');
accepts('mqtt.topic', '/home/audio', '/home/audio');
for (const [topic, why] of [
  ['a/+', 'it holds a wildcard, + or #'],
  ['a#', 'it holds a wildcard, + or #'],
  ['', 'one of its levels is empty'],
  ['/', 'one of its levels is empty'],
  ['//a', 'one of its levels is empty'],
  ['a//b', 'one of its levels is empty'],
  ['a/', 'one of its levels is empty'],
  ['$SYS/a', 'topics that begin with $ belong to the broker'],
] as const) {
  refuses('mqtt.topic', `"${topic}"`, `"${topic}" is not a topic: ${why}`);
}
// These are a control character, a noncharacter and half of a surrogate pair.
for (const character of ['\\t', '\\ufdd0', '\\ud800'])
  refusesLike('mqtt.topic', `"a${character}"`, /is not a topic: it holds a control or another character/);
refusesYaml('mqtt:\n  enabled: true', '2:12: mqtt.url: is required when mqtt.enabled is true');
refuses('mqtt.username', '""', '"" is not a user name: it is empty');
refuses('mqtt.username', '"a\\tb"', '"a\\tb" is not a user name: it holds a control character');
refusesLike('mqtt.username', 'u'.repeat(65_536), /is not a user name: it is longer than 65535 bytes/);
