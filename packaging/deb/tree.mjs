// Lays out the files of an installed tonearm: under a folder that stands for `/`, for the Debian and RPM
// packages, or as the folder that install.sh installs. Modes do not depend on the builder's umask. It builds
// nothing, because its callers give it the bundles.

import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run } from '../command.mjs';
import { nativeFiles } from '../natives.mjs';
import { NO_INSPECTOR } from '../no-inspector.mjs';
import { section } from '../notices.mjs';
import { ARCHITECTURES } from './architectures.mjs';

/**
 * No flag of V8's is used, because Node refuses its own code cache with any of them
 * (docs/development/what-we-learnt.md, "Node and V8"). A start without this cache costs a third more CPU
 * until the first answer, and so does each call of `tonearm` by a script.
 *
 * MemoryMax= of the unit replaces --max-semi-space-size=1 and --max-old-space-size=128, because Node sizes
 * the heap by it (a semi-space of 1 MB, an old generation of 256 MB). The daemon has 73 MB at rest and 96 MB
 * under a storm, with the flags or with MemoryMax=. It has 75 and 105 MB with neither (Rss, x64, Node 20).
 * The last two also hold for a machine with 4 GB or more whose kernel has no memory cgroups. All these
 * figures are older than the limits of src/supervisor/threads.ts, with which threads have that semi-space
 * anyway.
 *
 * One malloc arena (packaging/deb/tonearm) saves 4 MB. --optimize-for-size makes V8 a third slower.
 * --single-threaded-gc and --v8-pool-size=1 saved nothing.
 */
const NODE_FLAGS = [NO_INSPECTOR];

/** The licence texts lie beside the bundles, where the npm package has them. */
const NOTICES = 'third-party-notices.txt';

/** A day, as in a man page's footer. */
const dayOf = (epochS) => new Date(epochS * 1000).toISOString().slice(0, 10);

/** A gzip without name and time, so that equal texts are equal files. */
const zipped = (text) => gzipSync(text, { level: 9 });

/** The prefix of the installed paths in all texts. install.sh fills in its own, which only it knows. */
const prefixOf = (form) => (form.isPortable ? '@PREFIX@' : '/usr');

/**
 * @param {{ root: string, dist: string, into: string, form: object, architecture: string, version: string,
 *   epochS: number, ownNode?: { version: string, node: string, licence: string } }} plan
 * `dist` holds the bundles, `into` is filled, `form` is a row of forms.mjs, `epochS` is the build's time in
 * seconds, and `ownNode` has the files of the Node that is in the package.
 */
export function layOut(plan) {
  const { root, into, form, ownNode, architecture, version, epochS } = plan;
  const prefix = prefixOf(form);
  const under = form.isPortable ? into : join(into, prefix);
  const source = (path) => readFileSync(join(root, path), 'utf8');
  const put = (path, content, mode = 0o644) => {
    const file = join(under, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
  };
  const filled = (text) =>
    text
      .replace('@ARMV7_ONLY@\n', architecture === 'armhf' ? source('packaging/deb/armv7-only.sh') : '')
      .replaceAll('@NODE@', form.node)
      .replaceAll('@PREFIX@', prefix)
      .replaceAll('@PACKAGE@', form.name)
      .replaceAll('@NODE_FLAGS@', NODE_FLAGS.join(' '))
      .replaceAll('@VERSION@', version)
      .replaceAll('@DATE@', dayOf(epochS));
  const context = { ...plan, under, source, put, filled };

  layOutProgram(context);
  if (ownNode !== undefined) put('lib/tonearm/node', readFileSync(ownNode.node), 0o755);
  put('bin/tonearm', filled(source('packaging/deb/tonearm')), 0o755);
  put('lib/tonearm/wait-listening', source('packaging/deb/wait-listening'), 0o755);
  put('sbin/tonearm-setup', filled(source('packaging/tonearm-setup')), 0o755);
  put('lib/systemd/user/tonearm.service', filled(source('packaging/tonearm.service')));
  put('lib/systemd/user/tonearm-mpris-proxy.service', source('packaging/tonearm-mpris-proxy.service'));
  put('share/tonearm/config.example.yaml', source('packaging/config.example.yaml'));
  put('share/tonearm/polkit/tonearm.rules.in', source('packaging/polkit/tonearm.rules.in'));
  layOutDocuments(context);
  if (form.isPortable) layOutInstaller(context);
  else if (form.isRpm) layOutLicences(context, 'share/licenses/tonearm');
  else layOutForDebian(context);
  chmodSync(into, 0o755);
  for (const entry of readdirSync(into, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath ?? entry.path, entry.name), 0o755);
  }
}

/**
 * Lays out what only Debian packages have: the example of upgrades with apt, and the licence texts where
 * Debian's policy wants them.
 */
function layOutForDebian({ root, dist, under, form, ownNode, source, put, filled }) {
  const prefix = prefixOf(form);
  for (const file of readdirSync(join(root, 'packaging/upgrade')).sort()) {
    const text = source(join('packaging/upgrade', file));
    put(`share/tonearm/upgrade/${file}`, filled(text), text.startsWith('#!') ? 0o755 : 0o644);
  }
  symlinkSync('../../share/tonearm/upgrade', join(under, 'lib/tonearm/upgrade'));
  const doc = `share/doc/${form.name}`;
  put(`${doc}/third-party-notices.gz`, zipped(licenceTexts(dist, ownNode, prefix)));
  put(`${doc}/copyright`, copyright(source('LICENSE')));
  if (form.lintianOverrides) put(`share/lintian/overrides/${form.name}`, source(form.lintianOverrides));
}

/** Lays out the top of the folder: install.sh and the licence texts. */
function layOutInstaller(context) {
  const { form, ownNode, architecture, source, put } = context;
  const machine = ownNode === undefined ? '' : ARCHITECTURES[architecture].machine;
  const installer = source('packaging/portable/install.sh')
    .replace('@USER_MANAGERS@', source('packaging/deb/user-managers.sh').trimEnd())
    .replace('@MACHINE@', machine)
    .replace('@GLIBC@', form.glibc);
  put('install.sh', installer, 0o755);
  layOutLicences(context, '.');
}

/** Lays out the licence texts for machines without Debian's places for them. */
function layOutLicences({ dist, form, ownNode, source, put }, folder) {
  put(join(folder, 'LICENSE'), source('LICENSE'));
  put(join(folder, NOTICES), licenceTexts(dist, ownNode, form.isPortable ? '.' : prefixOf(form)));
}

/** Completions, manuals and documents. */
function layOutDocuments({ root, dist, form, source, put, filled }) {
  for (const [shell, path] of Object.entries(completionPaths(form))) put(path, completion(dist, shell));
  for (const page of readdirSync(join(root, 'packaging/man')).sort()) {
    const path = `share/man/man${page.at(-1)}/${page}`;
    const text = filled(source(join('packaging/man', page)));
    // Pages that install.sh still has to fill in are not compressed.
    if (form.isPortable) put(path, text);
    else put(`${path}.gz`, zipped(text));
  }
  const doc = `share/doc/${form.name}`;
  put(`${doc}/examples/config.yaml`, source('packaging/config.example.yaml'));
  put(`${doc}/page.png`, readFileSync(join(root, 'packaging/page.png')));
  for (const path of documents(root)) put(`${doc}/${path}`, readFileSync(join(root, path)));
  put(`${doc}/changelog.gz`, zipped(source('CHANGELOG.md')));
}

/**
 * The documents for users and the files that they link to. Their paths are those of the checkout, so that
 * links between them hold.
 */
function documents(root) {
  const files = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
      .filter((path) => !path.startsWith('docs/development/')),
  );
  const pictures = ['packaging/home-assistant.png', 'packaging/home-assistant-dashboard.png'];
  return [...files, 'bench/FIGURES.md', 'bench/RESULTS.md', 'packaging/compose.yaml', ...pictures].sort();
}

/**
 * Where each shell looks for the completions of `tonearm`. Only on Debian zsh also looks into
 * `vendor-completions`.
 */
function completionPaths(form) {
  return {
    bash: 'share/bash-completion/completions/tonearm',
    zsh: `share/zsh/${form.isPortable || form.isRpm ? 'site-functions' : 'vendor-completions'}/_tonearm`,
    fish: 'share/fish/vendor_completions.d/tonearm.fish',
  };
}

/** The completion for a shell, which the program prints itself. */
function completion(dist, shell) {
  return run(process.execPath, [join(dist, 'main.js'), 'ctl', 'completion', shell]);
}

/** Lays out the bundles, and those native files that are for this architecture and form. */
function layOutProgram({ dist, root, architecture, form, put }) {
  const bundles = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.node') && entry.name !== NOTICES)
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  for (const file of bundles) put(join('lib/tonearm', file.slice(dist.length + 1)), readFileSync(file));
  for (const { name, node, file, place } of nativeFiles(root, ARCHITECTURES[architecture].node))
    if (form.natives[name]?.includes(node)) put(join('lib/tonearm', place), readFileSync(file));
}

/** The licence texts of the bundled packages and, where Node is in the package, of Node. */
function licenceTexts(dist, ownNode, prefix) {
  const bundled = readFileSync(join(dist, NOTICES), 'utf8');
  if (ownNode === undefined) return bundled;
  const licence = readFileSync(ownNode.licence, 'utf8').trim();
  return `${bundled}\n${section(`Node.js ${ownNode.version}, ${prefix}/lib/tonearm/node`, licence)}`;
}

function copyright(licence) {
  return [
    'tonearm is under the following licence.',
    'It contains code of other authors, mainly npm packages. Their names, versions and licence texts are in third-party-notices.gz beside this file.',
    'The Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0.',
    '',
    licence,
  ].join('\n');
}
