// What streams are called, and that no two are called the same.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClientNames,
  capped,
  NAME_MAX_UNITS,
  type Props,
  wantedName,
} from '../../../src/actors/audio/names.js';

describe('a client is called', () => {
  const app = { 'application.name': 'Radio', 'application.process.binary': 'radiod' };
  const rows: readonly (readonly [string, string | undefined, Props, string])[] = [
    ['by its media.name', 'News', { ...app, 'media.name': 'News' }, 'News'],
    ['by the name of the record where the property is missing', 'News', app, 'News'],
    ['by its application when PulseAudio says it has no name', '(null)', app, 'Radio'],
    ['by its application when PipeWire says it has no name', '', app, 'Radio'],
    ['by its application when there is no name at all', undefined, app, 'Radio'],
    ['(null) when that really is its media.name', '(null)', { 'media.name': '(null)' }, '(null)'],
    ['by its binary', '', { 'application.process.binary': 'radiod' }, 'radiod'],
    ['stream when nothing is known', '', {}, 'stream'],
  ];
  for (const [what, name, props, expected] of rows) {
    test(what, () => assert.equal(wantedName(name, props), expected));
  }

  test('by no more than a bound, cut between characters', () => {
    assert.equal(wantedName('x'.repeat(60_000), {}).length, NAME_MAX_UNITS);
    assert.equal(capped('ab🎵', 3), 'ab');
    assert.equal(capped('a🎵b', 3), 'a🎵');
    assert.equal(capped('abc', 3), 'abc');
  });
});

describe('names of live clients', () => {
  type Step =
    | readonly ['is', number, string, string]
    | readonly ['ends', number]
    | readonly ['wants', number, string];
  const rows: readonly (readonly [string, readonly Step[]])[] = [
    [
      'are the wanted ones',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'B', 'B'],
      ],
    ],
    [
      'that are taken get a number',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'A', 'A #2'],
        ['is', 3, 'A', 'A #3'],
      ],
    ],
    [
      'with a number are kept when the other ends',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'A', 'A #2'],
        ['ends', 1],
        ['is', 2, 'A', 'A #2'],
      ],
    ],
    [
      'with a number are kept for life',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'A', 'A #2'],
        ['is', 2, 'B', 'A #2'],
      ],
    ],
    [
      'are free again after the end',
      [
        ['is', 1, 'A', 'A'],
        ['ends', 1],
        ['is', 2, 'A', 'A'],
      ],
    ],
    [
      'follow the song',
      [
        ['is', 1, 'A', 'A'],
        ['is', 1, 'B', 'B'],
        ['is', 2, 'A', 'A'],
      ],
    ],
    [
      'get a number when the next song is taken',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'B', 'B'],
        ['is', 2, 'A', 'A #2'],
        ['is', 2, 'C', 'A #2'],
      ],
    ],
    [
      'do not change without a reason',
      [
        ['is', 1, 'A', 'A'],
        ['is', 1, 'A', 'A'],
      ],
    ],
    [
      'stay apart when one looks numbered by itself',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'A #3', 'A #3'],
        ['is', 3, 'A', 'A #3 #3'],
      ],
    ],
    [
      'are free for others when their owner wants another',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'B', 'B'],
        ['wants', 2, 'C'],
        ['is', 1, 'B', 'B'],
        ['is', 2, 'C', 'C'],
      ],
    ],
    [
      'stay with an owner that wants no other',
      [
        ['is', 1, 'A', 'A'],
        ['wants', 1, 'A'],
        ['is', 2, 'A', 'A #2'],
      ],
    ],
    [
      'with a number are kept, whatever is wanted',
      [
        ['is', 1, 'A', 'A'],
        ['is', 2, 'A', 'A #2'],
        ['wants', 2, 'B'],
        ['is', 2, 'B', 'A #2'],
      ],
    ],
    [
      'of an unknown one may end',
      [
        ['ends', 9],
        ['is', 1, 'A', 'A'],
      ],
    ],
  ];
  for (const [what, steps] of rows) {
    test(what, () => {
      const names = new ClientNames();
      for (const step of steps) {
        if (step[0] === 'ends') names.release(step[1]);
        else if (step[0] === 'wants') names.vacate(step[1], step[2]);
        else {
          const [, id, wanted, expected] = step;
          assert.equal(names.assign(id, wanted), expected);
          assert.equal(names.nameOf(id), expected);
          assert.equal(names.idOf(expected), id);
        }
      }
    });
  }

  test('lead nowhere after the end', () => {
    const names = new ClientNames();
    names.assign(1, 'A');
    names.release(1);
    assert.equal(names.idOf('A'), undefined);
    assert.equal(names.nameOf(1), undefined);
  });
});
