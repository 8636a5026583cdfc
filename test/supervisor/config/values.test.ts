// What each key accepts, means and refuses: a row per key and per kind of value (contract, section 1).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolve } from '../../../src/supervisor/config/resolve.js';
import { ENVIRONMENT } from './full.js';

function inside(section: unknown, name: string): unknown {
  return Object.entries(section ?? {}).find(([key]) => key === name)?.[1];
}

/** `yaml` may give any keys; `key` comes out as `value`, without a word. */
function accepted(yaml: string, key: string, value: unknown): void {
  test(`accepts ${JSON.stringify(yaml)}`, () => {
    const resolved = resolve([{ path: 'c', text: yaml }], ENVIRONMENT);
    assert.ok(resolved.ok, JSON.stringify(resolved));
    assert.deepEqual(resolved.warnings, []);
    const found = key.split('.').reduce<unknown>(inside, resolved.values);
    assert.deepEqual(found, value);
  });
}

/** `lines` are all problems, as `LINE:COL: key: text`. */
function refused(yaml: string, ...lines: string[]): void {
  test(`refuses ${JSON.stringify(yaml.slice(0, 80))}`, () => {
    const resolved = resolve([{ path: 'c', text: yaml }], ENVIRONMENT);
    assert.deepEqual(
      resolved.ok ? [] : resolved.problems,
      lines.map((line) => `c:${line}`),
    );
  });
}

accepted('bind: eth0', 'bind', ['eth0']);
accepted('bind: all', 'bind', ['all']);
accepted('bind: ::1', 'bind', ['::1']);
accepted('bind: 0.0.0.0', 'bind', ['0.0.0.0']);
accepted('bind: fe80::1%eth0', 'bind', ['fe80::1%eth0']);
accepted('bind: [lo, wlan0.5, 10.0.0.7]', 'bind', ['lo', 'wlan0.5', '10.0.0.7']);
refused('bind: []', '1:7: bind: must not be an empty list');
refused('bind:', '1:6: bind: must be an interface name, an IP address or "all", not nothing');
refused('bind: 10.0', '1:7: bind: must be an interface name, an IP address or "all", not 10');
refused('bind: {a: 1}', '1:7: bind: must be an interface name, an IP address or "all", not a map');
refused(
  'bind:\n  - lo\n  - [lo]',
  '3:5: bind[1]: must be an interface name, an IP address or "all", not a list',
);
const BIND = 'is not an interface name, an IP address or "all"';
refused('bind: ""', `1:7: bind: "" ${BIND}: an interface name has 1 to 15 bytes`);
refused(
  'bind: interface-name-1',
  `1:7: bind: "interface-name-1" ${BIND}: an interface name has 1 to 15 bytes`,
);
refused('bind: a/b', `1:7: bind: "a/b" ${BIND}: an interface name has no slash and no white space`);
refused('bind: a b', `1:7: bind: "a b" ${BIND}: an interface name has no slash and no white space`);
refused('bind: ..', `1:7: bind: ".." ${BIND}: it is not a whole IPv4 address`);
refused('bind: 256.1.1.1', `1:7: bind: "256.1.1.1" ${BIND}: it is not a whole IPv4 address`);
const NOT_V6 = 'it is not an IPv6 address (write it without brackets and port)';
refused('bind: 10.0.0.7:80', `1:7: bind: "10.0.0.7:80" ${BIND}: ${NOT_V6}`);
refused('bind: "[::1]"', `1:7: bind: "[::1]" ${BIND}: ${NOT_V6}`);

accepted('logLevel: WARN', 'logLevel', 'warn');
accepted('logLevel: Trace', 'logLevel', 'trace');
accepted('logLevel: fatal', 'logLevel', 'fatal');
const LEVELS = 'must be one of fatal, error, warn, info, debug, trace';
refused('logLevel: verbose', `1:11: logLevel: ${LEVELS}, not the text "verbose"`);
refused('logLevel: 3', `1:11: logLevel: ${LEVELS}, not 3`);
refused('logLevel:', `1:10: logLevel: ${LEVELS}, not nothing`);

accepted('api: {port: 1}', 'api.port', 1);
accepted('api: {port: 65535}', 'api.port', 65535);
accepted('api: {port: 0x1f52}', 'api.port', 8018);
const PORT = 'must be a whole number from 1 to 65535';
refused('api: {port: 0}', `1:13: api.port: ${PORT}, not 0`);
refused('api: {port: 65536}', `1:13: api.port: ${PORT}, not 65536`);
refused('api: {port: -1}', `1:13: api.port: ${PORT}, not -1`);
refused('api: {port: 80.5}', `1:13: api.port: ${PORT}, not 80.5`);
refused('api: {port: .inf}', `1:13: api.port: ${PORT}, not Infinity`);
refused('api: {port: .nan}', `1:13: api.port: ${PORT}, not NaN`);
refused('api: {port: true}', `1:13: api.port: ${PORT}, not true`);
refused('api: {port: "8018"}', `1:13: api.port: ${PORT}, not the text "8018"`);
refused('api: {port: [80]}', `1:13: api.port: ${PORT}, not a list`);

accepted('api: {sse: {maxClients: 1}}', 'api.sse.maxClients', 1);
accepted('api: {sse: {maxClients: 10000}}', 'api.sse.maxClients', 10000);
const CLIENTS = 'must be a whole number from 1 to 10000';
refused('api: {sse: {maxClients: 0}}', `1:25: api.sse.maxClients: ${CLIENTS}, not 0`);
refused('api: {sse: {maxClients: 10001}}', `1:25: api.sse.maxClients: ${CLIENTS}, not 10001`);

const FLAGS = [
  'api.sse.enabled',
  'systemd.enabled',
  'pulseaudio.enabled',
  'pulseaudio.serve_cookie',
  'power.enabled',
  'power.capabilities.poweroff',
  'power.capabilities.reboot',
];
for (const key of FLAGS) {
  const nested = (value: string): string => {
    const names = key.split('.');
    return `${names.map((name) => `{${name}: `).join('')}${value}${'}'.repeat(names.length)}`;
  };
  const column = nested('').indexOf('}') + 1;
  accepted(nested('true'), key, true);
  accepted(nested('false'), key, false);
  refused(nested('yes'), `1:${column}: ${key}: must be true or false, not the text "yes"`);
  refused(nested('1'), `1:${column}: ${key}: must be true or false, not 1`);
}

accepted('api: {cors: {origins: ["*"]}}', 'api.cors.origins', ['*']);
accepted('api: {cors: {origins: [http://A.b:8080]}}', 'api.cors.origins', ['http://a.b:8080']);
accepted('api: {cors: {origins: [http://a:80]}}', 'api.cors.origins', ['http://a']);
accepted('api: {cors: {origins: ["http://[2001:DB8::1]:81"]}}', 'api.cors.origins', [
  'http://[2001:db8::1]:81',
]);
accepted('api: {cors: {origins: [Capacitor://localhost]}}', 'api.cors.origins', ['capacitor://localhost']);
accepted('api: {cors: {origins: }}', 'api.cors.origins', []);
const ORIGIN = 'write scheme://host or scheme://host:port, without a path, or *';
for (const origin of ['null', 'home.example', 'https://', 'https://a/', 'https://a/b', 'http://*:x', '']) {
  const quoted = JSON.stringify(origin);
  refused(
    `api: {cors: {origins: [${quoted}]}}`,
    `1:24: api.cors.origins[0]: ${quoted} is not an origin: ${ORIGIN}`,
  );
}
refused(
  'api: {cors: {origins: ["http://a:0", "http://a:65536", http://1.2.3.256, "http://[1::2::3]"]}}',
  '1:24: api.cors.origins[0]: "http://a:0" is not an origin: the port must be 1 to 65535',
  '1:38: api.cors.origins[1]: "http://a:65536" is not an origin: the port must be 1 to 65535',
  '1:56: api.cors.origins[2]: "http://1.2.3.256" is not an origin: its host is not a valid address',
  '1:74: api.cors.origins[3]: "http://[1::2::3]" is not an origin: it holds no valid IPv6 address',
);
refused(
  'api: {cors: {origins: [http://häuser.example]}}',
  '1:24: api.cors.origins[0]: "http://häuser.example" is not an origin: write an international host name in its xn-- form',
);
refused('api: {cors: {origins: "*"}}', '1:23: api.cors.origins: must be a list, not the text "*"');
refused('api: {cors: {origins: [1]}}', '1:24: api.cors.origins[0]: must be an origin, not 1');

accepted('api: {hosts: [Node.LAN, my_node, node.lan.]}', 'api.hosts', ['node.lan', 'my_node', 'node.lan']);
const HOST =
  'a host name is letters, digits, - and _ between dots, at most 63 each, without scheme, port or path';
for (const host of ['node:8018', 'http://node', '-node', 'node-', 'a..b', '.', '*.lan', 'a b', '[::1]', '']) {
  refused(`api: {hosts: ["${host}"]}`, `1:15: api.hosts[0]: "${host}" is not a host name: ${HOST}`);
}
refused(
  `api: {hosts: ["${'a.'.repeat(127)}b"]}`,
  `1:15: api.hosts[0]: "${'a.'.repeat(30)}..." is not a host name: a host name has at most 253 characters`,
);

for (const scope of ['system', 'user']) {
  const key = `systemd.${scope}`;
  accepted(`systemd: {${scope}: }`, key, []);
  accepted(`systemd: {${scope}: [mpd.service]}`, key, [{ name: 'mpd.service' }]);
  accepted(`systemd:\n  ${scope}:\n    - {name: a@b.service, url: x}`, key, [
    { name: 'a@b.service', url: 'x' },
  ]);
  const list = `systemd:\n  ${scope}:\n`;
  refused(`${list}    - mpd`, `3:7: ${key}[0]: "mpd" is not a unit name: it has no suffix such as .service`);
  refused(
    `${list}    - player@.service`,
    `3:7: ${key}[0]: "player@.service" is not a unit name: a template needs an instance, as in player@kitchen.service`,
  );
  refused(`${list}    - 5`, `3:7: ${key}[0]: must be a unit name, not 5`);
  refused(`${list}    -`, `3:6: ${key}[0]: must be a unit name, not nothing`);
  refused(
    `${list}    - [a.service]`,
    `3:7: ${key}[0]: must be a unit name or a map of name and url, not a list`,
  );
  refused(`${list}    - url: x`, `3:7: ${key}[0].name: is required`);
  refused(
    `${list}    - name: x\n      url: 5`,
    `3:13: ${key}[0].name: "x" is not a unit name: it has no suffix such as .service`,
    `4:12: ${key}[0].url: must be a URL, not 5`,
  );
  refused(
    `${list}    - a.service\n    - b.service\n    - {url: x, name: a.service}\n    - a.service`,
    `5:22: ${key}[2].name: a.service is listed twice, first on line 3`,
    `6:7: ${key}[3]: a.service is listed twice, first on line 3`,
  );
}
refused('systemd: {user: mpd.service}', '1:17: systemd.user: must be a list, not the text "mpd.service"');
accepted('systemd: {system: [a.service], user: [a.service]}', 'systemd.user', [{ name: 'a.service' }]);

for (const name of ['resultFile', 'progressSocket', 'stateFile']) {
  const column = 13 + name.length;
  accepted(`upgrade: {${name}: /a/b}`, `upgrade.${name}`, '/a/b');
  accepted(`upgrade: {${name}: ~/a/b}`, `upgrade.${name}`, '/home/pi/a/b');
  for (const path of ['a/b', './a', '~', '~root/a', '$HOME/a', '']) {
    refused(
      `upgrade: {${name}: "${path}"}`,
      `1:${column}: upgrade.${name}: "${path}" is not an absolute path: it must begin with / or ~/`,
    );
  }
  refused(
    `upgrade: {${name}: /a/}`,
    `1:${column}: upgrade.${name}: "/a/" is not an absolute path: it names a directory, not a file`,
  );
  refused(
    `upgrade: {${name}: "/\\0"}`,
    `1:${column}: upgrade.${name}: "/\\u0000" is not an absolute path: it holds a zero character`,
  );
  refused(`upgrade: {${name}: }`, `1:${column}: upgrade.${name}: must be an absolute path, not nothing`);
}
accepted(`upgrade: {progressSocket: /${'s'.repeat(106)}}`, 'upgrade.progressSocket', `/${'s'.repeat(106)}`);
refused(
  `upgrade: {progressSocket: /${'s'.repeat(107)}}`,
  `1:27: upgrade.progressSocket: "/${'s'.repeat(59)}..." is not an absolute path: it has 108 bytes, at most 107 are allowed`,
);

for (const name of ['checkUnit', 'upgradeUnit']) {
  const column = 13 + name.length;
  accepted(`upgrade: {${name}: a.service}`, `upgrade.${name}`, 'a.service');
  refused(
    `upgrade: {${name}: a}`,
    `1:${column}: upgrade.${name}: "a" is not a unit name: it has no suffix such as .service`,
  );
  refused(
    `upgrade: {${name}: {name: a.service}}`,
    `1:${column}: upgrade.${name}: must be a unit name, not a map`,
  );
}

accepted('discovery: {name: Küche (oben)}', 'discovery.name', 'Küche (oben)');
accepted(`discovery: {name: ${'n'.repeat(63)}}`, 'discovery.name', 'n'.repeat(63));
accepted('zeroconf: {enabled: true}', 'discovery.enabled', true);
refused(
  'discovery: {name: ""}',
  '1:19: discovery.name: "" is not a name: it has 0 bytes, 1 to 63 are allowed',
);
refused(
  `discovery: {name: ${'ü'.repeat(32)}}`,
  `1:19: discovery.name: "${'ü'.repeat(32)}" is not a name: it has 64 bytes, 1 to 63 are allowed`,
);
refused(
  'discovery: {name: "a\\tb"}',
  '1:19: discovery.name: "a\\tb" is not a name: it holds a control character',
);
refused(
  'discovery: {name: a}\nzeroconf: {enabled: true}',
  '2:1: zeroconf: is another spelling of discovery, which is given at c:1; use one of them',
);

test('the name of a node with a long name is cut to what a service may be called, between two characters', () => {
  const resolved = resolve([], { ...ENVIRONMENT, hostname: 'ü'.repeat(40) });
  assert.ok(resolved.ok);
  assert.equal(resolved.values.discovery.name, `tonearm on ${'ü'.repeat(26)}`);
});

accepted('mqtt: {url: "mqtt://broker"}', 'mqtt.url', 'mqtt://broker');
accepted('mqtt: {url: "mqtts://[::1]:8884/"}', 'mqtt.url', 'mqtts://[::1]:8884/');
const URL_FAULT = 'is not the address of a broker';
for (const [url, why] of [
  ['http://broker', 'it does not begin with mqtt:// or mqtts://'],
  ['broker', 'it does not begin with mqtt:// or mqtts://'],
  ['mqtt://', 'it names no host'],
  ['mqtt://broker/path', 'nothing may follow host and port'],
  ['mqtt://broker?x', 'nothing may follow host and port'],
  ['mqtt://broker:0', 'port 0 is none'],
] as const) {
  refused(`mqtt: {url: "${url}"}`, `1:13: mqtt.url: "${url}" ${URL_FAULT}: ${why}`);
}
const CREDENTIALS = 'name and password do not belong here, but into mqtt.username and mqtt.passwordFile';
for (const [text, why] of [
  ['mqtt://me:secret@broker', CREDENTIALS],
  ['mqtt://secret@broker', CREDENTIALS],
  ['mqtt://me:sec/r@et@broker', 'it names no host'],
] as const) {
  refused(`mqtt: {url: "${text}"}`, `1:13: mqtt.url: "mqtt://...@broker" ${URL_FAULT}: ${why}`);
}
refused(
  'api: {cors: {origins: ["https://u@a"]}}',
  `1:24: api.cors.origins[0]: "https://...@a" is not an origin: ${ORIGIN}`,
);
const SECRET_FILE = 'mqtt.passwordFile: must be an absolute path: it must begin with / or ~/';
refused('mqtt: {passwordFile: secret}', `1:22: ${SECRET_FILE}`);
refused('mqtt: {passwordFile: 1234}', `1:22: ${SECRET_FILE}`);
accepted('mqtt: {passwordFile: /etc/secret}', 'mqtt.passwordFile', '/etc/secret');

accepted('mqtt: {topic: house/küche}', 'mqtt.topic', 'house/küche');
for (const [topic, why] of [
  ['a/+', 'it holds a wildcard, + or #'],
  ['a#', 'it holds a wildcard, + or #'],
  ['', 'one of its levels is empty'],
  ['/a', 'one of its levels is empty'],
  ['a/', 'one of its levels is empty'],
  ['$SYS/a', 'what begins with $ belongs to the broker'],
] as const) {
  refused(`mqtt: {topic: "${topic}"}`, `1:15: mqtt.topic: "${topic}" is not a topic: ${why}`);
}
refused('mqtt:\n  enabled: true', '2:12: mqtt.url: is required when mqtt.enabled is true');
refused('mqtt: {username: ""}', '1:18: mqtt.username: "" is not a user name: it is empty');
