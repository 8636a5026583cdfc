// Every state of the page, narrow and wide, in light and dark, must have no finding of axe-core, no text cut off at the side and no
// target too small for a thumb. TONEARM_PICTURES=FOLDER also saves a picture of each state for a person to look at.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { Backend } from '../../src/protocol/actor/backends.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { lacks } from '../tools/requirements.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { card, NodeWithPage, ORDINARY, output, player, service, stream, upgrade } from './node-with-page.js';

const PICTURES = process.env['TONEARM_PICTURES'] ?? '';
const WIDTHS = PICTURES === '' ? ([320, 1440] as const) : ([360, 768, 1440] as const);
const SCHEMES = ['light', 'dark'] as const;
const PICTURE_HEIGHT_MAX = 2600;
/** The least size of a target, in pixels; WCAG 2.2 requires 24, a finger needs 44. */
const TOUCH_MIN = 44;

interface State {
  readonly node?: Partial<Record<Backend, readonly Change[]>>;
  readonly language?: string;
  /** Changes the node before the page is loaded. */
  readonly prepare?: (node: NodeWithPage) => void;
  /** Acts on the page once it is live. */
  readonly act?: (page: Page, node: NodeWithPage) => Promise<unknown>;
}

const WILD = [
  '<img src=x onerror="document.title=1"><b>bold</b>',
  '"\'`&amp;</script><script>document.title=1</script>',
  '\u202eright to left \u2066and \u202dback',
  'שלום עולם – مرحبا بالعالم',
  '👩‍👩‍👧‍👦🎵🏴‍☠️',
  'a'.repeat(4096),
  'words '.repeat(600),
];

const away = (backend: Backend): State => ({
  prepare: (node) => {
    const reason = 'connect ENOENT /run/user/1000/pulse/native, /run/user/1000/pulse is not there';
    node.health(backend, 'connecting', reason);
  },
  act: async (page, node) => {
    await page.getByText('connect ENOENT').first().waitFor();
    node.health(backend, 'failed', 'it has died six times within a minute');
    await page.getByText('it has died six times').first().waitFor();
  },
});

const CROWD = {
  audio: [
    ...(ORDINARY['audio'] ?? []).slice(0, 4),
    ...Array.from({ length: 64 }, (_, index) => stream(100 + index, { volume: (index % 100) / 100 })),
  ],
};

export const STATES: Readonly<Record<string, State>> = {
  ordinary: { act: (page) => page.getByText('Checked 1 Jan 2026, 10:00').waitFor() },
  german: {
    language: 'de',
    act: async (page) => {
      await page.getByText('1. Jan. 2026, 10:00').waitFor();
      await page.getByLabel('Mehr zu Living room').click();
    },
  },
  'sound-away': away('audio'),
  'no-card': {
    node: { audio: [...(ORDINARY['audio'] ?? []).slice(0, 2), output(0, { name: 'auto_null' })] },
    // No event says so to a page that is opened later.
    prepare: (node) => node.health('audio', 'up', 'The sound server sees no sound card: the kernel has none'),
    act: (page) => page.getByText('sees no sound card: the kernel has none').waitFor(),
  },
  'card-off': {
    node: { audio: [...(ORDINARY['audio'] ?? []), card(4, 'usb', { description: 'USB DAC' })] },
    act: (page) => page.getByRole('combobox', { name: 'Profile of USB DAC' }).waitFor(),
  },
  'services-away': away('systemd'),
  'power-away': away('power'),
  'upgrade-away': away('upgrade'),
  'players-away': {
    node: { players: [] },
    prepare: (node) => node.health('players', 'connecting', 'connect ENOENT /run/user/1000/bus'),
    act: (page) => page.getByText('Players: Away, trying again').waitFor(),
  },
  players: {
    node: {
      players: [
        player('radio', {
          identity: 'Internet radio',
          metadata: { 'xesam:title': 'Morning concert', 'xesam:artist': 'Radio One' },
          position: 3_725_000_000,
          shuffle: undefined,
          loop_status: undefined,
          volume: undefined,
        }),
        player('spotifyd', {
          identity: 'spotifyd',
          playback_status: 'Paused',
          loop_status: 'Track',
          shuffle: true,
        }),
        player('mpv', { identity: 'mpv', playback_status: 'Stopped', metadata: {}, position: undefined }),
      ],
    },
  },
  'no-players': { node: { players: [] } },
  empty: {
    node: {
      audio: (ORDINARY['audio'] ?? []).slice(0, 2),
      systemd: [],
      upgrade: upgrade({ current: '', latest: '' }),
    },
  },
  crowd: { node: CROWD, act: (page) => page.getByText('56 more streams').waitFor() },
  'crowd-unfolded': {
    node: CROWD,
    act: async (page) => {
      await page.getByText('56 more streams').click();
      await page.locator('.stream').nth(63).waitFor({ state: 'attached' });
    },
  },
  wild: {
    node: {
      audio: [
        ...(ORDINARY['audio'] ?? []).slice(0, 2),
        ...WILD.map((name, id) => output(id, { name, description: name })),
        ...WILD.map((name, id) => stream(10 + id, { name, app: name, output: name })),
      ],
      systemd: WILD.map((text, id) =>
        service(`unit-${id}.service`, { description: text, url: 'javascript:document.title=1' }),
      ),
      players: WILD.map((text, id) =>
        player(`wild-${id}`, { identity: text, metadata: { 'xesam:title': text, 'xesam:artist': text } }),
      ),
      upgrade: upgrade({ latest: WILD[5], upgrade_available: true }),
    },
  },
  'upgrade-running': {
    node: {
      upgrade: upgrade(
        { latest: '1.5.0', upgrade_available: true },
        { state: 'running', origin: 'systemd', started_at: '2026-01-01T10:00:00Z' },
        { percent: 37, step: 'Unpacking linux-image-6.12.0-arm64' },
      ),
    },
  },
  'upgrade-failed': {
    node: {
      upgrade: upgrade(
        { latest: '1.5.0', upgrade_available: true },
        { state: 'failed', origin: 'systemd', finished_at: '2026-01-01T10:05:00Z' },
      ),
    },
  },
  refused: {
    act: async (page, node) => {
      node.backends.answer = {
        ok: false,
        fault: 'refused',
        detail: 'The job ended failed: result exit-code, Main process exited, code=exited, status=203/EXEC',
      };
      await page.getByRole('button', { name: 'Start AirPlay receiver' }).click();
      await page.getByText('AirPlay receiver could not start: exit status 203').waitFor();
      await page.getByRole('alert').getByText('Details').click();
      await page.getByText('status=203/EXEC').waitFor();
    },
  },
  asked: {
    act: async (page) => {
      await page.getByRole('button', { name: 'Restart node' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  opened: {
    act: async (page) => {
      await page.getByLabel('More of Living room').click();
      for (const more of await page.getByLabel('More of Music Player Daemon').all()) await more.click();
    },
  },
  dragged: {
    act: async (page) => {
      const handle = page.locator('.drag-handle').first();
      await handle.scrollIntoViewIfNeeded();
      const box = await handle.boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + 22, box.y + 22);
      await page.mouse.down();
      await page.mouse.move(box.x + 60, box.y + 60, { steps: 2 });
      await page.locator('.tray').waitFor();
    },
  },
  lost: {
    act: async (page) => {
      await page.route('**/server', (route) => route.abort());
      await page.getByText('Connection lost').waitFor();
    },
  },
  restarting: {
    act: async (page, node) => {
      await node.close();
      await page.getByText('Restarting', { exact: true }).waitFor();
    },
  },
};

const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The only rule whose result can differ in the second colour scheme. */
const AXE_COLOURS = ['color-contrast'];

async function findings(page: Page, runOnly: readonly string[]): Promise<readonly string[]> {
  const found = (await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(runOnly)} })`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`),
  );
}

async function savePicture(page: Page, name: string): Promise<void> {
  const width = await page.evaluate<number>('innerWidth');
  const height = Math.min(await page.evaluate<number>('document.body.scrollHeight'), PICTURE_HEIGHT_MAX);
  // An element in front of the page stands at the scrolled position, which a picture of the whole page would miss.
  const isScrolled = (await page.evaluate('scrollY')) !== 0;
  const whole = { fullPage: true, clip: { x: 0, y: 0, width, height } };
  await page.screenshot({ path: join(PICTURES, name), ...(isScrolled ? {} : whole) });
}

/** Elements that stick out at the side, have more text than room, or are too small for a thumb. */
function misfits(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const seen = [...document.querySelectorAll('body *')].filter((each) => each.checkVisibility());
    const sticking = seen.filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5 && getComputedStyle(each).position !== 'fixed' && !each.closest('.clip'));
    const small = seen.filter((each) => {
      const { width, height } = each.getBoundingClientRect();
      return each.matches('button, select, input, summary, a:not(.skip)') && Math.min(width, height) < ${TOUCH_MIN} - 0.1;
    });
    const spilling = seen.filter((each) => each.matches('button, a, p, h1, h2, dd') && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === 'visible');
    return [...sticking.map((each) => 'sticks out: ' + each.outerHTML.slice(0, 200)), ...spilling.map((each) => 'spills its text: ' + each.outerHTML.slice(0, 200)), ...small.map((each) => 'too small: ' + each.outerHTML.slice(0, 200))];
  })()`) as Promise<readonly string[]>;
}

describe('the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let browser: OpenBrowser;
  /** A page for each language, because loading into an open one takes a third of the time of a new one. */
  const pages = new Map<string, Page>();
  const faults: string[] = [];
  before(async () => {
    browser = await openChromium({ locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
  });
  const pageIn = async (language: string): Promise<Page> => {
    const open = pages.get(language);
    if (open !== undefined) return open;
    const page = await browser.context.newPage();
    pages.set(language, page);
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.addInitScript(`Object.defineProperty(navigator, 'languages', { value: ['${language}'] })`);
    return page;
  };
  after(() => browser.close());

  for (const [name, { node: state = {}, language = 'en', prepare, act }] of Object.entries(STATES)) {
    test(`in the state ${name}: no finding, nothing cut off, nothing too small`, async () => {
      const node = new NodeWithPage().up(state);
      prepare?.(node);
      const page = await pageIn(language);
      faults.length = 0;
      try {
        await page.setViewportSize({ width: WIDTHS[0], height: 740 });
        await page.goto(node.url);
        await page.locator('header .good').waitFor();
        await page.locator('#system .health').waitFor();
        await act?.(page, node);
        await page.evaluate(axe.source);
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: width < 500 ? 740 : 900 });
          for (const colorScheme of SCHEMES) {
            await page.emulateMedia({ colorScheme });
            if (PICTURES !== '') await savePicture(page, `${name}-${width}-${colorScheme}.png`);
            if (width !== WIDTHS[0]) continue;
            const rules = colorScheme === SCHEMES[0] ? AXE_TAGS : AXE_COLOURS;
            assert.deepEqual(await findings(page, rules), [], colorScheme);
          }
          assert.deepEqual(await misfits(page), [], String(width));
        }
        assert.match(await page.title(), /living-room$/);
        if (!['lost', 'restarting', 'refused'].includes(name)) assert.deepEqual(faults, []);
      } finally {
        await page.unrouteAll();
        await page.goto('about:blank');
        await node.close();
      }
    });
  }
});
