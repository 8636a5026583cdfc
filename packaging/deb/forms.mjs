// The forms of what is installed. Of the Debian package one runs on the system's Node, and for each Debian
// there is one that brings its own; otherwise they are the same, and each takes the other's place. The others
// are for machines without apt. A table.

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
 * `node`: the Node that the start script calls, @PREFIX@ as in every text. `nodejs`: which of the system's.
 * `ownNode`: the major version of the Node in it. `natives`: the binaries in it, as major versions of Node by
 * the package that has them. `relations`: to the other forms; @VERSION@ is the package's. `versionSuffix`:
 * what tells versions of one name apart; apt takes ~ for older than nothing, so a node that changes to the
 * next Debian gets that Debian's package. `lintianOverrides`: intended findings of lintian, with reasons.
 * `suites`: those of the apt repository that have it, each with its architectures. `tonearm` is a name of all
 * forms, and where apt finds one that is called so, it takes no other: so the suites of Debians have that one
 * only where there is none with its own Node, whose start takes half of the processor (bench/FIGURES.md, "The
 * start").
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

/** The form of the RPM package, for Fedora and its kind: one for old C libraries and for new ones. */
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
 * The forms of the folder that `install.sh` installs on any Linux with systemd: that of a release brings its
 * own Node, the newest one with a binary for old C libraries and for new ones; that of a checkout runs on the
 * system's. Their texts keep @PREFIX@: only there it is known. `glibc`: the oldest C library that loads them.
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
