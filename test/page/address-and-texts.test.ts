// Tests that the page's address chooses the sections of the page, and that the browser's languages choose
// the page's language.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGLISH } from '../../src/page/texts/english.js';
import { chooseLanguage, fillIn, type LanguageChoice, LOADERS } from '../../src/page/texts.js';
import { viewOf } from '../../src/page/view.js';

/**
 * `only` has the sections that the page shows; undefined means all. The address may have other names for
 * them: `players` means `now`, and `power` means `system` (SECTION_NAMES in view.ts).
 */
const ROWS: readonly (readonly [query: string, isWall: boolean, only: readonly string[] | undefined])[] = [
  ['', false, undefined],
  ['?view=now', true, undefined],
  ['?view=then', false, undefined],
  ['?only=outputs,players', false, ['outputs', 'now']],
  ['?only=%20power%20,nothing', false, ['system']],
  // Every object has a property `toString`, but no section has this name. Without a known name the page has
  // all sections.
  ['?only=toString,', false, undefined],
];
for (const [query, isWall, only] of ROWS) {
  test(`the page at /ui${query} is ${isWall ? 'a' : 'no'} wall, and has these sections: ${only?.join() ?? 'all'}`, () => {
    const view = viewOf(query);
    assert.equal(view.isWall, isWall);
    assert.deepEqual(view.only && [...view.only], only);
  });
}

const LANGUAGES: readonly (readonly [preferred: readonly string[], choice: LanguageChoice])[] = [
  [['de-AT', 'en'], { language: 'de', formatTag: 'de-AT' }],
  [['sv', 'PT-br'], { language: 'pt', formatTag: 'PT-br' }],
  [['en-GB', 'de'], { language: 'en', formatTag: 'en-GB' }],
  [['sv'], { language: 'en', formatTag: 'en' }],
  [[], { language: 'en', formatTag: 'en' }],
  // Chromium may add `@posix` to a tag, and `Intl` refuses such a tag.
  [['en-US@posix', 'de'], { language: 'en', formatTag: 'en-US' }],
  // Every object has these properties, but no language has these names.
  [['toString', 'constructor'], { language: 'en', formatTag: 'en' }],
];
for (const [preferred, choice] of LANGUAGES)
  test(`the page is in ${choice.language} for a browser that prefers ${JSON.stringify(preferred)}`, () =>
    assert.deepEqual(chooseLanguage(preferred), choice));

test('a value is filled in unchanged, and placeholders within it stay as they are', () => {
  // `$&` and `$1` have a meaning in a replacement text, but not here.
  assert.equal(fillIn('Mute {name}', { name: '{name} $& $1 <b>' }), 'Mute {name} $& $1 <b>');
});

const placeholdersIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();

for (const [language, load] of Object.entries(LOADERS)) {
  test(`the language ${language} has every text, with the same placeholders as English`, async () => {
    const { default: texts } = await load();
    assert.deepEqual(Object.keys(texts).sort(), Object.keys(ENGLISH).sort());
    for (const [key, english] of Object.entries(ENGLISH)) {
      const text = texts[key as keyof typeof ENGLISH] ?? '';
      assert.notEqual(text.trim(), '', key);
      assert.deepEqual(placeholdersIn(text), placeholdersIn(english), key);
    }
  });
}
