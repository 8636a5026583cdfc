// Tests units on the page: their controls while they start, stop and restart, and the log and the notice of a
// failed unit. The last test is about the place of a notice.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { SETTLE_MS } from '../../src/page/control.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, spotOn } from './finger.js';
import { service } from './node-with-page.js';
import { answerChecksAtOnce, commands, node, openTab, PHONE, page, pageForEach } from './pages.js';

/** A notice that nobody touches is displayed for 10 s (notices.tsx). */
const LONGER_THAN_NOTICE_MS = 11_000;
const MPD = { description: 'MPD' };
/** `service` makes the record of a unit that runs, so `RUNNING` needs no fields about the state. */
const RUNNING = MPD;
const STOPPED = { ...MPD, active_state: 'inactive', sub_state: 'dead', running: false };

describe('a unit on the page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);
  answerChecksAtOnce();

  const open = async (fields: object): Promise<void> => {
    node.up({ systemd: [service('mpd.service', fields)] });
    await page.goto(node.url);
    await openTab('Node');
    await page.locator('.service').waitFor();
    node.backends.requests.length = 0;
  };
  const publish = (fields: object): void => node.change(service('mpd.service', fields));
  const button = (name: string): Locator => page.getByRole('button', { name: `${name} MPD`, exact: true });
  const stateIs = (text: string): Promise<void> =>
    page.locator('.service .state').getByText(text, { exact: true }).waitFor();
  const sentVerbs = (): string =>
    commands()
      .map((command) => command.do)
      .join();
  const sentVerbsAre = (expected: string): Promise<unknown> =>
    until(`the commands are ${expected}`, () => sentVerbs() === expected);

  test('a unit on the page can be stopped while it starts, and the page reports no failure of the start', async () => {
    await open(STOPPED);
    const startAnswer = node.backends.hold();
    await button('Start').click();
    await stateIs('Starting');
    await sentVerbsAre('start');

    node.backends.answer = { ok: true, value: {} };
    await button('Stop').click();
    await sentVerbsAre('start,stop');
    // The stop cancels the start, so the node answers the start with a refusal.
    const startResponse = page.waitForResponse('**/mpd.service/start');
    startAnswer.resolve({ ok: false, error: { fault: 'refused', detail: 'The job ended canceled' } });
    await stateIs('Stopping');
    await (await startResponse).finished();
    publish(STOPPED);
    await stateIs('Stopped');
    assert.equal(await page.locator('.notice').count(), 0);
  });

  test('if the new state of a unit comes before the answer to the command, the page displays this state right after the answer', async () => {
    await page.clock.install();
    await open(STOPPED);
    const startAnswer = node.backends.hold();
    await button('Start').click();
    await stateIs('Starting');
    publish({ ...RUNNING, description: 'Music' });
    await page.locator('.service').getByText('Music').first().waitFor();
    await stateIs('Starting');

    // From now on only `runFor` moves the page's clock.
    await page.clock.pauseAt(new Date(Date.now() + 1000));
    startAnswer.resolve({ ok: true, value: {} });
    let passedMs = 0;
    await until('the new state is displayed', async () => {
      passedMs += 1;
      await page.clock.runFor(1);
      return page.locator('.service .state').getByText('Running', { exact: true }).isVisible();
    });
    // The pages of the next tests need the clock, because all pages of the browser's context share it.
    await page.clock.resume();
    assert.ok(passedMs < SETTLE_MS, `after ${passedMs} ms`);
  });

  const FAILED = { ...MPD, active_state: 'failed', sub_state: 'failed', running: false };
  const logAnswer = (...messages: string[]) => {
    const entries = messages.map((message) => ({ time: '2026-11-23T12:03:15.100Z', priority: 4, message }));
    return { ok: true as const, value: { text: JSON.stringify(entries) } };
  };

  test('the page requests and shows the log of a failed unit only when a person opens this log', async () => {
    await open(FAILED);
    await stateIs('Failed');
    assert.deepEqual(commands(), []);
    node.backends.answer = logAnswer('<b>no</b> such card', "mpd.service: Failed with result 'exit-code'.");
    const details = page.locator('.service summary');
    await details.click();
    // The time and the result are those of the last line of the log.
    await page.getByText(/^Failed since 23 Nov 2026, \d\d:\d\d: exit-code$/).waitFor();
    await page.getByText('<b>no</b> such card').waitFor();
    assert.deepEqual(commands(), [{ do: 'log', scope: 'user', unit: 'mpd.service', lines: 20 }]);

    // The unit fails again while its log is open.
    node.backends.answer = logAnswer('second time');
    publish({ ...MPD, active_state: 'activating', running: false });
    await stateIs('Starting');
    publish(FAILED);
    await page.getByText('second time').waitFor();

    const answers = [
      [logAnswer(), 'Nothing is logged.'],
      [
        { ok: false, error: { fault: 'not-granted', detail: 'a reason' } },
        'The log cannot be read: a reason',
      ],
    ] as const;
    // The first click closes the log. The second click opens it, and the page requests it again.
    for (const [answer, text] of answers) {
      await details.click();
      node.backends.answer = answer;
      await details.click();
      await page.getByText(text).waitFor();
    }
  });

  test('the page lets people stop a unit that is starting, disables the buttons of a unit that is stopping, and reports the restart of a unit', async () => {
    await open({ ...MPD, active_state: 'activating', sub_state: 'start', running: false });
    await stateIs('Starting');
    assert.equal(await button('Stop').isEnabled(), true);

    publish({ ...MPD, active_state: 'deactivating', sub_state: 'stop-sigterm', running: false });
    await stateIs('Stopping');
    assert.equal(await button('Stop').isDisabled(), true);
    await page.getByRole('button', { name: 'More of MPD' }).click();
    assert.equal(await button('Restart').isDisabled(), true);

    publish(RUNNING);
    await button('Restart').click();
    await sentVerbsAre('restart');
    // The unit's own state is the same after the restart, so the page says "Restarted" for a moment only.
    await stateIs('Restarted');
    await stateIs('Running');
  });

  test('a notice on the page names a unit that could not start, and says why, until the unit runs or some time has passed', async () => {
    await page.clock.install();
    await open(STOPPED);
    const detail = 'The job ended failed: Main process exited, code=exited, status=1/FAILURE';
    node.backends.answer = { ok: false, error: { fault: 'refused', detail } };
    const notice = page.getByRole('alert');
    const failToStart = async (): Promise<void> => {
      await button('Start').click();
      await notice.getByText('MPD could not start: exit status 1', { exact: true }).waitFor();
    };

    await failToStart();
    await page.clock.runFor(LONGER_THAN_NOTICE_MS);
    await page.locator('.notice').waitFor({ state: 'detached' });

    await failToStart();
    assert.equal(await notice.getByText(detail).isVisible(), false);
    await notice.getByText('Details').click();
    await notice.getByText(detail).waitFor();
    publish(RUNNING);
    await page.locator('.notice').waitFor({ state: 'detached' });
  });

  test('a notice of a failure leaves the pressed control visible, both at the bottom and at the top of the screen', async () => {
    await open(RUNNING);
    node.backends.answer = { ok: false, error: { fault: 'refused', detail: 'No such entity' } };
    const finger = await Finger.on(page);
    await openTab('Sound');
    const slider = page.getByRole('slider', { name: 'Volume of Living room', exact: true }).first();
    for (const { block, fraction } of [
      { block: 'end', fraction: 0.2 },
      { block: 'start', fraction: 0.1 },
    ] as const) {
      await slider.evaluate((element, place) => element.scrollIntoView({ block: place }), block);
      const spot = await spotOn(slider, fraction);
      const [, y] = spot;
      await finger.tap(spot);
      await page.getByText('Volume of Living room could not be changed').waitFor();
      const box = await page.locator('.notice').boundingBox();
      assert.ok(box);
      const isCovered = y >= box.y && y <= box.y + box.height;
      assert.equal(isCovered, false, `${y} in ${JSON.stringify(box)}`);
      await page.getByRole('button', { name: 'Dismiss' }).click();
      await page.locator('.notice').waitFor({ state: 'detached' });
    }
  });
});
