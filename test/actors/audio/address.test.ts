// Where the sound server is looked for, row by row.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { candidatePaths, type Environment } from '../../../src/actors/audio/address.js';

const XDG = { XDG_RUNTIME_DIR: '/run/user/1000' };
const USUAL = '/run/user/1000/pulse/native';

describe('socket addresses', () => {
  const rows: readonly (readonly [string, Environment, readonly string[]])[] = [
    ['the runtime directory', XDG, [USUAL]],
    ['without a runtime directory: by user id', {}, ['/run/user/42/pulse/native']],
    ['an empty runtime directory counts as none', { XDG_RUNTIME_DIR: '' }, ['/run/user/42/pulse/native']],
    ['PULSE_RUNTIME_PATH comes first', { ...XDG, PULSE_RUNTIME_PATH: '/p' }, ['/p/native', USUAL]],
    ['the same path twice is one', { ...XDG, PULSE_RUNTIME_PATH: '/run/user/1000/pulse' }, [USUAL]],
    ['PULSE_SERVER with unix:', { ...XDG, PULSE_SERVER: 'unix:/a/b' }, ['/a/b']],
    ['PULSE_SERVER as a path', { ...XDG, PULSE_SERVER: '/a/b' }, ['/a/b']],
    ['PULSE_SERVER for this machine', { ...XDG, PULSE_SERVER: '{m1}unix:/a/b' }, ['/a/b']],
    ['PULSE_SERVER for another machine', { ...XDG, PULSE_SERVER: '{m2}unix:/a/b' }, [USUAL]],
    ['a list keeps its order', { PULSE_SERVER: '{m1}/a  unix:/b\ttcp:host:4713 /a' }, ['/a', '/b']],
    ['only tcp: the usual place', { ...XDG, PULSE_SERVER: 'tcp:host:4713' }, [USUAL]],
    ['a host name: the usual place', { ...XDG, PULSE_SERVER: 'host' }, [USUAL]],
    ['an empty value: the usual place', { ...XDG, PULSE_SERVER: '' }, [USUAL]],
    ['a relative path is none', { ...XDG, PULSE_SERVER: 'unix:a/b' }, [USUAL]],
  ];
  for (const [what, env, expected] of rows) {
    test(what, () => assert.deepEqual(candidatePaths(env, 42, 'm1'), expected));
  }

  test('without a machine id, addresses for any machine count', () => {
    assert.deepEqual(candidatePaths({ PULSE_SERVER: '{m2}unix:/a' }, 42), ['/a']);
  });
});
