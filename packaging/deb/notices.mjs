// The licence texts of the npm packages whose code is in the bundles, and of Node where it is shipped along, as one text. What is bundled is what package-lock.json
// lists for production, and the page's library; a package without a licence text ends the build.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_22 } from '../node22.mjs';

/** Bundled into the page and nothing else, so that no installation of the daemon wants them. */
const OF_THE_PAGE = ['node_modules/preact'];
/** Installed, but never part of a bundle: an optional native addon, and what stands in usocket's place. */
const NOT_BUNDLED = /(?:^|\/)(?:@napi-rs\/[^/]+|usocket)$/;
const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)/i;

/**
 * uws-pack repackages uWebSockets.js and its licence file names only itself; what it holds is under these terms, whose text
 * every Debian system has in /usr/share/common-licenses.
 */
const CONTAINED = {
  'uWebSockets.js':
    'The binary is built from uWebSockets.js, uWebSockets and uSockets, Copyright Alex Hultman and contributors, under the ' +
    'Apache License, Version 2.0 (/usr/share/common-licenses/Apache-2.0).',
};

function bundledPackages(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(
      ([path, { dev, devOptional }]) =>
        OF_THE_PAGE.includes(path) || (path !== '' && !dev && !devOptional && !NOT_BUNDLED.test(path)),
    )
    .map(([path]) => path)
    .filter((path) => existsSync(join(root, path)))
    .sort();
}

const section = (title, text) => `${'='.repeat(78)}\n${title}\n${'='.repeat(78)}\n\n${text}\n`;

function notice(root, path) {
  const folder = join(root, path);
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  if (texts.length === 0) throw new Error(`${path} has no licence text`);
  const extra = CONTAINED[path.replace(/^node_modules\//, '')];
  if (extra !== undefined) texts.push(extra);
  return section(`${name} ${version}`, texts.join('\n\n'));
}

/**
 * @param {string | undefined} nodeLicence the file with the licence texts of the Node that is shipped along, if one is.
 * @returns {string}
 */
export function thirdPartyNotices(root, nodeLicence) {
  const notices = bundledPackages(root).map((path) => notice(root, path));
  const npmPart = `tonearm contains code of these npm packages:\n\n${notices.join('\n')}`;
  if (nodeLicence === undefined) return npmPart;
  return `${npmPart}\n${section(`Node.js ${NODE_22}, /usr/lib/tonearm/node`, readFileSync(nodeLicence, 'utf8').trim())}`;
}
