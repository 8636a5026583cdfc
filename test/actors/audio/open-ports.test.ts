// Tests `openPorts`. It finds the ports by which other machines can play on the sound server. It uses the
// modules of the server, and the sockets of the server's process.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListeningSocket } from '../../../src/actors/audio/listening-sockets.js';
import { openPorts } from '../../../src/actors/audio/open-ports.js';
import type { SoundServerKind } from '../../../src/protocol/actor/schemas.js';

/** Reads a module that is written as `NAME ARGUMENT`. */
const parseModule = (text: string) => {
  const [name = '', ...argument] = text.split(' ');
  return { name, argument: argument.join(' ') };
};
/** Reads a socket that is written as `ADDRESS|PORT`. */
const parseSocket = (text: string): ListeningSocket => {
  const [address = '', port] = text.split('|');
  return { address, port: Number(port) };
};
/** Returns a text for each open port: `PORT COOKIE ADDRESS+ADDRESS`, then networks that need no cookie. */
const openPortTexts = (kind: SoundServerKind, modules: readonly string[], sockets?: readonly string[]) =>
  openPorts(kind, modules.map(parseModule), sockets?.map(parseSocket)).map(
    ({ port, cookie, addresses, allowed }) =>
      [port, cookie, addresses.join('+'), ...(allowed ?? [])].join(' '),
  );

const NATIVE = 'module-native-protocol-tcp';
const EVERYWHERE = ['0.0.0.0|4713', '::|4713'];
const OPEN_WITH_COOKIE = '4713 required 0.0.0.0+::';

/**
 * In each row the process listens at port 4713 of every address, at port 4700 of 10.0.0.9, and at port 4712
 * for module-cli-protocol-tcp.
 */
const PULSEAUDIO: readonly (readonly [what: string, modules: readonly string[], ...expected: string[]])[] = [
  [`is closed without ${NATIVE}`, ['module-native-protocol-unix', 'module-cli-protocol-tcp']],
  ['demands its cookie by default', [NATIVE], OPEN_WITH_COOKIE],
  ['demands its cookie with auth-cookie-enabled', [`${NATIVE} auth-cookie-enabled=1`], OPEN_WITH_COOKIE],
  ['lets nobody in if the cookie is off and there is no other rule', [`${NATIVE} auth-cookie-enabled=0`]],
  ['lets everybody in with auth-anonymous', [`${NATIVE} auth-anonymous=Yes`], '4713 unused 0.0.0.0+::'],
  [
    'lets the networks of auth-ip-acl in without a cookie',
    [`${NATIVE} auth-ip-acl="127.0.0.1;192.168.0.0/24"`],
    '4713 by_address 0.0.0.0+:: 127.0.0.1 192.168.0.0/24',
  ],
  ['reads quoted values', [`${NATIVE} auth-cookie='/a b' auth-anonymous='t'`], '4713 unused 0.0.0.0+::'],
  [
    'is open at each of its ports',
    [`${NATIVE} port=4700`, NATIVE],
    '4700 required 10.0.0.9',
    OPEN_WITH_COOKIE,
  ],
];
for (const [what, modules, ...expected] of PULSEAUDIO)
  test(`PulseAudio ${what}`, () => {
    const socketOfCliModule = '0.0.0.0|4712';
    const sockets = [...EVERYWHERE, '10.0.0.9|4700', socketOfCliModule];
    assert.deepEqual(openPortTexts('pulseaudio', modules, sockets), expected);
  });

test('a loopback address of a port does not count, because other machines cannot reach it', () => {
  // listening-sockets.ts writes 127.0.0.1 as `::ffff:7f00:1` if the socket is one of IPv6.
  const loopback = ['127.0.0.1|4713', '::1|4713', '127.0.0.2|4713', '::ffff:7f00:1|4713'];
  assert.deepEqual(openPortTexts('pulseaudio', [NATIVE], loopback), []);
  assert.deepEqual(openPortTexts('pipewire', [], loopback), []);
  assert.deepEqual(openPortTexts('pipewire', [], [...loopback, '10.0.0.9|4713']), ['4713 unused 10.0.0.9']);
});

test('the addresses come from the arguments of the modules if the sockets of the process are unknown', () => {
  const modulesAt = (address: string) => [`${NATIVE} listen=${address} port=4714`];
  assert.deepEqual(openPortTexts('pulseaudio', [NATIVE]), [OPEN_WITH_COOKIE]);
  assert.deepEqual(openPortTexts('pulseaudio', modulesAt('10.0.0.9')), ['4714 required 10.0.0.9']);
  assert.deepEqual(openPortTexts('pulseaudio', modulesAt('127.0.0.1')), []);
  assert.deepEqual(openPortTexts('pipewire', modulesAt('10.0.0.9')), ['4714 unused 10.0.0.9']);
  assert.deepEqual(openPortTexts('pipewire', modulesAt('[::]')), ['4714 unused ::']);
  assert.deepEqual(openPortTexts('pipewire', modulesAt('[::1]')), []);
  assert.deepEqual(openPortTexts('pipewire', []), []);
});

test('PipeWire is open without a cookie wherever its process listens, even if a module restricts the access', () => {
  assert.deepEqual(openPortTexts('pipewire', [], EVERYWHERE), ['4713 unused 0.0.0.0+::']);
  const restrictingModules = [`${NATIVE} auth-ip-acl=10.0.0.0/8`];
  assert.deepEqual(openPortTexts('pipewire', restrictingModules, EVERYWHERE), ['4713 unused 0.0.0.0+::']);
});

test('a port at which PipeWire speaks another protocol does not count', () => {
  // Without the argument `port`, module-simple-protocol-tcp listens at 4711.
  const modules = ['module-simple-protocol-tcp sink=x', 'module-simple-protocol-tcp port=5000'];
  assert.deepEqual(openPortTexts('pipewire', modules, ['0.0.0.0|4711', '0.0.0.0|5000']), []);
});
