// Each key's accepted values, their meaning and refusals: a row per key and per kind of value
// (docs/configuration.md, "Keys").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as inputs from './full.js';

/** A key with a value, in flow style. `[0]` behind the key: the value is the one item of its list. */
function entry(key: string, value: string): string {
  const [first = '', ...others] = key.replace('[0]', '').split('.');
  const inner = key.endsWith('[0]') ? `[${value}]` : value;
  const opened = [`${first}:`, ...others.map((name) => `{${name}:`)].join(' ');
  return `${opened} ${inner}${'}'.repeat(others.length)}`;
}

function inside(section: unknown, name: string): unknown {
  return Object.entries(section ?? {}).find(([key]) => key === name)?.[1];
}

/** `yaml` may give any keys; `key` comes out as `value`, without a word. */
function meaning(yaml: string, key: string, value: unknown): void {
  test(`accepts ${JSON.stringify(yaml)}`, async () => {
    const resolved = await inputs.accepted(yaml);
    assert.deepEqual(resolved.warnings, []);
    const found = key.split('.').reduce<unknown>(inside, resolved.values);
    assert.deepEqual(found, value);
  });
}

/** `value` as it stands in the file, and the setting that it means. */
function accepted(key: string, value: string, means: unknown): void {
  meaning(entry(key, value), key.replace('[0]', ''), means);
}

/** `lines` are all problems, as `LINE:COL: key: text`. */
function problems(yaml: string, ...lines: string[]): void {
  test(`refuses ${JSON.stringify(yaml.slice(0, 80))}`, async () => {
    const expected = lines.map((line) => `a:${line}`);
    assert.deepEqual(await inputs.problemsIn(yaml), expected);
  });
}

/** One problem, whose text after place and key fits. */
function problemLike(key: string, value: string, fits: RegExp): void {
  const yaml = entry(key, value);
  test(`refuses ${JSON.stringify(yaml.slice(0, 80))}`, async () => {
    const [problem = '', ...others] = await inputs.problemsIn(yaml);
    assert.deepEqual(others, []);
    assert.match(problem.replace(/^a:\d+:\d+: [\w.]+: /, ''), fits);
  });
}

/** `fault` is the text after place and key. */
function refused(key: string, value: string, fault: string): void {
  problems(entry(key, value), `1:${entry(key, '\0').indexOf('\0') + 1}: ${key}: ${fault}`);
}

accepted('pulseaudio.volumeLimit', '0.6', 0.6);
accepted(
  'pulseaudio.volumeLimit',
  '{alsa_output.usb-0: 0, __proto__: 1}',
  JSON.parse('{"alsa_output.usb-0": 0, "__proto__": 1}'),
);
for (const value of ['1.1', '-0.1', '.nan', 'loud', '[1]', ''])
  problemLike('pulseaudio.volumeLimit', value, /^must be a number from 0 to 1, not /);
const NO_LIMIT = 'must be a number from 0 to 1';
problems('pulseaudio: {volumeLimit: {a: 2}}', `1:31: pulseaudio.volumeLimit.a: ${NO_LIMIT}, not 2`);
accepted('pulseaudio.outputs', '', {});
accepted('pulseaudio.outputs', '{a: {label: Küche 🎵}, b: {hidden: true}, c: {}}', {
  a: { label: 'Küche 🎵' },
  b: { hidden: true },
  c: {},
});
accepted('pulseaudio.outputs', '{a: {startVolume: 0}, b: {startVolume: 1}}', {
  a: { startVolume: 0 },
  b: { startVolume: 1 },
});
problems(
  'pulseaudio: {outputs: {a: {startVolume: 1.1}}}',
  '1:41: pulseaudio.outputs.a.startVolume: must be a number from 0 to 1, not 1.1',
);
accepted('pulseaudio.outputs', `{a: {label: ${'🎵'.repeat(64)}}}`, { a: { label: '🎵'.repeat(64) } });
refused('pulseaudio.outputs', '[a]', 'must be a map by name, not a list');
const NO_OUTPUT = 'must be a map of label, hidden and startVolume, not the text "Kitchen"';
problems('pulseaudio: {outputs: {a: Kitchen}}', `1:27: pulseaudio.outputs.a: ${NO_OUTPUT}`);
const NO_HIDDEN = 'must be true or false, not 1';
problems('pulseaudio: {outputs: {a: {hidden: 1}}}', `1:36: pulseaudio.outputs.a.hidden: ${NO_HIDDEN}`);
for (const [label, why] of [
  [`"${'x'.repeat(65)}"`, /is not a label: it has 65 characters/],
  ['""', /is not a label: it has 0 characters/],
  ['"  "', /is not a label: it has 2 characters/],
  ['"\\u0007"', /is not a label: it holds a control character/],
] as const)
  problemLike('pulseaudio.outputs', `{a: {label: ${label}}}`, why);

accepted('bind', 'eth0', ['eth0']);
accepted('bind', 'all', ['all']);
accepted('bind', '::1', ['::1']);
accepted('bind', '0.0.0.0', ['0.0.0.0']);
accepted('bind', 'fe80::1%eth0', ['fe80::1%eth0']);
accepted('bind', '[lo, wlan0.5, br-lan_1, 10.0.0.7]', ['lo', 'wlan0.5', 'br-lan_1', '10.0.0.7']);
refused('bind', '[]', 'must not be an empty list');
const TARGET = 'an interface name, an IP address or "all"';
refused('bind', '', `must be ${TARGET}, not nothing`);
refused('bind', '10.0', `must be ${TARGET}, not 10`);
refused('bind', '{a: 1}', `must be ${TARGET}, not a map`);
problems('bind:\n  - lo\n  - [lo]', `3:5: bind[1]: must be ${TARGET}, not a list`);
const NO_INTERFACE = 'an interface name has only letters, digits and . _ -, and does not begin with . or -';
for (const name of ['a/b', 'a b', 'lo;reboot', '*', '-x', '.x', 'ü0'])
  refused('bind', `"${name}"`, `"${name}" is not ${TARGET}: ${NO_INTERFACE}`);
for (const [name, why] of [
  ['', 'an interface name has 1 to 15 bytes'],
  ['interface-name-1', 'an interface name has 1 to 15 bytes'],
  ['..', 'it is not a whole IPv4 address'],
  ['256.1.1.1', 'it is not a whole IPv4 address'],
  ['10.0.0.7:80', 'it is not an IPv6 address (write it without brackets and port)'],
  ['[::1]', 'it is not an IPv6 address (write it without brackets and port)'],
] as const) {
  refused('bind', `"${name}"`, `"${name}" is not ${TARGET}: ${why}`);
}

accepted('logLevel', 'WARN', 'warn');
accepted('logLevel', 'Trace', 'trace');
accepted('logLevel', 'fatal', 'fatal');
const LEVELS = 'must be one of fatal, error, warn, info, debug, trace';
refused('logLevel', 'verbose', `${LEVELS}, not the text "verbose"`);
refused('logLevel', '3', `${LEVELS}, not 3`);
refused('logLevel', '', `${LEVELS}, not nothing`);

accepted('api.port', '1', 1);
accepted('api.port', '65535', 65535);
accepted('api.port', '0x1f52', 8018);
for (const [port, quoted] of [
  ['0'],
  ['65536'],
  ['-1'],
  ['80.5'],
  ['true'],
  ['.inf', 'Infinity'],
  ['.nan', 'NaN'],
  ['"8018"', 'the text "8018"'],
  ['[80]', 'a list'],
] as const) {
  refused('api.port', port ?? '', `must be a whole number from 1 to 65535, not ${quoted ?? port}`);
}
accepted('api.sse.maxClients', '1', 1);
accepted('api.sse.maxClients', '10000', 10000);
for (const clients of ['0', '10001'])
  refused('api.sse.maxClients', clients, `must be a whole number from 1 to 10000, not ${clients}`);

accepted('api.ui.volumeStep', '1', 1);
accepted('api.ui.volumeStep', '10', 10);
for (const step of ['0', '11', '2.5'])
  refused('api.ui.volumeStep', step, `must be a whole number from 1 to 10, not ${step}`);

accepted('api.sse.enabled', 'true', true);
accepted('api.sse.enabled', 'false', false);
refused('api.sse.enabled', 'yes', 'must be true or false, not the text "yes"');
refused('api.sse.enabled', '1', 'must be true or false, not 1');

for (const [origin, means] of [
  ['"*"', '*'],
  ['http://A.b:8080', 'http://a.b:8080'],
  ['http://a:80', 'http://a'],
  ['"http://[2001:DB8::1]:81"', 'http://[2001:db8::1]:81'],
  ['Capacitor://Localhost', 'capacitor://localhost'],
] as const) {
  accepted('api.cors.origins[0]', origin, [means]);
}
accepted('api.cors.origins', '', []);
const ORIGIN = 'write scheme://host or scheme://host:port, without a path, or *';
for (const origin of ['null', 'home.example', 'https://', 'https://a/', 'https://a/b', 'http://*:x', ''])
  refused('api.cors.origins[0]', `"${origin}"`, `"${origin}" is not an origin: ${ORIGIN}`);
for (const [origin, why] of [
  ['http://a:0', 'the port must be 1 to 65535'],
  ['http://a:65536', 'the port must be 1 to 65535'],
  ['http://1.2.3.256', 'its host is not a valid address'],
  ['http://[1::2::3]', 'it holds no valid IPv6 address'],
  ['http://häuser.example', 'write an international host name in its xn-- form'],
] as const) {
  refused('api.cors.origins[0]', `"${origin}"`, `"${origin}" is not an origin: ${why}`);
}
refused('api.cors.origins[0]', '"https://u@a"', `"https://...@a" is not an origin: ${ORIGIN}`);
refused('api.cors.origins', '"*"', 'must be a list, not the text "*"');
refused('api.cors.origins[0]', '1', 'must be an origin, not 1');

accepted('api.hosts', '[Node.LAN, my_node, node.lan.]', ['node.lan', 'my_node', 'node.lan']);
const HOST =
  'a host name has parts of 1 to 63 letters, digits, - and _ with dots between them, and no scheme, port or path';
for (const host of ['node:8018', 'http://node', '-node', 'node-', 'a..b', '.', '*.lan', 'a b', '[::1]', ''])
  refused('api.hosts[0]', `"${host}"`, `"${host}" is not a host name: ${HOST}`);
const LONG_HOST = `"${'a.'.repeat(30)}..." is not a host name: a host name has at most 253 characters`;
refused('api.hosts[0]', `"${'a.'.repeat(127)}b"`, LONG_HOST);

const NO_SUFFIX = 'is not a unit name: it has no suffix such as .service';
for (const scope of ['system', 'user']) {
  const key = `systemd.${scope}`;
  accepted(key, '', []);
  accepted(key, '[mpd.service]', [{ name: 'mpd.service' }]);
  accepted(key, '[{name: a@b.service, url: x}]', [{ name: 'a@b.service', url: 'x' }]);
  const instance = 'a template needs an instance, such as player@kitchen.service';
  refused(`${key}[0]`, 'mpd', `"mpd" ${NO_SUFFIX}`);
  refused(`${key}[0]`, 'player@.service', `"player@.service" is not a unit name: ${instance}`);
  refused(`${key}[0]`, '5', 'must be a unit name, not 5');
  refused(`${key}[0]`, '[a.service]', 'must be a unit name or a map of name and url, not a list');
  const list = `systemd:\n  ${scope}:\n`;
  problems(`${list}    -`, `3:6: ${key}[0]: must be a unit name, not nothing`);
  problems(
    `${list}    - {name: a.service, url: "${'x'.repeat(4097)}"}`,
    `3:30: ${key}[0].url: "${'x'.repeat(60)}..." is not a URL: it is longer than 4096 bytes`,
  );
  problems(`${list}    - url: x`, `3:7: ${key}[0].name: is required`);
  problems(
    `${list}    - name: x\n      url: 5`,
    `3:13: ${key}[0].name: "x" ${NO_SUFFIX}`,
    `4:12: ${key}[0].url: must be a URL, not 5`,
  );
  problems(
    `${list}    - a.service\n    - b.service\n    - {url: x, name: a.service}\n    - a.service`,
    `5:22: ${key}[2].name: a.service is listed twice, first on line 3`,
    `6:7: ${key}[3]: a.service is listed twice, first on line 3`,
  );
}
/** The rule of systemd's unit_name_is_valid(), checked by hand against systemctl of systemd 252. */
for (const name of [
  ...'socket target device mount automount swap timer path'.split(' ').map((suffix) => `mpd.${suffix}`),
  ...'app.slice init.scope -.mount a.b.service ..service org.gnome:Shell_1-2.service'.split(' '),
  'dev-disk-by\\x2dlabel.swap',
  ...'player@a@b.service player@@.service a@b@.service player@.x.service'.split(' '),
  `${'a'.repeat(247)}.service`,
])
  accepted('upgrade.checkUnit', JSON.stringify(name), name);
for (const [why, ...names] of [
  [/it is empty/, ''],
  [/suffix/, 'mpd.', 'mpd.Service', 'mpd.conf', 'mpd.service '],
  [/before the suffix/, '.service'],
  [/before the @/, '@.service', '@a.service'],
  [/letters/, 'my player.service', 'a/b.service', '../x.service', 'häuschen.service', 'mpd*.service'],
  [/letters/, 'mpd\n.service', 'mpd\0.service'],
  [/255 bytes/, `${'a'.repeat(248)}.service`, `${'ä'.repeat(124)}.service`],
] as const)
  for (const name of names) problemLike('upgrade.checkUnit', JSON.stringify(name), why);
refused('systemd.user', 'mpd.service', 'must be a list, not the text "mpd.service"');
meaning('systemd: {system: [a.service], user: [a.service]}', 'systemd.user', [{ name: 'a.service' }]);

const PATH = 'is not an absolute path';
for (const key of ['upgrade.resultFile', 'upgrade.progressSocket', 'upgrade.stateFile']) {
  accepted(key, '/a/b', '/a/b');
  accepted(key, '~/a/b', '/home/pi/a/b');
  for (const path of ['a/b', './a', '~', '~root/a', '$HOME/a', ''])
    refused(key, `"${path}"`, `"${path}" ${PATH}: it must begin with / or ~/`);
  refused(key, '/a/', `"/a/" ${PATH}: it is the path of a directory, not of a file`);
  refused(key, '"/\\0"', `"/\\u0000" ${PATH}: it holds a zero character`);
  refused(key, '', 'must be an absolute path, not nothing');
}
accepted('upgrade.progressSocket', `/${'s'.repeat(97)}`, `/${'s'.repeat(97)}`);
const LONG_SOCKET = `"/${'s'.repeat(59)}..." ${PATH}: it has 99 bytes, at most 98 are allowed`;
refused('upgrade.progressSocket', `/${'s'.repeat(98)}`, LONG_SOCKET);

for (const key of ['upgrade.checkUnit', 'upgrade.upgradeUnit']) {
  accepted(key, 'a.service', 'a.service');
  refused(key, 'a', `"a" ${NO_SUFFIX}`);
  refused(key, '{name: a.service}', 'must be a unit name, not a map');
}

accepted('players.ignore', '["*", "firefox.instance_*"]', ['*', 'firefox.instance_*']);
accepted('players.ignore', '', []);
accepted('bluetooth.reconnect', 'true', true);
accepted('bluetooth.reconnect', '[aa:bb:cc:dd:ee:0f]', ['AA:BB:CC:DD:EE:0F']);
refused('bluetooth.reconnect', 'yes', 'must be true, false or a list, not the text "yes"');
refused(
  'bluetooth.reconnect[0]',
  'my speaker',
  '"my speaker" is not an address: write it as AA:BB:CC:DD:EE:FF',
);
for (const [name, why] of [
  ['', 'it is empty'],
  ['my player', 'a name on the bus has only letters, digits and . _ -, and * stands for anything'],
] as const)
  refused('players.ignore[0]', `"${name}"`, `"${name}" is not the name of a player: ${why}`);
refused(
  'players.ignore[0]',
  'p'.repeat(256),
  `"${'p'.repeat(60)}..." is not the name of a player: it is longer than 255 bytes`,
);

accepted('discovery.name', 'Küche (oben)', 'Küche (oben)');
accepted('discovery.name', 'n'.repeat(63), 'n'.repeat(63));
meaning('zeroconf: {enabled: true}', 'discovery.enabled', true);
for (const [name, why] of [
  ['', 'it has 0 bytes, 1 to 63 are allowed'],
  ['ü'.repeat(32), 'it has 64 bytes, 1 to 63 are allowed'],
  ['a\\tb', 'it holds a control character'],
] as const) {
  refused('discovery.name', `"${name}"`, `"${name}" is not a name: ${why}`);
}
accepted('discovery.trust', 'false', false);
for (const [url, means] of [
  ['http://10.8.0.3:8018', 'http://10.8.0.3:8018'],
  ['HTTP://Attic.LAN:80/', 'http://attic.lan'],
  ['https://node.example.org:443', 'https://node.example.org'],
  ['http://[fd00:0::3]:8018', 'http://[fd00::3]:8018'],
] as const)
  accepted('discovery.nodes', `["${url}"]`, [means]);
const NODES_MAX = Array.from({ length: 32 }, (_, n) => `http://10.8.0.${n}`);
accepted('discovery.nodes', JSON.stringify(NODES_MAX), NODES_MAX);
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
  ['http://a:443', 'port 443 is for https'],
] as const) {
  refused('discovery.nodes[0]', `"${url}"`, `"${url}" is not the address of a node: ${why}`);
}
refused('discovery.nodes', '"http://a"', 'must be a list, not the text "http://a"');
problems(
  'discovery: {nodes: [http://a, HTTP://A]}',
  '1:31: discovery.nodes[1]: http://a is listed twice, first on line 1',
);
refused(
  'discovery.nodes',
  JSON.stringify([...NODES_MAX, 'http://10.8.0.32']),
  'has 33 items, at most 32 are allowed',
);

test('the name of a node with a long name is cut to what a service may be called, between two characters', async () => {
  const resolved = await inputs.resolveTexts([], { ...inputs.ENVIRONMENT, hostname: 'ü'.repeat(40) });
  assert.ok(resolved.ok);
  assert.equal(resolved.value.values.discovery.name, `tonearm on ${'ü'.repeat(26)}`);
});

accepted('mqtt.url', '"mqtt://broker"', 'mqtt://broker');
accepted('mqtt.url', '"mqtts://[::1]:8884/"', 'mqtts://[::1]:8884/');
const CREDENTIALS = 'write name and password into mqtt.username and mqtt.passwordFile, not here';
for (const [url, why, quoted = url] of [
  ['http://broker', 'it does not begin with mqtt:// or mqtts://'],
  ['broker', 'it does not begin with mqtt:// or mqtts://'],
  ['mqtt://', 'it has no host'],
  ['mqtt://broker/path', 'nothing may follow the host and port'],
  ['mqtt://broker?x', 'nothing may follow the host and port'],
  ['mqtt://broker:0', 'port 0 cannot be used'],
  ['mqtt://me:secret@broker', CREDENTIALS, 'mqtt://...@broker'],
  ['mqtt://secret@broker', CREDENTIALS, 'mqtt://...@broker'],
  ['mqtt://me:sec/r@et@broker', 'it has no host', 'mqtt://...@broker'],
] as const) {
  refused('mqtt.url', `"${url}"`, `"${quoted}" is not the address of a broker: ${why}`);
}
for (const secret of ['secret', '1234'])
  refused('mqtt.passwordFile', secret, 'must be an absolute path: it must begin with / or ~/');
accepted('mqtt.passwordFile', '/etc/secret', '/etc/secret');

accepted('mqtt.topic', 'house/küche', 'house/küche');
for (const [topic, why] of [
  ['a/+', 'it holds a wildcard, + or #'],
  ['a#', 'it holds a wildcard, + or #'],
  ['', 'one of its levels is empty'],
  ['/a', 'one of its levels is empty'],
  ['a/', 'one of its levels is empty'],
  ['$SYS/a', 'topics that begin with $ belong to the broker'],
] as const) {
  refused('mqtt.topic', `"${topic}"`, `"${topic}" is not a topic: ${why}`);
}
problems('mqtt:\n  enabled: true', '2:12: mqtt.url: is required when mqtt.enabled is true');
refused('mqtt.username', '""', '"" is not a user name: it is empty');
