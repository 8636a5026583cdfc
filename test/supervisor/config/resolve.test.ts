// Tests how one or more files become settings: merging, both spellings of a section, unknown keys, and rules
// between keys (docs/configuration.md, "What is refused"). The files are called a, b and c here, so `b:1:6`
// is column 6 in line 1 of the second file.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Settings } from '../../../src/protocol/actor/settings.js';
import {
  configurationOf,
  DEFAULT_SETTINGS,
  FULL_SETTINGS,
  FULL_YAML,
  problemsIn,
  resolveTexts,
} from './full.js';

function testProblems(name: string, texts: readonly string[], ...lines: string[]): void {
  test(name, async () => assert.deepEqual(await problemsIn(...texts), lines));
}

function testWarnings(name: string, texts: readonly string[], ...lines: string[]): void {
  test(name, async () => assert.deepEqual((await configurationOf(...texts)).warnings, lines));
}

/** The settings are the defaults, except for those in `changed`. There are no warnings. */
function testSettings(name: string, texts: readonly string[], changed: Partial<Settings> = {}): void {
  test(name, async () => {
    const configuration = await configurationOf(...texts);
    assert.deepEqual(configuration.warnings, []);
    assert.deepEqual(configuration.settings, { ...DEFAULT_SETTINGS, ...changed });
  });
}

/**
 * `api` has its defaults, except for the keys in `changed`. `audio` has its defaults, except that its
 * `apiPort` is the port of `api`.
 */
const defaultsWithApi = (changed: Partial<Settings['api']>) => {
  const { api, audio } = DEFAULT_SETTINGS;
  return { api: { ...api, ...changed }, audio: { ...audio, apiPort: changed.port ?? api.port } };
};

test('a configuration with all keys becomes settings', async () => {
  const configuration = await configurationOf(FULL_YAML);
  assert.deepEqual(configuration.settings, FULL_SETTINGS);
  // FULL_YAML has check.service in the list systemd.user, and as the value of upgrade.checkUnit.
  assert.deepEqual(configuration.warnings, [
    'a:28:14: systemd.user[2].name: check.service is upgrade.checkUnit, so it stays hidden from /services',
  ]);
});

testSettings('no file means the defaults', []);
testSettings('an empty file means the defaults', ['']);
testSettings('a file that has only comments means the defaults', ['# nothing\n---\n# still nothing\n']);
testSettings('an empty map means the defaults', ['{}']);
testSettings('an empty section means the same as a missing section', [
  'api:\nsystemd: ~\nupgrade: null\npower:\n  capabilities:',
]);
testSettings('a byte order mark and CRLF change nothing', ['\ufeffapi:\r\n  port: 8018\r\n']);

test('the environment decides the default paths', async () => {
  const rows = [
    [{}, '/home/pi', '/run/user/7', '/home/pi/.local/state'],
    [{ XDG_RUNTIME_DIR: '/r', XDG_STATE_HOME: '/s/' }, '/h', '/r', '/s'],
    // An empty variable and a relative path are ignored.
    [{ XDG_RUNTIME_DIR: '', XDG_STATE_HOME: 'rel' }, '/h/', '/run/user/7', '/h/.local/state'],
    // Without a home nothing can survive a reboot, so the state is in the runtime directory.
    [{}, '', '/run/user/7', '/run/user/7'],
  ] as const;
  for (const [env, home, runtimeFolder, stateFolder] of rows) {
    const resolved = await resolveTexts([], { env, home, hostname: 'node', uid: 7 });
    assert.ok(resolved.ok);
    assert.equal(resolved.value.settings.upgrade.progressSocket, `${runtimeFolder}/tonearm/upgrade.sock`);
    assert.equal(resolved.value.settings.upgrade.stateFile, `${stateFolder}/tonearm/upgrade-run.json`);
  }
});

test('~/ needs a home directory', async () => {
  const environment = { env: {}, home: '', hostname: 'node', uid: 7 };
  const resolved = await resolveTexts(['upgrade: {stateFile: ~/x}'], environment);
  assert.deepEqual(resolved.ok ? [] : resolved.error.problems, [
    'a:1:22: upgrade.stateFile: "~/x" is not an absolute path: there is no home directory to replace ~ with',
  ]);
});

// Merging.

testSettings(
  'maps of two files are merged, and a list of the later file replaces that of the earlier one',
  ['api: {port: 1, hosts: [a, b]}', 'api: {hosts: [c]}\nbind: all'],
  { bind: ['all'], ...defaultsWithApi({ port: 1, hosts: ['c'] }) },
);
testSettings(
  'maps whose keys are names of outputs are merged, too',
  [
    'pulseaudio: {outputs: {a: {label: A}, b: {label: B}}, volumeLimit: {a: 0.5, b: 0.6}}',
    'pulseaudio: {outputs: {a: {hidden: true}, c: {label: C}}, volumeLimit: {b: 1}}',
    // The empty values of `c` and `volumeLimit` take nothing away.
    'pulseaudio: {outputs: {b: {label: Other}, c: }, volumeLimit: }',
  ],
  {
    audio: {
      ...DEFAULT_SETTINGS.audio,
      volumeLimit: { a: 0.5, b: 1 },
      outputs: { a: { label: 'A', hidden: true }, b: { label: 'Other' }, c: { label: 'C' } },
    },
  },
);
testSettings(
  'one volume limit for all outputs replaces the limits of single outputs',
  ['pulseaudio: {volumeLimit: {a: 0}}', 'pulseaudio: {volumeLimit: 0.7}'],
  { audio: { ...DEFAULT_SETTINGS.audio, volumeLimit: 0.7 } },
);
testProblems(
  'a problem in a merged map names the file that the value came from',
  ['pulseaudio: {outputs: {a: {label: 1}}}', 'pulseaudio: {outputs: {b: {hidden: 2}}}'],
  'a:1:35: pulseaudio.outputs.a.label: must be a label, not 1',
  'b:1:36: pulseaudio.outputs.b.hidden: must be true or false, not 2',
);
testSettings(
  'the last of several files with one key wins',
  ['api: {port: 1}', 'api: {port: 2}', 'api: {port: 3}'],
  defaultsWithApi({ port: 3 }),
);
testSettings(
  'a list replaces a word, and a word replaces a list',
  ['bind: all\nlogLevel: warn', 'bind: [lo]', 'bind: eth0'],
  { bind: ['eth0'], logLevel: 'warn' },
);
testSettings(
  'a section or list without a value takes nothing away',
  ['api: {port: 1, hosts: [a]}', 'api:', 'api: {hosts: }'],
  defaultsWithApi({ port: 1, hosts: ['a'] }),
);
testSettings('the list [] replaces a list', ['api: {hosts: [a]}', 'api: {hosts: []}']);
testSettings('a bad value is no problem if it is replaced', ['api: {port: 0}', 'api: {port: 8018}']);
testProblems(
  'a problem names the file that the value came from',
  ['api: {port: 0}\nlogLevel: x', 'bind: []\n', 'api:\n  sse: {maxClients: 0}\n\nbind: ""'],
  'a:1:13: api.port: must be a whole number from 1 to 65535, not 0',
  'a:2:11: logLevel: must be one of fatal, error, warn, info, debug, trace, not the text "x"',
  'c:2:21: api.sse.maxClients: must be a whole number from 1 to 10000, not 0',
  'c:4:7: bind: "" is not an interface name, an IP address or "all": an interface name has 1 to 15 bytes',
);
testProblems(
  'a number that replaces a section is refused',
  ['api: {port: 1}', 'api: 5'],
  'b:1:6: api: must be a map of keys, not 5',
);

// Both spellings of a section.

testSettings(
  'service_manager is another name of systemd, and sound_server is another name of pulseaudio',
  ['service_manager: {user: [a.service]}\nsound_server: {enabled: false}'],
  {
    systemd: { ...DEFAULT_SETTINGS.systemd, user: [{ name: 'a.service' }] },
    audio: { ...DEFAULT_SETTINGS.audio, enabled: false },
  },
);
testProblems(
  'both spellings of a section in one file are refused',
  ['systemd: {}\nsound_server: {}\nservice_manager: {}\npulseaudio:'],
  'a:3:1: service_manager: is another spelling of systemd, which is given at a:1; use one of them',
  'a:4:1: pulseaudio: is another spelling of sound_server, which is given at a:2; use one of them',
);
testProblems(
  'both spellings of a section are refused even if they are in two files and have the same key',
  ['service_manager: {user: []}', '\nsystemd: {user: []}'],
  'b:2:1: systemd: is another spelling of service_manager, which is given at a:1; use one of them',
);
testProblems(
  'a problem spells the section as the file does',
  ['sound_server: {serve_cookie: 1}\nservice_manager:\n  user: [a]'],
  'a:1:30: sound_server.serve_cookie: must be true or false, not 1',
  'a:3:10: service_manager.user[0]: "a" is not a unit name: it has no suffix such as .service',
);

// Unknown keys.

const NEAREST: readonly (readonly [yaml: string, place: string, nearest: string])[] = [
  ['logLevle: x', '1:1: logLevle', 'logLevel'],
  ['loglevel: x', '1:1: loglevel', 'logLevel'],
  ['port: 1', '1:1: port', 'api.port'],
  ['sytemd: {}', '1:1: sytemd', 'systemd'],
  ['sound_sever: {}', '1:1: sound_sever', 'sound_server'],
  ['api: {prot: 1}', '1:7: api.prot', 'api.port'],
  ['api: {orgins: []}', '1:7: api.orgins', 'api.cors.origins'],
  ['api:\n  sse:\n    max_clients: 1', '3:5: api.sse.max_clients', 'api.sse.maxClients'],
  ['systemd: {units: []}', '1:11: systemd.units', 'systemd.user'],
  ['service_manager: {sytem: []}', '1:19: service_manager.sytem', 'systemd.system'],
  ['pulseaudio: {serveCookie: true}', '1:14: pulseaudio.serveCookie', 'pulseaudio.serve_cookie'],
  ['power: {reboot: true}', '1:9: power.reboot', 'power.capabilities.reboot'],
  ['upgrade: {result_file: /x}', '1:11: upgrade.result_file', 'upgrade.resultFile'],
  ['upgrade: {checkunit: a.service}', '1:11: upgrade.checkunit', 'upgrade.checkUnit'],
  ['systemd: {user: [{name: a.service, ulr: x}]}', '1:36: systemd.user[0].ulr', 'url'],
  // These names resemble no known key. The warning still names the key that differs by the fewest edits.
  ['<<: {bind: all}', '1:1: "<<"', 'api'],
  ['__proto__: {bind: all}', '1:1: __proto__', 'zeroconf'],
  ['"a\\nb": 1', '1:1: "a\\nb"', 'api'],
];
for (const [yaml, place, nearest] of NEAREST) {
  const line = `a:${place}: unknown key; the nearest known key is ${nearest}`;
  testWarnings(`the warning about ${JSON.stringify(yaml)} names ${nearest}`, [yaml], line);
}
testWarnings(
  'warnings come in the order of the files',
  ['x1: 1\nx2: 1', 'x0: 1'],
  'a:1:1: x1: unknown key; the nearest known key is api',
  'a:2:1: x2: unknown key; the nearest known key is api',
  'b:1:1: x0: unknown key; the nearest known key is api',
);

// Rules between keys.

testProblems(
  'an enabled upgrade backend needs its result file',
  ['upgrade:\n  enabled: false', 'upgrade:\n  enabled: true\n  checkUnit: a.service'],
  'b:2:12: upgrade.resultFile: is required when upgrade.enabled is true',
);
testProblems(
  'a wrong result file is reported once',
  ['upgrade: {enabled: true, resultFile: x}'],
  'a:1:38: upgrade.resultFile: "x" is not an absolute path: it must begin with / or ~/',
);
testProblems(
  'a required key whose name has a typing error counts as missing',
  ['upgrade: {enabled: true, resultfile: /x}'],
  'a:1:20: upgrade.resultFile: is required when upgrade.enabled is true',
);
testProblems(
  'the same path for several files of the upgrade backend is refused',
  ['upgrade:\n  resultFile: /a\n  progressSocket: /a\n  stateFile: /a'],
  'a:3:19: upgrade.progressSocket: upgrade.progressSocket and upgrade.resultFile are the same file',
  'a:4:14: upgrade.stateFile: upgrade.stateFile and upgrade.progressSocket are the same file',
);
testProblems(
  'three spellings of one path are the same file',
  ['upgrade:\n  resultFile: ~/x//a\n  progressSocket: ~/x/./a\n  stateFile: /home/pi/y/../x/a'],
  'a:3:19: upgrade.progressSocket: upgrade.progressSocket and upgrade.resultFile are the same file',
  'a:4:14: upgrade.stateFile: upgrade.stateFile and upgrade.progressSocket are the same file',
);
testProblems(
  'a result file that is the default state file is refused',
  ['upgrade: {resultFile: ~/.local/state/tonearm/upgrade-run.json}'],
  'a:1:23: upgrade.resultFile: upgrade.stateFile and upgrade.resultFile are the same file',
);
testWarnings(
  'a unit of the upgrade backend stays hidden, even if systemd.system or systemd.user lists it',
  [
    'systemd:\n  system: [u.service]\n  user: [c.service, {name: u.service}]',
    'upgrade: {checkUnit: c.service, upgradeUnit: u.service}',
  ],
  'a:2:12: systemd.system[0]: u.service is upgrade.upgradeUnit, so it stays hidden from /services',
  'a:3:10: systemd.user[0]: c.service is upgrade.checkUnit, so it stays hidden from /services',
  'a:3:28: systemd.user[1].name: u.service is upgrade.upgradeUnit, so it stays hidden from /services',
);
testWarnings(
  'one unit for both the check and the upgrade causes a warning',
  ['upgrade: {checkUnit: c.service, upgradeUnit: c.service}'],
  'a:1:46: upgrade.upgradeUnit: is also upgrade.checkUnit, so every check would start an upgrade',
);
test('if one unit is both upgrade.checkUnit and upgrade.upgradeUnit, systemd.internal lists it once, even while the upgrade backend is off', async () => {
  const configuration = await configurationOf('upgrade: {checkUnit: c.service, upgradeUnit: c.service}');
  assert.deepEqual(configuration.settings.systemd.internal, ['c.service']);
});

// Everything is reported at once.

/** Each `replace` changes only the first occurrence. The first `true` is that of `serve_cookie`. */
const WITH_PROBLEMS = FULL_YAML.replace('9000', 'x')
  .replace('eth0', 'a/b')
  .replace('mpd.service', 'mpd')
  .replace('true', '"t"');
testProblems(
  'all problems are reported, in the order of the text',
  [WITH_PROBLEMS],
  'a:2:8: bind[0]: "a/b" is not an interface name, an IP address or "all": an interface name has only letters, digits and . _ -, and does not begin with . or -',
  'a:5:9: api.port: must be a whole number from 1 to 65535, not the text "x"',
  'a:25:7: systemd.user[0]: "mpd" is not a unit name: it has no suffix such as .service',
  'a:31:17: pulseaudio.serve_cookie: must be true or false, not the text "t"',
);
testProblems(
  'all problems of one line are reported, from left to right',
  ['api: {hosts: [5], port: 0}'],
  'a:1:15: api.hosts[0]: must be a host name, not 5',
  'a:1:25: api.port: must be a whole number from 1 to 65535, not 0',
);
