// The menu of the house's nodes, and a player's tracklist, as a thumb uses them on a phone.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { drop, put } from '../gateway/scripted-backends.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type NodeWithPage, player } from './node-with-page.js';
import { phoneForEach } from './phone.js';

const VLC = 'org.mpris.MediaPlayer2.vlc';
const TRACKS = ['One', 'Two'].map((title, at) => ({
  track_id: `/list/${at}`,
  metadata: { 'xesam:title': title, 'xesam:artist': 'Somebody' },
}));

const networked = (name: string, more: object = {}) =>
  put('nodes', name, {
    ...{ name, host: `${name}.local`, addresses: ['192.0.2.7'], port: 8018, path: '/ui', api: 'tonearm' },
    ...{ self: false, ...more },
  });

describe('the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let node: NodeWithPage;
  let page: Page;
  phoneForEach((opened) => {
    ({ node, page } = opened);
  });

  test('links to the other nodes of the house, marks this one, and removes one that goes', async () => {
    node.up();
    await page.goto(node.url);
    await page.locator('h1').waitFor();
    assert.equal(await page.locator('.house').count(), 0);
    node.change('discovery', networked('kitchen', { self: true }));
    node.change('discovery', networked('attic', { addresses: ['2001:db8::1'], path: '//evil.example' }));
    node.change('discovery', networked('cellar', { addresses: [] }));
    await page.locator('.house summary').click();
    const links = page.locator('.house a');
    await links.nth(2).waitFor();
    const found = await links.evaluateAll((all) =>
      all.map((each) => [each.textContent, each.getAttribute('href'), each.getAttribute('aria-current')]),
    );
    assert.deepEqual(found, [
      ['attic', 'http://[2001:db8::1]:8018//evil.example', null],
      ['cellar', 'http://cellar.local:8018/ui', null],
      ['kitchen', '#', 'page'],
    ]);
    const name = page.locator('.house h1');
    assert.equal(await name.evaluate((each) => each.scrollWidth - each.clientWidth), 0, 'it is whole');
    await page.keyboard.press('Escape');
    await until('it closes', async () => !(await links.first().isVisible()));
    await page.locator('.house summary').click();
    node.change('discovery', drop('nodes', 'attic'));
    await until('the link is gone', async () => (await links.count()) === 2);
    await page.locator('main').click({ position: { x: 2, y: 2 } });
    await until('it closes', async () => !(await links.first().isVisible()));
  });

  test("plays, removes and adds a player's tracks", async () => {
    node.up({ players: [player('vlc', { tracklist_supported: true })] });
    const tell = (canEdit: boolean): void =>
      node.change('players', put('players.tracklist', VLC, { can_edit_tracks: canEdit, tracks: TRACKS }));
    tell(true);
    await page.goto(node.url);
    await page.getByText('Tracks (2)').click();
    await page.getByRole('button', { name: 'Play Two' }).click();
    await page.getByRole('button', { name: 'Remove One' }).click();
    await page.getByRole('textbox').fill('http://radio.example/stream');
    await page.getByRole('button', { name: 'Add' }).click();
    const asked = () =>
      node.backends.asked.map(({ command }) => command).filter((each) => each.do !== 'status');
    await until('the node gets the three commands', () => asked().length === 3);
    assert.deepEqual(asked(), [
      { do: 'goto', player: VLC, track: '/list/1' },
      { do: 'remove', player: VLC, track: '/list/0' },
      { do: 'add', player: VLC, uri: 'http://radio.example/stream', isCurrent: false },
    ]);
    tell(false);
    await until('the list cannot be edited', async () => (await page.getByRole('textbox').count()) === 0);
    assert.equal(await page.getByRole('button', { name: 'Remove One' }).count(), 0);
    const { width } = (await page.locator('body').boundingBox()) ?? { width: 0 };
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
  });
});
