// Tests the names of streams, and that no two streams have the same name.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Props, preferredName } from '../../../src/actors/audio/names.js';
import { UniqueNames } from '../../../src/actors/unique-names.js';

describe('the name of a client', () => {
  const app = { 'application.name': 'Radio', 'application.process.binary': 'radiod' };
  const machine = { 'application.process.host': 'laptop', 'application.process.user': 'ann' };
  const tunnel = {
    ...machine,
    'application.id': 'org.PulseAudio.PulseAudio',
    'media.name': 'DAC for pi@node',
  };
  const rows: readonly (readonly [string, string | undefined, Props, string])[] = [
    ['is its media.name', 'News', { ...app, 'media.name': 'News' }, 'News'],
    ['is the name of the record where the property is missing', 'News', app, 'News'],
    ['is its application when PulseAudio has no name for it', '(null)', app, 'Radio'],
    ['is its application when PipeWire has no name for it', '', app, 'Radio'],
    ['is its application when it has no name at all', undefined, app, 'Radio'],
    ['is (null) when that really is its media.name', '(null)', { 'media.name': '(null)' }, '(null)'],
    ['is its binary where it has no other name', '', { 'application.process.binary': 'radiod' }, 'radiod'],
    ['is "stream" when nothing is known', '', {}, 'stream'],
    ['is machine and user of the sound server that sends it', 'DAC for pi@node', tunnel, 'laptop (ann)'],
    ['is so with PipeWire', '', { ...tunnel, 'application.id': 'org.pipewire.PipeWire' }, 'laptop (ann)'],
    ['is the machine where the user is unknown', '', { ...tunnel, 'application.process.user': '' }, 'laptop'],
    [
      'is its own where the machine is unknown',
      '',
      { ...tunnel, 'application.process.host': '' },
      'DAC for pi@node',
    ],
    ['is its own for a program on another machine', 'News', { ...machine, 'media.name': 'News' }, 'News'],
  ];
  for (const [what, name, props, expected] of rows) {
    test(what, () => assert.equal(preferredName(name, props), expected));
  }
});

describe('names of live clients', () => {
  /** `ID wants -> is`, `ID ends`, or `ID leaves for NAME`: its client wants another name. */
  const rows: readonly (readonly [what: string, ...steps: string[]])[] = [
    ['that are taken get a number', '1 A -> A', '2 A -> A #2', '3 A -> A #3'],
    ['with a number are kept for life', '1 A -> A', '2 A -> A #2', '2 B -> A #2'],
    ['follow the song', '1 A -> A', '1 B -> B', '2 A -> A'],
    ['get a number when the next song is taken', '1 A -> A', '2 B -> B', '2 A -> A #2', '2 C -> A #2'],
    ['stay unique when one looks numbered by itself', '1 A -> A', '2 A #3 -> A #3', '3 A -> A #3 #3'],
    ['stay with an owner that wants no other', '1 A -> A', '1 leaves for A', '2 A -> A #2'],
    ['with a number are not left', '1 A -> A', '2 A -> A #2', '2 leaves for B', '2 B -> A #2'],
  ];
  for (const [what, ...steps] of rows) {
    test(what, () => {
      const names = new UniqueNames();
      for (const step of steps) {
        const [, number, preferred, name, left] =
          /^(\d+) (?:(.+) -> (.+)|leaves for (.+)|ends)$/.exec(step) ?? [];
        const id = Number(number);
        if (left !== undefined) names.vacate(id, left);
        else if (preferred === undefined || name === undefined) names.release(id);
        else {
          assert.equal(names.assign(id, preferred), name);
          assert.equal(names.idOf(name), id);
        }
      }
    });
  }
});
