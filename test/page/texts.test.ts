// The page's words: the language that the browser wants, and what is filled in stays what it is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textsIn } from '../../src/page/texts.js';

const LANGUAGES: readonly (readonly [wanted: readonly string[], language: string])[] = [
  [['de-AT', 'en'], 'de'],
  [['fr', 'DE'], 'de'],
  [['en-GB', 'de'], 'en'],
  [['fr'], 'en'],
  [[], 'en'],
  [['toString', 'constructor'], 'en'],
];

for (const [wanted, language] of LANGUAGES) {
  test(`for ${JSON.stringify(wanted)}: ${language}`, () => assert.equal(textsIn(wanted).language, language));
}

test('a value is filled in unchanged, without placeholders of its own', () => {
  const { translate } = textsIn(['en']);
  assert.equal(translate('muteOf', { name: '{name} $& $1 <b>' }), 'Mute {name} $& $1 <b>');
});
