// Tests the languages of the page. The page loads only the file of the language that the browser prefers.
// English has no file. The page is also English if the file of a language cannot be loaded.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipReason } from '../tools/requirements.js';
import { DESK, node, openPage, page, pageForEach } from './pages.js';

const LANGUAGE_FILE = /\/ui\/(?:german|french|spanish|italian|dutch|polish|portuguese)-/;

const ROWS: readonly (readonly [tag: string, language: string, headingOfOutputs: string])[] = [
  ['de-AT', 'german', 'Ausgänge'],
  ['fr-BE', 'french', 'Sorties'],
  ['es', 'spanish', 'Salidas'],
  ['it', 'italian', 'Uscite'],
  ['nl', 'dutch', 'Uitgangen'],
  ['pl', 'polish', 'Wyjścia'],
  ['pt-BR', 'portuguese', 'Saídas'],
];

/** Makes the browser prefer a language. The returned list gets the paths of the requested language files. */
async function prefer(tag: string): Promise<readonly string[]> {
  const files: string[] = [];
  page.on('request', (request) => {
    if (LANGUAGE_FILE.test(request.url())) files.push(new URL(request.url()).pathname);
  });
  await page.addInitScript(`Object.defineProperty(navigator, 'languages', { value: ['${tag}', 'en'] })`);
  return files;
}

describe('the page in the language of the browser', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);

  for (const [tag, language, heading] of ROWS) {
    test(`the page in a browser that prefers ${tag} is in ${language}, and loads no other language`, async () => {
      const files = await prefer(tag);
      await openPage();
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), tag.split('-')[0]);
      assert.equal(files.length, 1);
      assert.match(files[0] ?? '', new RegExp(`/${language}-`));
    });
  }

  test('an English page loads no language file', async () => {
    const files = await prefer('en-GB');
    await openPage();
    await page.getByRole('heading', { name: 'Outputs', exact: true }).waitFor();
    assert.deepEqual(files, []);
  });

  test('the page is English if its language file cannot be loaded', async () => {
    await prefer('fr');
    await page.route(LANGUAGE_FILE, (route) => route.abort());
    await openPage();
    await page.getByRole('heading', { name: 'Outputs', exact: true }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    // Dates are English, too. This one is `checked_at` of ORDINARY (node-with-page.ts).
    await page.locator('#upgrade').getByText('Jan 1, 2026').waitFor();
    // `openPage` has forgotten the commands that the page sends at its start (pages.ts). The page sends no
    // other command by itself.
    assert.equal(node.backends.requests.length, 0);
  });
});
