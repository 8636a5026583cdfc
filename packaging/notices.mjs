// The licence texts of the npm packages whose code is in the bundles, as one text. A package without a
// licence text ends the build.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)/i;
/** Matches the package's folder at the beginning of a file's path. */
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

const APACHE = readFileSync(new URL('apache-2.0.txt', import.meta.url), 'utf8').trim();
const UWS =
  'The binaries are built from uWebSockets.js, uWebSockets and uSockets, Copyright Alex Hultman and contributors, under the ' +
  `following licence.\n\n${APACHE}`;
/**
 * These packages contain uWebSockets.js without its licence text. The licence file of uws-pack names only
 * the makers of the package, and the other package has no licence file.
 */
const CONTAINED = { 'uws-pack': UWS, '@btc-vision/uwebsockets.js': UWS };

/** A licence text under its title. */
export const section = (title, text) => `${'='.repeat(78)}\n${title}\n${'='.repeat(78)}\n\n${text}\n`;

function notice(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  if (CONTAINED[name] !== undefined) texts.push(CONTAINED[name]);
  if (texts.length === 0) throw new Error(`${folder} has no licence text`);
  return section(`${name} ${version}`, texts.join('\n\n'));
}

/**
 * @param {readonly string[]} inputs paths of all that was bundled
 * @returns {string}
 */
export function thirdPartyNotices(inputs) {
  const folders = new Set(inputs.flatMap((path) => PACKAGE_FOLDER.exec(path)?.[0] ?? []));
  const notices = [...folders].map(notice).sort();
  return `tonearm contains code of these npm packages:\n\n${notices.join('\n')}`;
}
