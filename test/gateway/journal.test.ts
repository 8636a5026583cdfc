// The journal takes changes, and gives the entries after a sequence number in their order. Old removals and
// actions are forgotten.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Journal, type JournalEntry } from '../../src/gateway/journal.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { drop, put } from './scripted-backends.js';

const client = (key: string, value: unknown): Change => put('audio.clients', key, value);
const removal = (key: string): Change => drop('audio.clients', key);
const progress = (percent: number): Change => put('upgrade.progress', '', percent);
const CLIENT = client('0', 'x');
const MPV = put('players', 'mpv', 1);
const POSITION = put('players.position', 'mpv', 1);

/** The time of all changes. No test depends on it. */
const CHANGED_AT = 0;

const SIGNS = { record: '+', removal: '-', action: '!' };

/** Sequence number, sign, key, `=` and text: `2-7="a"`. An action has an empty key: `3!=1`. */
const textOf = ({ sequence, kind, key, json }: JournalEntry): string =>
  `${sequence}${SIGNS[kind]}${key}=${json}`;

class JournalUnderTest {
  readonly journal = new Journal();

  apply(...changes: Change[]): string {
    return this.journal.apply(changes, CHANGED_AT).map(textOf).join(' ');
  }

  entries(sequence = 0): string {
    return [...this.journal.entriesAfter(sequence)].map(textOf).join(' ');
  }
}

type Row = readonly [name: string, batches: readonly (readonly Change[])[], entries: string];
/** Batches of changes, and all entries of the journal afterwards. */
const HISTORIES: readonly Row[] = [
  [
    'a change moves its record to the end',
    [[client('1', 'a'), client('2', 'b')], [client('1', 'c')]],
    '2+2="b" 3+1="c"',
  ],
  ['an equal text is no change', [[client('1', 'a')], [client('1', 'a')]], '1+1="a"'],
  ['a removal carries the last text', [[client('1', 'a')], [removal('1')]], '2-1="a"'],
  ['the removal of an unknown record is no change', [[removal('1')]], ''],
  [
    'a record that is removed and put back with the same text in one batch has no removal',
    [[CLIENT], [removal('0'), CLIENT]],
    '3+0="x"',
  ],
  [
    'another text under the same key may be another record, so each removal is kept',
    [[CLIENT], [removal('0')], [client('0', 'y')], [removal('0')], [client('0', 'z')]],
    '2-0="x" 4-0="y" 5+0="z"',
  ],
  [
    'a record that comes and goes twice with the same text has only its second removal',
    [[CLIENT, removal('0')], [progress(1)], [CLIENT, removal('0')]],
    '3!=1 5-0="x"',
  ],
  [
    'every action is kept, in order, also an action with the same text as another action',
    [[progress(1), progress(1), progress(2)]],
    '1!=1 2!=1 3!=2',
  ],
  // Readers get `player.added` for a player that is back, so they must get `player.removed` before it.
  [
    'a player that goes, and comes back in a later batch with the same text, keeps its removal',
    [[MPV], [drop('players', 'mpv')], [MPV]],
    '2-mpv=1 3+mpv=1',
  ],
  ['a position is published each time, also with the same text', [[POSITION], [POSITION]], '2+mpv=1'],
  [
    'the removal of the position of a player is not kept',
    [[POSITION], [drop('players.position', 'mpv')]],
    '',
  ],
  [
    'the removal of the tracklist of a player is not kept',
    [[put('players.tracklist', 'mpv', 1)], [drop('players.tracklist', 'mpv')]],
    '',
  ],
];
for (const [name, batches, expected] of HISTORIES) {
  test(name, () => {
    const underTest = new JournalUnderTest();
    for (const batch of batches) underTest.apply(...batch);
    assert.equal(underTest.entries(), expected);
  });
}

test('the entries of one batch have the newest text of each record, in order', () => {
  const underTest = new JournalUnderTest();
  const entries = underTest.apply(client('1', 'a'), client('2', 'b'), progress(1), client('1', 'c'));
  assert.equal(entries, '2+2="b" 3!=1 4+1="c"');
});

test('a record keeps the sequence number of its first entry, however it changes', () => {
  const { journal } = new JournalUnderTest();
  journal.apply([client('1', 'a'), client('2', 'b')], CHANGED_AT);
  journal.apply([client('1', 'c')], CHANGED_AT);
  const firstSequences = [...journal.records('audio.clients')].map(
    ({ key, firstSequence }) => `${key} ${firstSequence}`,
  );
  assert.deepEqual(firstSequences, ['1 1', '2 2']);
});

test('a reading of the journal includes the changes that are applied meanwhile', () => {
  const { journal } = new JournalUnderTest();
  journal.apply([client('1', 'a'), client('2', 'b')], CHANGED_AT);
  const read = journal.entriesAfter(0)[Symbol.iterator]();
  assert.equal(read.next().value?.key, '1');
  journal.apply([client('1', 'c'), client('3', 'd')], CHANGED_AT);
  const reads = [read.next(), read.next(), read.next(), read.next()];
  const keys = reads.map(({ value, done }) => (done ? 'end' : value?.key));
  assert.deepEqual(keys, ['2', '1', '3', 'end']);
});

test('a backend that goes down loses the records whose removal makes an event, and keeps its other records', () => {
  const { journal } = new JournalUnderTest();
  // The removal of an output or a client makes an event. The removal of a server or a unit makes none.
  const unit = put('systemd.services', 'a', 1);
  const server = put('audio.server', '', 's');
  journal.apply([client('1', 'a'), put('audio.outputs', '3', 'x'), server, unit], CHANGED_AT);
  assert.deepEqual(journal.dropsWhenAway('audio'), [drop('audio.outputs', '3'), removal('1')]);
  assert.deepEqual(journal.dropsWhenAway('systemd'), []);
});

/**
 * How many of the latest changes of each kind the journal keeps. The bounds are `KEPT_ENTRIES_MAX` (1024)
 * and `KEPT_MAX_BYTES` (2 MiB) in src/gateway/journal.ts. 2 MiB have room for 209 texts of 10 kB.
 */
const KEPT: readonly (readonly [
  name: string,
  changesOf: (index: number) => readonly Change[],
  kept: number,
])[] = [
  ['actions', (index) => [progress(index)], 1024],
  ['removals', (index) => [client(`${index}`, index), removal(`${index}`)], 1024],
  ['actions of 10 kB', (index) => [put('upgrade.progress', '', `${index} ${'x'.repeat(10_000)}`)], 209],
  ['removals of 10 kB', (index) => [client(`${index}`, 'x'.repeat(10_000)), removal(`${index}`)], 209],
  ['removals of 3 MB', (index) => [client(`${index}`, 'x'.repeat(3_000_000)), removal(`${index}`)], 0],
];
for (const [name, changesOf, kept] of KEPT) {
  test(`the latest ${kept} ${name} are kept, and a cursor before the forgotten ones cannot continue`, () => {
    const { journal } = new JournalUnderTest();
    // Some changes must be forgotten. Where nothing is kept, a few rounds suffice.
    const rounds = kept === 0 ? 3 : kept + 10;
    for (let index = 0; index < rounds; index += 1) journal.apply(changesOf(index), CHANGED_AT);

    const entries = [...journal.entriesAfter(0)];
    assert.equal(entries.length, kept);
    // In a round of a removal, the record and the removal have a number each, but only the removal is kept.
    const sequencesPerRound = changesOf(0).length;
    const lastForgotten = journal.newestSequence - kept * sequencesPerRound;
    const isRelevant = () => true;
    assert.ok(journal.isCompleteAfter(lastForgotten, isRelevant));
    assert.ok(!journal.isCompleteAfter(lastForgotten - 1, isRelevant));
    // Nothing of systemd was forgotten.
    assert.ok(journal.isCompleteAfter(0, (collection) => collection === 'systemd.services'));
  });
}

test('the journal does not keep a removal that makes no event, and a reader that missed it cannot continue', () => {
  const underTest = new JournalUnderTest();
  underTest.apply(put('systemd.services', 'a', 1), put('systemd.services', 'b', 2));
  assert.equal(underTest.apply(drop('systemd.services', 'a')), '3-a=1');
  assert.equal(underTest.entries(), '2+b=2');
  const isService = (collection: string) => collection === 'systemd.services';
  const { journal } = underTest;
  assert.deepEqual(
    [journal.isCompleteAfter(2, isService), journal.isCompleteAfter(3, isService)],
    [false, true],
  );
  assert.ok(journal.isCompleteAfter(0, (collection) => !isService(collection)));
});

test('removals do not push actions out of the journal', () => {
  const { journal } = new JournalUnderTest();
  journal.apply([progress(1)], CHANGED_AT);
  for (let n = 0; n < 3000; n += 1) journal.apply([client('1', n), removal('1')], CHANGED_AT);
  assert.ok(journal.isCompleteAfter(0, (collection) => collection === 'upgrade.progress'));
  assert.equal([...journal.entriesAfter(0)][0]?.kind, 'action');
});

test('a record is kept however often another one changes', () => {
  const underTest = new JournalUnderTest();
  underTest.apply(client('1', 'a'));
  for (let n = 0; n < 5000; n += 1) underTest.apply(put('audio.outputs', '2', n));
  assert.equal(underTest.entries(), '1+1="a" 5001+2=4999');
});
