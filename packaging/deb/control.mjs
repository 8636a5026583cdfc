// Texts that the Debian package needs for dpkg: control file, changelog, maintainer scripts, checksums.
// Writes nothing.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const MAINTAINER = 'The tonearm authors <tonearm@tonearm.invalid>';

const DEPENDS = ['systemd', 'dbus-user-session'];
/** polkitd decides whether the node may be restarted. It takes 16 MB with all its dependencies. */
const RECOMMENDS = ['polkitd'];
/**
 * A sound server is only suggested, because a node has one already, and a recommended one would bring half a
 * gigabyte of codecs and drivers of screens.
 */
const SUGGESTS = ['pipewire-pulse | pulseaudio', 'avahi-daemon', 'sudo'];

/** Debian's name of the architecture promises ARMv7; Raspberry Pi OS gives that name to ARMv6, too. */
const ARMHF_DESCRIPTION = [
  ' .',
  ' It needs an ARMv7 processor: it does not run on ARMv6, which is the first',
  ' Raspberry Pi and the Pi Zero (not the Zero 2).',
];

/** The dependencies on the system's Node. There are none in a form that brings its own. */
const nodeDependencies = ({ nodejs: range }, architecture) =>
  range === undefined ? [] : [`nodejs (>= ${range.from})`, `nodejs (<< ${range.below[architecture]})`];

export function controlText({ form, version, architecture, installedKiB }) {
  return `${[
    `Package: ${form.name}`,
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${installedKiB}`,
    `Depends: ${[...nodeDependencies(form, architecture), ...form.depends, ...DEPENDS].join(', ')}`,
    `Recommends: ${RECOMMENDS.join(', ')}`,
    `Suggests: ${SUGGESTS.join(', ')}`,
    ...form.relations.map((line) => line.replace('@VERSION@', version)),
    'Section: sound',
    'Priority: optional',
    'Description: control of one networked audio node over HTTP',
    ' A small daemon for the Linux machine behind an amplifier: it shows and changes',
    ' the sound server (PulseAudio or PipeWire), media players, systemd units, power',
    ' and upgrades over HTTP, and reports every change by server-sent events.',
    ' .',
    ' It runs as a service of one user; tonearm-setup(8) sets that up.',
    ` ${form.description}`,
    ...(architecture === 'armhf' ? ARMHF_DESCRIPTION : []),
  ].join('\n')}\n`;
}

export function debianChangelog({ form, version, epochS }) {
  const date = new Date(epochS * 1000).toUTCString().replace('GMT', '+0000');
  return `${form.name} (${version}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- ${MAINTAINER}  ${date}\n`;
}

/** The texts of the scripts by name, with the shared function filled in. */
export function maintainerScripts(root) {
  const text = (name) => readFileSync(join(root, 'packaging/deb', name), 'utf8');
  const shared = text('user-managers.sh').trimEnd();
  return Object.fromEntries(
    ['postinst', 'prerm', 'postrm'].map((name) => [name, text(name).replace('@USER_MANAGERS@', shared)]),
  );
}

/** The text of the file `md5sums`. `paths` are relative to `tree`. */
export function md5sums(tree, paths) {
  const line = (path) =>
    `${createHash('md5')
      .update(readFileSync(join(tree, path)))
      .digest('hex')}  ${path}\n`;
  return paths.map(line).join('');
}
