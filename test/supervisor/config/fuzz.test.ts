// Random damage to whole configurations, the packaged example among them, and random conf.d files over it: always an answer, no exception.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { effectiveYaml } from '../../../src/supervisor/config/yaml.js';
import { SEED, SeededRandom } from '../../seeded-random.js';
import { FULL_YAML, resolveTexts } from './full.js';

const ROUNDS = 1000;
/** The packaged example after an administrator has removed every `#` before a key. */
const EXAMPLE = readFileSync(
  new URL('../../../../packaging/config.example.yaml', import.meta.url),
  'utf8',
).replace(/^#(?=[a-zA-Z]| {2})/gm, '');
const PIECES = [
  ...'{}[],:#&*!|>\'"%@`-? \t\n\r\0~=<\\0',
  ...['- ', ': ', '? ', '---\n', '...\n', '%YAML 1.1\n', '&units ', '!!str ', '!!map ', '<<: '],
  ...'*units *a null true -1 1e400 99999999999999999999 .nan \ufeff \u2028 \ud800 😀 / ~/ x@.service'.split(
    ' ',
  ),
  ...'__proto__ constructor service_manager: systemd: api: upgrade: name:'.split(' '),
];

function damaged(text: string, random: SeededRandom): string {
  const start = random.below(text.length + 1);
  const end = Math.min(text.length, start + random.below(12));
  const piece = random.pick(PIECES);
  const other = random.below(text.length);
  return random.pick([
    text.slice(0, start) + piece + text.slice(start),
    text.slice(0, start) + piece + text.slice(end),
    text.slice(0, start) + text.slice(end),
    text.slice(0, start),
    text.slice(0, start) + text.slice(other, other + 40) + text.slice(start),
  ]);
}

async function checkRound(seed: number): Promise<boolean> {
  const random = new SeededRandom(seed);
  let text = random.pick([EXAMPLE, FULL_YAML]);
  for (let count = random.below(4); count >= 0; count -= 1) text = damaged(text, random);
  const over = FULL_YAML.split('\n').slice(random.below(20)).join('\n');
  const resolved = await resolveTexts([text, ...(random.below(3) === 0 ? [damaged(over, random)] : [])]);
  for (const line of [...resolved.warnings, ...(resolved.ok ? [] : resolved.problems)]) {
    assert.match(line, /^[ab]:[1-9]\d*:[1-9]\d*: \S.*: \S.*$/);
  }
  if (!resolved.ok) {
    assert.ok(resolved.problems.length > 0);
    return false;
  }
  const again = await resolveTexts([effectiveYaml(resolved.values)]);
  assert.deepEqual(again.ok && again.settings, resolved.settings);
  return true;
}

test(`a damaged configuration is refused or accepted, and an accepted one prints and loads again (TONEARM_FUZZ_SEED=${SEED})`, async () => {
  let accepted = 0;
  for (let seed = SEED; seed < SEED + ROUNDS; seed += 1) {
    try {
      if (await checkRound(seed)) accepted += 1;
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  // Both ways must have been taken often, or the test tests nothing.
  assert.ok(accepted > ROUNDS / 20 && accepted < (ROUNDS * 19) / 20, `${accepted} accepted`);
});
