// A table of the forms in which tonearm is installed. One Debian package runs on the system's Node, and each
// Debian has one that brings its own Node. Otherwise these packages are the same, and each replaces the
// others. All other forms are for machines without apt.

import { ARCHITECTURES } from './architectures.mjs';

/** The newest symbol version in the binaries for older C libraries, and in the official Node 22 and 24. */
const LIBC = 'libc6 (>= 2.28)';

/** What the forms that bring their own Node have in common. */
const WITH_NODE = {
  name: 'tonearm-with-node',
  architectures: ['amd64', 'arm64'],
  node: '@PREFIX@/lib/tonearm/node',
  lintianOverrides: 'packaging/deb/lintian-overrides',
  relations: ['Provides: tonearm (= @VERSION@)', 'Conflicts: tonearm', 'Replaces: tonearm'],
};
/**
 * The libraries that Node is linked with, besides the C library; the newest symbol that it needs from
 * libstdc++ is GLIBCXX_3.4.21.
 */
const NODE_LIBRARIES = ['libgcc-s1', 'libstdc++6 (>= 5)'];

/**
 * `node` is the Node that the start script calls, with @PREFIX@ as in every text. `nodejs` is the range of
 * the system's Node. `ownNode` is the major version of the Node in the package. `natives` are the binaries
 * in the package: major versions of Node by the npm package that has them. `relations` are those to the
 * other forms, where @VERSION@ is the package's own. `versionSuffix` distinguishes packages of one name. apt
 * counts `0.2.0-1~deb12` as older than `0.2.0-1`, so a node that changes to the next Debian gets that
 * Debian's package. `lintianOverrides` is a file with intended findings of lintian, and their reasons.
 * `suites` are the suites of the apt repository that have the form, each with its architectures.
 *
 * `apt install tonearm` takes the package of this name if its suite has one, and otherwise a package that
 * provides the name. A start with an own Node takes half of the CPU time (bench/FIGURES.md, "The start"). So
 * the suites of Debians have the form `plain` only for architectures that no form with an own Node has.
 */
export const FORMS = {
  plain: {
    name: 'tonearm',
    architectures: Object.keys(ARCHITECTURES),
    suites: { trixie: ['armhf'], 'system-node': Object.keys(ARCHITECTURES) },
    node: 'node',
    versionSuffix: '',
    natives: { 'uWebSockets.js': [20, 22, 24], 'uws-pack': [20, 22] },
    depends: [LIBC],
    nodejs: { from: 20, below: { amd64: 25, arm64: 25, armhf: 23 } },
    relations: ['Conflicts: tonearm-with-node', 'Replaces: tonearm-with-node'],
    description: 'It runs on Node 20, 22 or 24 of the system; tonearm-with-node contains its own Node.',
  },
  withNode: {
    ...WITH_NODE,
    suites: { trixie: WITH_NODE.architectures },
    versionSuffix: '',
    ownNode: 24,
    natives: { 'uWebSockets.js': [24] },
    depends: ['libc6 (>= 2.38)', ...NODE_LIBRARIES],
    description: 'It contains the official Node 24, and does not use a Node of the system.',
  },
  withNodeForDebian12: {
    ...WITH_NODE,
    suites: { bookworm: WITH_NODE.architectures },
    versionSuffix: '~deb12',
    ownNode: 22,
    natives: { 'uws-pack': [22] },
    depends: [LIBC, ...NODE_LIBRARIES],
    description: 'It contains the official Node 22, and does not use a Node of the system.',
  },
};

/**
 * The form of the RPM package, for Fedora and similar systems. It has binaries for old C libraries and for
 * new ones.
 */
export const RPM = {
  name: 'tonearm',
  architectures: WITH_NODE.architectures,
  isRpm: true,
  node: WITH_NODE.node,
  ownNode: 22,
  natives: { 'uWebSockets.js': [22], 'uws-pack': [22] },
  glibc: '2.28',
};

/**
 * The forms of the folder that `install.sh` installs on any Linux with systemd. The form of a release brings
 * its own Node, the newest that has a binary for old C libraries and for new ones. The form of a checkout
 * runs on the system's Node. Their texts keep @PREFIX@, because only install.sh knows it. `glibc` is the
 * oldest C library that loads the binaries.
 */
export const PORTABLE = {
  withNode: {
    name: 'tonearm',
    architectures: WITH_NODE.architectures,
    isPortable: true,
    node: WITH_NODE.node,
    ownNode: RPM.ownNode,
    natives: RPM.natives,
    glibc: RPM.glibc,
  },
  plain: {
    name: 'tonearm',
    architectures: FORMS.plain.architectures,
    isPortable: true,
    node: FORMS.plain.node,
    natives: FORMS.plain.natives,
    glibc: '2.28',
  },
};
