// Takes the place of a bundle: as `main.js` it runs `main.bundle.js`. If $TONEARM_CODE_CACHE names a folder,
// it keeps there what V8 has compiled. The next start then takes a quarter less CPU time (bench/FIGURES.md).
// Without the folder, or if the kept code is not as it was written, V8 compiles the bundle again.

const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');

/**
 * The first line of a cache file. It has the digest of the bundle, because V8 does not check to which bundle
 * the code belongs. The build puts the digest in here. Behind this line the compiled code stands twice.
 */
const HEAD = `${BUNDLE_DIGEST}\n`;
const FOLDER = process.env.TONEARM_CODE_CACHE;
/** By then the first clients have been answered, so that the code for this has been compiled, too. */
const WRITE_AFTER_MS = 10_000;

const bundle = __filename.replace(/\.js$/, '.bundle.js');
const script = new Script(readFileSync(bundle, 'utf8'), { filename: bundle, cachedData: cachedCode() });
// V8 sets `cachedDataRejected` to false when it uses cached code. It is undefined without cached code.
const isCodeCached = script.cachedDataRejected === false;
if (FOLDER && !isCodeCached) {
  setTimeout(() => writeCache().catch(() => undefined), WRITE_AFTER_MS).unref();
}
script.runInThisContext()(exports, require, module, __filename, __dirname);

function cachePath() {
  return `${FOLDER}/${BUNDLE_NAME.replaceAll('/', '-')}.code`;
}

/**
 * Returns the cached code if its two copies are the same. V8 checks only its own version, its flags and the
 * length: one changed byte would end the process (docs/development/what-we-learnt.md, "Node and V8").
 */
function cachedCode() {
  if (!FOLDER) return undefined;
  try {
    const bytes = readFileSync(cachePath());
    const middle = (HEAD.length + bytes.length) / 2;
    const isSame = bytes.compare(bytes, middle, bytes.length, HEAD.length, middle) === 0;
    return isSame && bytes.latin1Slice(0, HEAD.length) === HEAD ? bytes.subarray(middle) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes another file and renames it, so that a reader never sees a half-written one, also after a power cut.
 */
async function writeCache() {
  // It is loaded only here, because loading it takes a millisecond in each thread.
  const { mkdir, rename, writeFile } = require('node:fs/promises');
  const code = script.createCachedData();
  const newPath = `${cachePath()}.${process.pid}`;
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  await writeFile(newPath, Buffer.concat([Buffer.from(HEAD), code, code]), { mode: 0o600, flush: true });
  await rename(newPath, cachePath());
}
