// A tracklist as clients see it (docs/players.md, "Tracklists"), on VLC: the route, the events and the
// effect of each command in the player.

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { PlayerRecord, TracklistRecord } from '../../src/protocol/actor/schemas.js';
import { startMpv } from '../players/mpv.js';
import { type PlayersNode, playersAnd, startPlayersNode } from '../players/node.js';
import { startSession, TRACKS } from '../players/session.js';
import { startVlc, trackIds, VLC } from '../players/vlc.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';

const NEEDS = playersAnd('vlc', 'busctl');
/** The longest line of the stream (docs/events.md, "Long lines"). */
const LINE_MAX_BYTES = 120 * 1024;
/** A line has room for more than this number of tracks with the paths of this test. */
const STREAMED_TRACKS_MIN = 100;

const [firstTitle, secondTitle] = TRACKS.map(({ title }) => title) as [string, string];

describe('the tracklist of VLC', { skip: skipReason(NEEDS) }, () => {
  let node: PlayersNode;

  before(async () => {
    const session = await startSession();
    await startVlc(session);
    await startMpv(session);
    node = await startPlayersNode(session);
    await node.player(VLC);
    await node.player('org.mpris.MediaPlayer2.mpv');
  });
  after(() => node?.stop());

  const readTracklist = (): Promise<TracklistRecord> => node.daemon.read('/players/vlc/tracklist');
  const titlesOf = ({ tracks }: TracklistRecord): string =>
    tracks.map(({ metadata }) => metadata['xesam:title']).join();
  const untilTracksAre = (expected: string): Promise<TracklistRecord> =>
    until(`the tracks are ${expected}`, async () => {
      const tracklist = await readTracklist();
      assert.equal(titlesOf(tracklist), expected);
      return tracklist;
    });
  const untilCurrentTrackIs = (title: string): Promise<PlayerRecord> =>
    node.player(VLC, `at ${title}`, ({ metadata }) => metadata?.['xesam:title'] === title);

  test('a tracklist is sent with its tracks, and a player without support for tracklists has none', async () => {
    const { can_edit_tracks, tracks } = await untilTracksAre(`${firstTitle},${secondTitle}`);
    assert.equal(can_edit_tracks, true);
    const ids = tracks.map(({ track_id }) => track_id);
    assert.deepEqual(ids, await trackIds(node.session));
    const vlc = await node.player(VLC);
    const mpv = await node.player('org.mpris.MediaPlayer2.mpv');
    assert.deepEqual([vlc.tracklist_supported, mpv.tracklist_supported], [true, false]);
    const paths = ['/players/mpv/tracklist', '/players/nobody/tracklist'];
    const answers = await Promise.all(paths.map((path) => node.daemon.get(path)));
    assert.equal(answers.map(({ status }) => status).join(), '404,404');
  });

  test('a track is chosen by its whole id, and by the last segment of its id', async () => {
    const { tracks } = await readTracklist();
    const [firstId = '', secondId = ''] = tracks.map(({ track_id }) => track_id);
    await node.change(VLC, `tracklist/goto/${encodeURIComponent(secondId)}`);
    await untilCurrentTrackIs(secondTitle);
    await node.change(VLC, `tracklist/goto/${firstId.split('/').at(-1)}`);
    await untilCurrentTrackIs(firstTitle);
  });

  test('tracks are added, also before the first track, and are removed', async () => {
    const uri = `file://${encodeURI(node.session.fileOf(secondTitle))}`;
    await node.change(VLC, 'tracklist/add', { uri });
    const { tracks } = await untilTracksAre(`${firstTitle},${secondTitle},${secondTitle}`);
    const firstId = tracks[0]?.track_id ?? '';
    // The test before this one has chosen the first track. A paused player does not go on to the
    // second track by itself, so only the next addition can begin it.
    await node.change(VLC, 'pause');
    await node.player(VLC, 'paused', ({ playback_status }) => playback_status === 'Paused');
    await untilCurrentTrackIs(firstTitle);
    await node.change(VLC, 'tracklist/add', { uri, after_track: firstId, set_as_current: true });
    await untilCurrentTrackIs(secondTitle);
    const longer = await untilTracksAre(`${firstTitle},${secondTitle},${secondTitle},${secondTitle}`);
    const ids = longer.tracks.map(({ track_id }) => track_id);
    assert.deepEqual(ids, await trackIds(node.session));
    // VLC shows an added track in its place only when another track begins.
    await node.change(VLC, 'tracklist/add', { uri, after_track: 'NoTrack', set_as_current: true });
    const longest = await untilTracksAre(
      `${secondTitle},${firstTitle},${secondTitle},${secondTitle},${secondTitle}`,
    );
    // The removal of the current track would stop the player.
    await node.change(VLC, `tracklist/goto/${encodeURIComponent(firstId)}`);
    await untilCurrentTrackIs(firstTitle);
    // The first title, and the second title behind it, remain.
    const remainingIndexes = [1, 2];
    for (const { track_id } of longest.tracks.filter((_, index) => !remainingIndexes.includes(index)))
      await node.change(VLC, `tracklist/remove/${encodeURIComponent(track_id)}`);
    await untilTracksAre(`${firstTitle},${secondTitle}`);
    assert.equal((await trackIds(node.session)).length, 2);
  });

  test('a tracklist is sent at each change and at no other time', async () => {
    const sent = () => node.stream.events.filter(({ type }) => type === 'player.tracklist.updated');
    await until('the stream has sent the list', async () => {
      assert.deepEqual(node.stream.model.known.tracklists.get(VLC), await readTracklist());
      return true;
    });
    const texts = sent().map(({ data }) => data);
    const areDifferent = texts.every((text, index) => text !== texts[index - 1]);
    assert.ok(areDifferent, texts.join());
    const countBefore = texts.length;
    // These commands change the player, but not its tracklist.
    await node.change(VLC, 'pause');
    await node.player(VLC, 'paused', ({ playback_status }) => playback_status === 'Paused');
    // This change comes on the stream after all events of the pause.
    await node.change(VLC, 'loop', { loop: 'Track' });
    await node.stream.until(
      ({ model }) => model.known.players.get(VLC)?.loop_status === 'Track',
      'the repetition of the track',
    );
    assert.equal(sent().length, countBefore);
    // A client that has the answer's tag is not sent the list again, either.
    const path = '/players/vlc/tracklist';
    const { headers } = await node.daemon.get(path);
    assert.equal((await node.daemon.get(path, { 'If-None-Match': String(headers['etag']) })).status, 304);
  });
});

describe('a list of 500 songs in VLC', { skip: skipReason(NEEDS) }, () => {
  let node: PlayersNode;

  before(async () => {
    const session = await startSession();
    // Long paths make the whole list longer than a line of the stream may be.
    const folder = session.path('album', 'A folder with a name as people have it, '.repeat(4));
    mkdirSync(folder);
    const files = Array.from({ length: 500 }, (_, index) => join(folder, `${index}.wav`));
    for (const file of files) symlinkSync(session.fileOf(firstTitle), file);
    await startVlc(session, files);
    node = await startPlayersNode(session);
    await node.player(VLC, 'with its list', (player) => player.tracklist_supported);
  });
  after(() => node?.stop());

  test('the answer has all 500 songs, and the stream has the first of them, in a line within the limit', async () => {
    const path = '/players/vlc/tracklist';
    await until('the stream has the first tracks of the answer', async () => {
      const { tracks } = await node.daemon.read<TracklistRecord>(path);
      const streamed = node.stream.model.known.tracklists.get(VLC);
      assert.equal(tracks.length, 500);
      assert.equal(streamed?.truncated, true);
      assert.deepEqual(streamed.tracks, tracks.slice(0, streamed.tracks.length));
      return streamed.tracks.length > STREAMED_TRACKS_MIN;
    });
    const lines = node.stream.events.map(({ data }) => Buffer.byteLength(`data: ${data}`));
    assert.ok(Math.max(...lines) <= LINE_MAX_BYTES, `${Math.max(...lines)}`);
  });
});
