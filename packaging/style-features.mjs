// The features that a style sheet uses: `@media`, `@media width`, `:hover`, `color`, `color: red`, `min()`,
// `dvh`. Reads what esbuild has written, so that there are no comments and no nesting.

/**
 * The values of these properties contain names, such as those of fonts, animations or other properties. So
 * the words of such a value are no features.
 */
const NAMING =
  /^(?:--.*|animation|animation-name|font|font-family|grid-area|grid-template-areas|transition|transition-property|will-change|content)$/;
const WORD = /^-?[a-z][a-z0-9-]*$/i;

export function featuresOfStyle(text) {
  const features = new Set();
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""').replace(/url\([^)]*\)/g, 'url()');
  let partStart = 0;
  for (const { 0: separator, index } of bare.matchAll(/[{};]/g)) {
    const part = bare.slice(partStart, index).trim();
    partStart = index + 1;
    if (part === '') continue;
    if (part.startsWith('@')) noteRule(features, part);
    else if (separator === '{') noteSelector(features, part);
    else noteDeclaration(features, part);
  }
  return features;
}

function noteRule(features, part) {
  const [, name, prelude] = /^@([\w-]+)\s*(.*)$/s.exec(part);
  features.add(`@${name}`);
  for (const [, feature] of prelude.matchAll(/\(\s*([a-z-]+)/g)) features.add(`@${name} ${feature}`);
}

function noteSelector(features, part) {
  for (const [, name] of part.matchAll(/::?([a-z-]+)/g)) features.add(`:${name}`);
}

function noteDeclaration(features, part) {
  const [, property, value] = /^([\w-]+)\s*:(.*)$/s.exec(part) ?? [];
  if (property === undefined) throw new Error(`Not a declaration: ${part}`);
  if (!property.startsWith('--')) features.add(property);
  for (const [, name] of value.matchAll(/([a-z-]+)\(/g)) features.add(`${name}()`);
  // A unit follows a number, as `s` does in `1.5s`. The colour `#1ab` has no unit.
  for (const [, unit] of value.matchAll(/(?<![\w#-])[+-]?[\d.]+([a-z]+)/g)) features.add(unit);
  if (NAMING.test(property)) return;
  // Colours such as `#fff` and functions such as `min()` are no words.
  for (const word of value.replace(/#[\da-f]+/gi, ' ').split(/[\s,()/!]+/)) {
    const isFunction = value.includes(`${word}(`);
    if (WORD.test(word) && !isFunction) features.add(`${property}: ${word}`);
  }
}
