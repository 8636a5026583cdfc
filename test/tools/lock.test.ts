// The lock file is whole: `npm ci` refuses one that leaves out other platforms' optional packages, and npm leaves them out
// when it cannot see them in the registry at hand.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Entry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

// build/test/tools/lock.test.js -> the project's root
const LOCK = new URL('../../../package-lock.json', import.meta.url);

/** Names of the folders in which Node would look for a dependency of the package at `path`. */
function places(path: string, name: string): readonly string[] {
  const levels = path.split('/node_modules/').map((_, i, all) => all.slice(0, i + 1).join('/node_modules/'));
  return ['', ...levels.filter((level) => level !== '')].map((level) =>
    level === '' ? `node_modules/${name}` : `${level}/node_modules/${name}`,
  );
}

test('the lock file holds every package that another one asks for', () => {
  const { packages }: { packages: Readonly<Record<string, Entry>> } = JSON.parse(readFileSync(LOCK, 'utf8'));
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !places(path, name).some((place) => Object.hasOwn(packages, place)))
      .map((name) => `${name}, which ${path} asks for`),
  );
  assert.deepEqual(missing, []);
});
