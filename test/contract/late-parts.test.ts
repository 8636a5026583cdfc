// The built program loads each of its late parts, and the table of them is whole. The packages run the same
// table in test/packaging.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { skipReason } from '../tools/requirements.js';
import { LATE_PART_PROGRAMS, LATE_PARTS, loadsItsLateParts } from './late-parts.js';

// This file is run as build/test/contract/late-parts.test.js, three folders below the project's root.
const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Without options, the bundles of the checkout are run. */
const CHECKOUT = {};

const LATE_IMPORT = /\bimport\('(\.[^']+)\.js'\)/g;

/** Browsers load the late parts of the page (test/browser/page-languages.test.ts). */
const PAGE_FOLDER = 'page/';

test('every part that the daemon loads late has a row in test/contract/late-parts.ts', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith(PAGE_FOLDER),
  );
  const loaded = files.flatMap((file) =>
    [...readFileSync(join(SRC, file), 'utf8').matchAll(LATE_IMPORT)].map(([, path = '']) =>
      join(dirname(file), path),
    ),
  );
  const expected = [...new Set(loaded)].sort();
  const rows = Object.keys(LATE_PARTS).sort();
  assert.deepEqual(
    rows,
    expected,
    'add a row to LATE_PARTS that uses the part, and fails if the part cannot be loaded',
  );
});

test(
  'the built program loads each of its late parts',
  { skip: skipReason({ programs: LATE_PART_PROGRAMS }) },
  (t) => loadsItsLateParts(t, CHECKOUT),
);
