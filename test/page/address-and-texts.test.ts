// The page by its address and by the languages of the browser: the part that is shown, and the words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textsIn } from '../../src/page/texts.js';
import { viewOf } from '../../src/page/view.js';

const ROWS: readonly (readonly [query: string, isWall: boolean, only: readonly string[] | undefined])[] = [
  ['', false, undefined],
  ['?view=now', true, undefined],
  ['?view=then', false, undefined],
  ['?only=outputs,players', false, ['outputs', 'now']],
  ['?only=%20power%20,nothing', false, ['system']],
  ['?only=toString,', false, undefined],
];
for (const [query, isWall, only] of ROWS) {
  test(`${query || 'nothing'}: ${isWall ? 'a wall' : (only?.join() ?? 'all')}`, () => {
    const view = viewOf(query);
    assert.equal(view.isWall, isWall);
    assert.deepEqual(view.only && [...view.only], only);
  });
}

const LANGUAGES: readonly (readonly [preferred: readonly string[], language: string])[] = [
  [['de-AT', 'en'], 'de'],
  [['fr', 'DE'], 'de'],
  [['en-GB', 'de'], 'en'],
  [['fr'], 'en'],
  [[], 'en'],
  [['toString', 'constructor'], 'en'],
];
for (const [preferred, language] of LANGUAGES)
  test(`for ${JSON.stringify(preferred)}: ${language}`, () =>
    assert.equal(textsIn(preferred).language, language));

test('a value is filled in unchanged, without placeholders of its own', () => {
  const { translate } = textsIn(['en']);
  assert.equal(translate('muteOf', { name: '{name} $& $1 <b>' }), 'Mute {name} $& $1 <b>');
});
