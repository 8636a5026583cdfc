// What dpkg is told about the package: control file, Debian changelog, maintainer scripts, checksums. Texts; writes nothing.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const MAINTAINER = 'The tonearm authors <tonearm@tonearm.invalid>';

/** libc6: the newest symbol version in any of the native files. */
const DEPENDS = ['nodejs (>= 20)', 'nodejs (<< 23)', 'libc6 (>= 2.28)', 'systemd', 'dbus-user-session'];
/** polkitd says whether the node may be restarted; a sound server may be another machine's. */
const RECOMMENDS = ['polkitd', 'pulseaudio | pipewire-pulse'];

export function controlText({ version, architecture, installedKiB }) {
  return `${[
    'Package: tonearm',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${installedKiB}`,
    `Depends: ${DEPENDS.join(', ')}`,
    `Recommends: ${RECOMMENDS.join(', ')}`,
    'Section: sound',
    'Priority: optional',
    'Description: control of one networked audio node over HTTP',
    ' A small daemon for the Linux machine behind an amplifier: it shows and changes',
    ' the sound server (PulseAudio or PipeWire), systemd units, power and upgrades',
    ' over HTTP, and tells of every change by server-sent events.',
    ' .',
    ' It runs as a service of one user, whom tonearm-setup(8) names.',
  ].join('\n')}\n`;
}

export function debianChangelog({ version, epochS }) {
  const date = new Date(epochS * 1000).toUTCString().replace('GMT', '+0000');
  return `tonearm (${version}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- ${MAINTAINER}  ${date}\n`;
}

/** Name -> text, the shared function filled in. */
export function maintainerScripts(root) {
  const text = (name) => readFileSync(join(root, 'packaging/deb', name), 'utf8');
  const shared = text('user-managers.sh').trimEnd();
  return Object.fromEntries(
    ['postinst', 'prerm', 'postrm'].map((name) => [name, text(name).replace('@USER_MANAGERS@', shared)]),
  );
}

/** `paths` are relative to `tree`. */
export function md5sums(tree, paths) {
  const line = (path) =>
    `${createHash('md5')
      .update(readFileSync(join(tree, path)))
      .digest('hex')}  ${path}\n`;
  return paths.map(line).join('');
}
