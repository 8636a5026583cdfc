// Stands in a bundle's place: `main.js` runs `main.bundle.js`, whose digest the build puts in here. If $TONEARM_CODE_CACHE names a
// folder, the code that V8 has compiled is kept there for the next start, which takes a quarter less CPU time (measured). Without a
// folder, or with one that cannot be read or written, or code that is not as it was written, the bundle is compiled as ever.

const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');

/** The first line of a file: which bundle it is of, as V8 does not read that. The code follows twice. */
const HEAD = `${BUNDLE_DIGEST}\n`;
const FOLDER = process.env.TONEARM_CODE_CACHE;
/** By then the first clients have been answered, and what that takes has been compiled. */
const KEEP_AFTER_MS = 10_000;

const file = __filename.replace(/\.js$/, '.bundle.js');
const script = new Script(readFileSync(file, 'utf8'), { filename: file, cachedData: kept() });
if (FOLDER && script.cachedDataRejected !== false) {
  setTimeout(() => keep().catch(() => undefined), KEEP_AFTER_MS).unref();
}
script.runInThisContext()(exports, require, module, __filename, __dirname);

function place() {
  return `${FOLDER}/${BUNDLE_NAME.replaceAll('/', '-')}.code`;
}

/** V8 looks at its version, its flags and the length alone: one changed byte ends the process (measured). Comparing two copies costs no time. */
function kept() {
  if (!FOLDER) return undefined;
  try {
    const bytes = readFileSync(place());
    const middle = (HEAD.length + bytes.length) / 2;
    const isSame = bytes.compare(bytes, middle, bytes.length, HEAD.length, middle) === 0;
    return isSame && bytes.latin1Slice(0, HEAD.length) === HEAD ? bytes.subarray(middle) : undefined;
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
  await writeFile(fresh, Buffer.concat([Buffer.from(HEAD), code, code]), { mode: 0o600, flush: true });
  await rename(fresh, place());
}
