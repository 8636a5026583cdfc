// Writes packaging/browser-features.json anew: for each feature that the bundles use, the first versions of
// Chromium, Firefox and Safari that have it. They come from the data of MDN, which are no dependency of the
// project:
//
//   npm install --no-save --prefix DIR @mdn/browser-compat-data
//   node packaging/browser-features.mjs DIR/node_modules/@mdn/browser-compat-data/data.json
//
// If several interfaces have a member of one name, the oldest counts. That is safe, because the compiler
// knows only the language of 2022 for the page (src/page/tsconfig.json), and newer members of the platform
// have other names. If MDN does not know a feature, its row is that of the feature that it is part of. If
// there is no such feature either, the row is `? ? ?`.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ALLOWED, featuresOfScript } from './browser-check.mjs';
import { BROWSERS } from './browsers.mjs';
import { bundledStyle } from './page.mjs';
import { bundledScript } from './page-script.mjs';
import { featuresOfStyle } from './style-features.mjs';

const ENTRIES = ['src/page/main.tsx', 'src/page/page.css', 'src/client/client.ts'];
const [dataFile = ''] = process.argv.slice(2);
const { api, javascript, css } = JSON.parse(readFileSync(dataFile, 'utf8'));

const versionOf = (compat, browser) => {
  const statements = [compat.support[browser] ?? []].flat();
  const whole = statements.find(
    ({ version_added, version_removed, prefix, alternative_name, flags }) =>
      typeof version_added === 'string' &&
      version_added !== 'preview' &&
      !version_removed &&
      !(prefix || alternative_name || flags),
  );
  return whole?.version_added.replace('≤', '') ?? '-';
};

const numberOf = (version) => (version === '-' ? Number.POSITIVE_INFINITY : Number(version));
const rowOf = ({ __compat: compat }) => BROWSERS.map(({ target }) => versionOf(compat, target));

/** The oldest version of each browser that has any of these features, or undefined without data. */
function oldest(found) {
  const rows = found.filter((each) => each?.__compat !== undefined).map(rowOf);
  const best = (index) =>
    rows.map((row) => row[index]).sort((one, other) => numberOf(one) - numberOf(other))[0];
  return rows.length === 0 ? undefined : BROWSERS.map((_, index) => best(index)).join(' ');
}

const interfaces = [
  ...Object.values(api),
  ...Object.values(javascript.builtins),
  ...Object.values(javascript.builtins.Intl),
];

const membersNamed = (name) =>
  interfaces.flatMap((each) => [each[name], each[`${name}_static`], each[`${name}_event`]]);

function globalRow(name) {
  return oldest([javascript.builtins[name], api[name], api.Window[name], api._globals?.[name]]);
}

/** The row of `fetch`, `Object.hasOwn` or `.at`. */
function scriptRow(feature) {
  const [object, member] = feature.split('.');
  if (member === undefined) return globalRow(object);
  if (object === '') return oldest(membersNamed(member));
  const owners = [javascript.builtins[object], api[object]].filter(Boolean);
  return oldest(owners.flatMap((each) => [each[member], each[`${member}_static`]])) ?? globalRow(object);
}

/** The first feature of this name below any type of value. */
function typeNamed(name, among = css.types, depth = 0) {
  for (const [key, value] of Object.entries(among)) {
    if (key === '__compat' || typeof value !== 'object') continue;
    if (key === name) return value;
    const inner = depth < 3 ? typeNamed(name, value, depth + 1) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** The row of `@media`, whose `part` is undefined, or of `@media min-width`. */
function ruleRow(rule, part) {
  const whole = css['at-rules'][rule];
  if (part === undefined) return oldest([whole]);
  // Without a feature `min-width` the feature `width` counts.
  const feature = whole?.[part] ?? whole?.[part.replace(/^(?:min|max)-/, '')];
  return oldest([feature]) ?? oldest([whole]);
}

/** The row of `word` as a value of `property`. */
function wordRow(property, word) {
  const whole = css.properties[property];
  return oldest([whole?.[word.replaceAll('-', '_')], whole?.[word]]) ?? oldest([whole]);
}

/** The row of `@media`, `@media width`, `:hover`, `color`, `color: red`, `min()` or `dvh`. */
function styleRow(feature) {
  const [, rule, part] = /^@([\w-]+)(?: (.*))?$/.exec(feature) ?? [];
  if (rule !== undefined) return ruleRow(rule, part);
  if (feature.startsWith(':')) return oldest([css.selectors[feature.slice(1)]]);
  const [property, word] = feature.split(': ');
  if (word !== undefined) return wordRow(property, word);
  if (feature.endsWith('()')) {
    const name = feature.slice(0, -2);
    // Example: `gradient` of `linear-gradient`.
    const lastWord = name.replace(/^.*-/, '');
    return oldest([typeNamed(name), typeNamed(lastWord)]);
  }
  return oldest([css.properties[feature], typeNamed(feature)]);
}

const rows = [];
for (const entry of ENTRIES) {
  const path = fileURLToPath(new URL(`../${entry}`, import.meta.url));
  const isStyle = entry.endsWith('.css');
  const texts = isStyle
    ? [await bundledStyle(path)]
    : (await bundledScript(path)).files.map(({ bytes }) => bytes);
  const features = texts.flatMap((text) => [...(isStyle ? featuresOfStyle : featuresOfScript)(String(text))]);
  for (const feature of new Set(features))
    if (!ALLOWED.has(feature)) rows.push([feature, (isStyle ? styleRow : scriptRow)(feature) ?? '? ? ?']);
}
const sorted = Object.fromEntries(rows.sort(([one], [other]) => (one < other ? -1 : 1)));
writeFileSync(new URL('browser-features.json', import.meta.url), `${JSON.stringify(sorted, null, 2)}\n`);
