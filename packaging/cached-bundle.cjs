// What is loaded in a bundle's place: `main.js` runs `main.bundle.js`, whose digest the build puts in here. If $TONEARM_CODE_CACHE names a
// folder, the code that V8 has compiled is kept there for the next start, which takes a quarter less CPU time (measured). May never
// cost a start: without a folder, or with one that cannot be read or written, the bundle is compiled as ever.

const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');

/** Of the bundle, in hexadecimal digits. */
const DIGEST = BUNDLE_DIGEST;
const FOLDER = process.env.TONEARM_CODE_CACHE;
/** By then the first clients have been answered, and what that takes has been compiled. */
const KEEP_AFTER_MS = 10_000;

const file = __filename.replace(/\.js$/, '.bundle.js');
const script = new Script(readFileSync(file, 'utf8'), { filename: file, cachedData: kept() });
if (FOLDER && script.cachedDataRejected !== false) {
  setTimeout(() => keep().catch(() => undefined), KEEP_AFTER_MS).unref();
}
script.runInThisContext()(exports, require, module, __filename, __dirname);

/** V8 itself compares its version and flags with those of the code, but neither reads the bundle nor misses an end that was cut off. */
function head(length) {
  return `${DIGEST} ${String(length).padStart(10)}\n`;
}

function place() {
  return `${FOLDER}/${BUNDLE_NAME.replaceAll('/', '-')}.code`;
}

function kept() {
  if (!FOLDER) return undefined;
  try {
    const bytes = readFileSync(place());
    const begin = head(0).length;
    return bytes.latin1Slice(0, begin) === head(bytes.length - begin) ? bytes.subarray(begin) : undefined;
  } catch {
    return undefined;
  }
}

/** Whoever reads meanwhile, and after a power cut, sees the last file whole. */
async function keep() {
  // Only here: loading it takes a millisecond in each thread.
  const { mkdir, rename, writeFile } = require('node:fs/promises');
  const code = script.createCachedData();
  const fresh = `${place()}.${process.pid}`;
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  await writeFile(fresh, Buffer.concat([Buffer.from(head(code.length)), code]), { mode: 0o600, flush: true });
  await rename(fresh, place());
}
