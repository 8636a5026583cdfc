// Tests the names of clients, and that no two clients have the same name. A client is a stream of sound.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Props, preferredName } from '../../../src/actors/audio/names.js';
import { UniqueNames } from '../../../src/actors/unique-names.js';

describe('the name of a client', () => {
  const app = { 'application.name': 'Radio', 'application.process.binary': 'radiod' };
  const machine = { 'application.process.host': 'laptop', 'application.process.user': 'ann' };
  /** A tunnel is a stream that one sound server plays to another. */
  const tunnel = {
    ...machine,
    'application.id': 'org.PulseAudio.PulseAudio',
    'media.name': 'DAC for pi@node',
  };
  const rows: readonly (readonly [
    what: string,
    recordName: string | undefined,
    props: Props,
    expected: string,
  ])[] = [
    ['is its media.name', 'News', { ...app, 'media.name': 'News' }, 'News'],
    ['is the name of its record where media.name is missing', 'News', app, 'News'],
    ['is its application when PulseAudio has no name for it', '(null)', app, 'Radio'],
    ['is its application when PipeWire has no name for it', '', app, 'Radio'],
    ['is its application when it has no name at all', undefined, app, 'Radio'],
    ['is (null) when that really is its media.name', '(null)', { 'media.name': '(null)' }, '(null)'],
    ['is its binary where it has no other name', '', { 'application.process.binary': 'radiod' }, 'radiod'],
    ['is "stream" when nothing is known', '', {}, 'stream'],
    ['is the machine and user of a tunnel from PulseAudio', 'DAC for pi@node', tunnel, 'laptop (ann)'],
    [
      'is the machine and user of a tunnel from PipeWire',
      '',
      { ...tunnel, 'application.id': 'org.pipewire.PipeWire' },
      'laptop (ann)',
    ],
    [
      'is the machine of a tunnel whose user is unknown',
      '',
      { ...tunnel, 'application.process.user': '' },
      'laptop',
    ],
    [
      'is its media.name where the machine of the tunnel is unknown',
      '',
      { ...tunnel, 'application.process.host': '' },
      'DAC for pi@node',
    ],
    [
      'is its media.name if its program runs on another machine, but the client is no tunnel',
      'News',
      { ...machine, 'media.name': 'News' },
      'News',
    ],
  ];
  for (const [what, recordName, props, expected] of rows) {
    test(what, () => assert.equal(preferredName(recordName, props), expected));
  }
});

describe('unique names', () => {
  /**
   * `ID DESIRED -> NAME`: `assign` returns NAME. A client keeps a name with a number. Otherwise NAME is
   * DESIRED. If DESIRED is taken, NAME is `DESIRED #ID`, or `DESIRED #ID #ID` if that is taken, too.
   * `ID vacates for DESIRED`: `vacate` frees the client's name for other clients, unless the name has a
   * number or is DESIRED.
   */
  const rows: readonly (readonly [what: string, ...steps: string[]])[] = [
    ['a client that prefers a taken name gets it with a number', '1 A -> A', '2 A -> A #2', '3 A -> A #3'],
    ['a client keeps a name with a number for life', '1 A -> A', '2 A -> A #2', '2 B -> A #2'],
    ['a name is free again when its client prefers another name', '1 A -> A', '1 B -> B', '2 A -> A'],
    [
      'a client that changes to a taken name gets it with a number, and keeps the number',
      '1 A -> A',
      '2 B -> B',
      '2 A -> A #2',
      '2 C -> A #2',
    ],
    [
      'names stay unique when a client prefers a name with a number',
      '1 A -> A',
      '2 A #3 -> A #3',
      '3 A -> A #3 #3',
    ],
    ['a name is not freed while its client prefers it', '1 A -> A', '1 vacates for A', '2 A -> A #2'],
    [
      'a name with a number is not freed, even if its client prefers another name',
      '1 A -> A',
      '2 A -> A #2',
      '2 vacates for B',
      '2 B -> A #2',
    ],
  ];
  for (const [what, ...steps] of rows) {
    test(what, () => {
      const names = new UniqueNames();
      for (const step of steps) {
        const [, idText, wish = '', name = '', nextWish] =
          /^(\d+) (?:(.+) -> (.+)|vacates for (.+))$/.exec(step) ?? assert.fail(`no such step: ${step}`);
        const id = Number(idText);
        if (nextWish !== undefined) names.vacate(id, nextWish);
        else {
          assert.equal(names.assign(id, wish), name);
          assert.equal(names.idOf(name), id);
        }
      }
    });
  }
});
