// `npm run rpm`: builds an RPM package with its own Node, for Fedora and similar systems. It needs rpmbuild
// (Debian: apt install rpm), but no root, and the network only to fetch Node once. The same sources and
// SOURCE_DATE_EPOCH give the same bytes.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ROOT, run, script } from './command.mjs';
import { ARCHITECTURES } from './deb/architectures.mjs';
import { maintainerScripts } from './deb/control.mjs';
import { RPM } from './deb/forms.mjs';
import {
  architecturesFor,
  buildTimeS,
  laidOut,
  ownVersion,
  PACKING_OPTIONS,
  regularFilesBelow,
} from './laid-out.mjs';

const MIB = 1 << 20;

const USAGE = `Usage: npm run rpm [-- OPTIONS]

Builds tonearm-VERSION-1.MACHINE.rpm, with Node ${RPM.ownNode} in it, for this machine's
architecture.

  --arch ARCH     amd64 or arm64, or all of them; in the file's name they are
                  x86_64 and aarch64
  --dist DIR      pack the build in DIR (see npm run build) rather than a new one
  --out DIR       the folder for the package; the checkout unless given
  --version V     the version
  --fast          compress it fast rather than well
  --help          print this text
`;

/** Otherwise rpmbuild strips Node, compresses manuals again, and writes down the builder and the time. */
const MACROS = {
  __os_install_post: '%{nil}',
  debug_package: '%{nil}',
  _build_id_links: 'none',
  _buildhost: 'localhost',
  use_source_date_epoch_as_buildtime: '1',
  clamp_mtime_to_source_date_epoch: '1',
};

/**
 * The paths that the package owns: folders that only tonearm uses, such as `/usr/lib/tonearm`, and single
 * files elsewhere.
 */
function ownPaths(tree) {
  const own = regularFilesBelow(tree).map((path) => /^.*?\/tonearm(?=\/)/.exec(path)?.[0] ?? path);
  return [...new Set(own)].map((path) => `/${path}`);
}

/**
 * The scripts of the Debian package. They expect a word of dpkg's, such as `remove`. rpm gives them the
 * number of installations afterwards instead, so a line before each script sets the word.
 */
function scriptlets() {
  const { postinst, prerm, postrm } = maintainerScripts(ROOT);
  const REMOVES = 'case $1 in 0) set -- remove ;; *) set -- upgrade ;; esac';
  const scriptlet = (name, words, text) =>
    `%${name}\n${words}\n${text.replace(/^#!.*\n/, '').replaceAll('%', '%%')}`;
  return [
    scriptlet('post', 'set -- configure', postinst),
    scriptlet('preun', REMOVES, prerm),
    scriptlet('postun', REMOVES, postrm),
  ].join('\n');
}

const specText = (version, tree) => `Name: tonearm
Version: ${version}
Release: 1
Summary: Control of one networked audio node over HTTP
License: MIT
AutoReqProv: no
Requires: systemd
Requires: glibc >= ${RPM.glibc}
Requires: libstdc++
Requires: libgcc
Recommends: polkit

%description
A small daemon for the Linux machine behind an amplifier: it shows and changes
the sound server (PulseAudio or PipeWire), media players, systemd units and
power over HTTP, and reports every change by server-sent events.

It runs as a service of one user; tonearm-setup(8) sets that up.
It contains the official Node ${RPM.ownNode}.

%install
cp -a '${tree}/.' '%{buildroot}'

${scriptlets()}
%files
%defattr(-,root,root)
${ownPaths(tree).join('\n')}
`;

/** Packs for any architecture on any machine, because nothing is compiled here. */
function pack(architecture, tree, { version, epochS, out, fast, report }) {
  const { machine } = ARCHITECTURES[architecture];
  const top = join(dirname(tree), `rpm-${architecture}`);
  mkdirSync(top);
  const spec = join(top, 'tonearm.spec');
  writeFileSync(spec, specText(version, tree));
  report(`packing for ${machine}`);
  const macros = {
    ...MACROS,
    _topdir: top,
    _rpmdir: out,
    _rpmfilename: '%{name}-%{version}-%{release}.%{arch}.rpm',
    _binary_payload: fast ? 'w1.gzdio' : 'w6.xzdio',
  };
  const defined = Object.entries(macros).flatMap(([name, value]) => ['--define', `${name} ${value}`]);
  const args = ['-bb', '--quiet', '--target', machine, ...defined, spec];
  run('rpmbuild', args, { env: { SOURCE_DATE_EPOCH: String(epochS) } });
  const file = join(out, `tonearm-${version}-1.${machine}.rpm`);
  console.log(`${file}: ${(statSync(file).size / MIB).toFixed(1)} MiB`);
}

function main({ arch, dist, out, version = ownVersion(), fast }, _, report) {
  const epochS = buildTimeS();
  const folder = resolve(out);
  mkdirSync(folder, { recursive: true });
  const architectures = architecturesFor(arch, RPM);
  laidOut({ form: RPM, architectures, version, epochS, dist, report }, (architecture, tree) =>
    pack(architecture, tree, { version, epochS, out: folder, fast, report }),
  );
}

await script('rpm', { usage: USAGE, options: PACKING_OPTIONS, main });
