// Tests units on the page: the controls while one starts, stops and restarts, and the text about a unit that
// failed to.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, spotOn } from './finger.js';
import { service } from './node-with-page.js';
import { commands, node, openTab, PHONE, page, pageForEach } from './pages.js';

const MPD = { description: 'MPD' };
const DEAD = { ...MPD, active_state: 'inactive', sub_state: 'dead', running: false };

describe('a unit on the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  const open = async (more: object): Promise<void> => {
    node.up({ systemd: [service('mpd.service', more)] });
    await page.goto(node.url);
    await openTab('Node');
    await page.locator('.service').waitFor();
    node.backends.requests.length = 0;
  };
  const publish = (more: object): void => node.change(service('mpd.service', more));
  const button = (name: string): Locator => page.getByRole('button', { name: `${name} MPD`, exact: true });
  const stateIs = (text: string): Promise<void> =>
    page.locator('.service .state').getByText(text, { exact: true }).waitFor();
  const verbs = (): string =>
    commands()
      .map((command) => command.do)
      .join();
  const verbsAre = (expected: string): Promise<unknown> => until(expected, () => verbs() === expected);

  test('a unit on the page that hangs as it starts can be stopped at once, and its start is then no failure', async () => {
    await open(DEAD);
    const start = node.backends.hold();
    await button('Start').click();
    await stateIs('Starting');
    await verbsAre('start');
    node.backends.answer = { ok: true, value: {} };
    await button('Stop').click();
    await verbsAre('start,stop');
    start.resolve({ ok: false, error: { fault: 'refused', detail: 'The job ended canceled' } });
    await stateIs('Stopping');
    publish(DEAD);
    await stateIs('Stopped');
    assert.equal(await page.locator('.notice').count(), 0);
  });

  const FAILED = { ...MPD, active_state: 'failed', sub_state: 'failed', running: false };
  const log = (...messages: string[]) => {
    const entries = messages.map((message) => ({ time: '2026-11-23T12:03:15.100Z', priority: 4, message }));
    return { ok: true as const, value: { text: JSON.stringify(entries) } };
  };

  test('a unit on the page that has failed shows its log on request, and requests nothing before', async () => {
    await open(FAILED);
    await stateIs('Failed');
    assert.deepEqual(commands(), []);
    node.backends.answer = log('<b>no</b> such card', "mpd.service: Failed with result 'exit-code'.");
    const details = page.locator('.service summary');
    await details.click();
    await page.getByText(/^Failed since 23 Nov 2026, \d\d:\d\d: exit-code$/).waitFor();
    await page.getByText('<b>no</b> such card').waitFor();
    assert.deepEqual(commands(), [{ do: 'log', scope: 'user', unit: 'mpd.service', lines: 20 }]);
    // It fails anew while one looks.
    node.backends.answer = log('second time');
    publish({ ...MPD, active_state: 'activating', running: false });
    await stateIs('Starting');
    publish(FAILED);
    await page.getByText('second time').waitFor();
    const answers = [
      [log(), 'Nothing is logged.'],
      [
        { ok: false, error: { fault: 'not-granted', detail: 'a reason' } },
        'The log cannot be read: a reason',
      ],
    ] as const;
    for (const [answer, text] of answers) {
      await details.click();
      node.backends.answer = answer;
      await details.click();
      await page.getByText(text).waitFor();
    }
  });

  test('a unit on the page that somebody else starts can be stopped, one that stops has no button, and a restart is confirmed', async () => {
    await open({ ...MPD, active_state: 'activating', sub_state: 'start', running: false });
    await stateIs('Starting');
    assert.equal(await button('Stop').isEnabled(), true);
    publish({ ...MPD, active_state: 'deactivating', sub_state: 'stop-sigterm', running: false });
    await stateIs('Stopping');
    assert.equal(await button('Stop').isDisabled(), true);
    await page.getByRole('button', { name: 'More of MPD' }).click();
    assert.equal(await button('Restart').isDisabled(), true);
    publish(MPD);
    await button('Restart').click();
    await verbsAre('restart');
    await stateIs('Restarted');
    await stateIs('Running');
  });

  test('a unit on the page that could not start is named, with the reason, until it runs or the failure is old', async () => {
    await page.clock.install();
    await open(DEAD);
    const detail = 'The job ended failed: Main process exited, code=exited, status=1/FAILURE';
    node.backends.answer = { ok: false, error: { fault: 'refused', detail } };
    const notice = page.getByRole('alert');
    const fails = async (): Promise<void> => {
      await button('Start').click();
      await notice.getByText('MPD could not start: exit status 1', { exact: true }).waitFor();
    };
    await fails();
    await page.clock.runFor(11_000);
    await page.locator('.notice').waitFor({ state: 'detached' });
    await fails();
    assert.equal(await notice.getByText(detail).isVisible(), false);
    await notice.getByText('Details').click();
    await notice.getByText(detail).waitFor();
    publish(MPD);
    await page.locator('.notice').waitFor({ state: 'detached' });
  });

  test('shows any failure away from the controls, at the foot or the head of the screen', async () => {
    await open(MPD);
    node.backends.answer = { ok: false, error: { fault: 'refused', detail: 'No such entity' } };
    const finger = await Finger.on(page);
    await openTab('Sound');
    const slider = page.getByRole('slider', { name: 'Volume of Living room', exact: true }).first();
    for (const block of ['end', 'start'] as const) {
      await slider.evaluate((element, at) => element.scrollIntoView({ block: at }), block);
      const [, y] = await spotOn(slider, 0.2);
      await finger.tap(await spotOn(slider, block === 'end' ? 0.2 : 0.1));
      await page.getByText('Volume of Living room could not be changed').waitFor();
      const box = await page.locator('.notice').boundingBox();
      assert.ok(box);
      assert.ok(y < box.y || y > box.y + box.height, `${y} in ${JSON.stringify(box)}`);
      await page.getByRole('button', { name: 'Dismiss' }).click();
      await page.locator('.notice').waitFor({ state: 'detached' });
    }
  });
});
