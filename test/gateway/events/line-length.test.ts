// No line of a stream is too long for clients on aiohttp before 3.14 (docs/events.md, "Long lines").
// Lists of records, tracklists and single records are tried, as events and in a snapshot.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTION_NAMES, COLLECTION_SPECS } from '../../../src/protocol/actor/collections.js';
import type { TracklistRecord } from '../../../src/protocol/actor/schemas.js';
import { NodeUnderTest } from './node-under-test.js';

/** The bound of a line, as in src/gateway/events/line-length.ts. */
const LINE_MAX_BYTES = 120 * 1024;
const VLC = 'org.mpris.MediaPlayer2.vlc';

/** The length of the line that has the event's data. */
const lineBytes = ({ data }: { readonly data: string }): number => Buffer.byteLength(`data: ${data}`);

test('a long list is sent as several events, each short enough for a line, and together they have all records', () => {
  // JSON in UTF-8 has one, two, four and six bytes for these characters.
  for (const character of ['x', 'é', '\u{1f3b5}', '\u0001']) {
    const node = new NodeUnderTest();
    const live = node.consumer('snapshot=1');
    // The 60 texts have 65 550 characters together. If all are `x`, a list of all outputs takes more than
    // half of a line. With the other characters it does not fit into one line.
    const outputs = Array.from({ length: 60 }, (_, id) => ({
      id,
      props: { text: character.repeat(1 + id * 37) },
    }));
    node.publish([node.world.putOutputs(...outputs)]);
    node.publish([node.world.putOutputs(...outputs.map(({ id, props }) => ({ id, props, volume: 1 })))]);
    node.publish([node.world.drop('audio.outputs', ...outputs.slice(3).map(({ id }) => `${id}`))]);
    node.publish([node.world.putOutputs(...outputs)]);
    const late = node.consumer('snapshot=1');
    for (const consumer of [live, late]) {
      consumer.readAll();
      assert.ok(consumer.events.every((event) => lineBytes(event) <= LINE_MAX_BYTES));
      assert.deepEqual(consumer.model.state(), node.world.expectedState());
    }
    const updates = live.events.filter(({ type }) => type === 'audio.output.updated');
    assert.ok(
      updates.some((event) => lineBytes(event) > LINE_MAX_BYTES / 2),
      'an event uses more than half of the line',
    );
  }
});

/** A tracklist. The data of its event has exactly this number of bytes. */
function tracklist(bytes: number): TracklistRecord {
  const track = (id: string, title: string) => ({ track_id: id, metadata: { 'xesam:title': title } });
  const list = (title: string): TracklistRecord => ({
    can_edit_tracks: true,
    tracks: [track('/1', title), track('/2', 'é')],
  });
  const titleLength = bytes - Buffer.byteLength(JSON.stringify({ bus_name: VLC, ...list('') }));
  return list('x'.repeat(titleLength));
}

/** Publishes a tracklist. Returns it twice: as an open stream receives it, and as a snapshot has it. */
function receivedTracklists(
  list: TracklistRecord,
): readonly (TracklistRecord & { readonly truncated?: boolean })[] {
  const node = new NodeUnderTest();
  const live = node.consumer();
  const player = { bus_name: VLC, tracklist_supported: true };
  node.publish([node.world.put('players', [VLC, player]), node.world.put('players.tracklist', [VLC, list])]);
  const late = node.consumer('snapshot=1');
  return [live, late].map((consumer) => {
    consumer.readAll();
    assert.ok(consumer.events.every((event) => lineBytes(event) <= LINE_MAX_BYTES));
    const event = consumer.events.find(({ type }) => type === 'player.tracklist.updated');
    const { bus_name, ...tracks } = JSON.parse(event?.data ?? '');
    assert.equal(bus_name, VLC);
    return tracks;
  });
}

test('a tracklist that fits is whole, and a longer one has its first tracks and is marked as truncated', () => {
  // Every line keeps room for brackets around its data, although the data of a tracklist has none
  // (line-length.ts).
  const bytesMax = LINE_MAX_BYTES - 'data: []'.length;
  for (const received of receivedTracklists(tracklist(bytesMax)))
    assert.deepEqual(received, tracklist(bytesMax));
  const longer = tracklist(bytesMax + 1);
  for (const received of receivedTracklists(longer))
    assert.deepEqual(received, { can_edit_tracks: true, truncated: true, tracks: longer.tracks.slice(0, 1) });
  // Each track has about 444 bytes, so a line has room for about 276 of them.
  const tracks = Array.from({ length: 500 }, (_, index) => ({
    track_id: `/${index}`,
    metadata: { title: 'é'.repeat(200) },
  }));
  for (const { truncated, tracks: kept } of receivedTracklists({ can_edit_tracks: false, tracks })) {
    assert.equal(truncated, true);
    assert.ok(kept.length > 200 && kept.length < 500, `${kept.length}`);
    assert.deepEqual(kept, tracks.slice(0, kept.length));
  }
});

test('a tracklist whose first track is too long for a line is sent without tracks', () => {
  const list = {
    can_edit_tracks: true,
    tracks: [{ track_id: '/1', metadata: { title: 'x'.repeat(130_000) } }],
  };
  for (const received of receivedTracklists(list))
    assert.deepEqual(received, { can_edit_tracks: true, truncated: true, tracks: [] });
});

test('a text that is too long for a line is cut between characters, not within an emoji', () => {
  const node = new NodeUnderTest();
  const live = node.consumer();
  // All limits for the length of a text are even. This text is within an emoji after each even number of
  // UTF-16 units.
  const detail = `x${'\u{1f3b5}'.repeat(LINE_MAX_BYTES / 4)}`;
  node.publish([node.world.put('backends', ['mqtt', { backend: 'mqtt', state: 'up', detail }])]);
  live.readAll();
  const event = live.events.find(({ type }) => type === 'backend.updated');
  const received: { readonly detail: string } = JSON.parse(event?.data ?? '');
  assert.ok(received.detail.length < detail.length);
  assert.match(received.detail, /^x\u{1f3b5}+$/u);
});

const COLLECTIONS_OF_EVENTS = COLLECTION_NAMES.filter((name) => COLLECTION_SPECS[name].updated !== undefined);

/**
 * Members of every shape that a record may have. `detail`, `extra`, `known_devices` and `metadata` are each
 * too long for a line.
 */
const LONG_MEMBERS = {
  bus_name: VLC,
  backend: 'mqtt',
  state: 'running',
  detail: '\u0001'.repeat(LINE_MAX_BYTES),
  extra: { packages: 'x'.repeat(LINE_MAX_BYTES) },
  known_devices: Array.from({ length: 5000 }, (_, index) => ({ address: `${index}`, name: 'é'.repeat(248) })),
  metadata: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`key${index}`, 'x'.repeat(100)])),
  tracks: [],
};

for (const collection of COLLECTIONS_OF_EVENTS) {
  test(`an event of ${collection} is not too long for a line, even if its record has long members`, () => {
    const node = new NodeUnderTest();
    const live = node.consumer();
    // Consumers accept an event about a part of a player only after the player itself.
    if (collection.startsWith('players.'))
      node.publish([node.world.put('players', [VLC, { bus_name: VLC, tracklist_supported: true }])]);
    const key = collection === 'backends' ? 'mqtt' : VLC;
    node.publish([node.world.put(collection, [key, LONG_MEMBERS])]);
    const late = node.consumer('snapshot=1');
    for (const consumer of [live, late]) {
      consumer.readAll();
      for (const event of consumer.events) assert.ok(lineBytes(event) <= LINE_MAX_BYTES, event.type);
    }
    const types: readonly (string | undefined)[] = [
      COLLECTION_SPECS[collection].added,
      COLLECTION_SPECS[collection].updated,
    ];
    const event = live.events.find(({ type }) => types.includes(type));
    assert.ok(event !== undefined, 'the record has an event');
    // Each event has `backend` or `state`. Their values are short, so no event needs to lose them.
    assert.ok(event.data.includes('"mqtt"') || event.data.includes('"running"'), 'short members stay');
  });
}

test('the event of a long upgrade status has all members except `extra`', () => {
  const node = new NodeUnderTest();
  const live = node.consumer();
  const status = { current: '1.4.0', latest: '1.5.0', upgrade_available: true };
  const extra = { packages: ['x'.repeat(LINE_MAX_BYTES)] };
  node.publish([node.world.put('upgrade.info', ['status', { ...status, extra }])]);
  live.readAll();
  assert.deepEqual(JSON.parse(live.events.at(-1)?.data ?? ''), status);
  // This status is too long even without `extra`, so `current` is cut. That must not bring `extra` back.
  const long = { ...status, current: 'x'.repeat(LINE_MAX_BYTES) };
  node.publish([node.world.put('upgrade.info', ['status', { ...long, extra }])]);
  live.readAll();
  const event: object = JSON.parse(live.events.at(-1)?.data ?? '');
  assert.deepEqual(
    Object.keys(event),
    Object.keys(status),
    '`extra` is left out also if another text is cut',
  );
});
