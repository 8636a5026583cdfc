// The two forms of the Debian package: one runs on the system's Node, one brings its own. Otherwise they are the same, and each
// takes the other's place. A table.

import { ARCHITECTURES, NODE_MODULE_VERSIONS } from './architectures.mjs';

/** The newest symbol version in any of the native files, and in the official Node 22. */
const LIBC = 'libc6 (>= 2.28)';

/**
 * `node`: the Node that the start script calls, @PREFIX@ as in every text. `moduleVersions`: of the Nodes that it runs on.
 * `relations`: to the other form; @VERSION@ is the package's. `lintianOverrides`: intended findings of lintian, with reasons.
 * `suites`: those of the apt repository that have it. Debian 12 has Node 18: a suite with both forms would let apt choose the one that it
 * cannot install, for `tonearm` is a name of both.
 */
export const FORMS = {
  plain: {
    name: 'tonearm',
    architectures: Object.keys(ARCHITECTURES),
    suites: ['trixie'],
    node: 'node',
    moduleVersions: NODE_MODULE_VERSIONS,
    depends: ['nodejs (>= 20)', 'nodejs (<< 23)', LIBC],
    relations: ['Conflicts: tonearm-with-node', 'Replaces: tonearm-with-node'],
    description: 'It runs on Node 20 or 22 of the system; tonearm-with-node contains its own Node.',
  },
  withNode: {
    name: 'tonearm-with-node',
    architectures: ['amd64', 'arm64'],
    suites: ['bookworm', 'trixie'],
    node: '@PREFIX@/lib/tonearm/node',
    moduleVersions: [127],
    // The libraries that Node is linked with; the newest symbol that it needs from libstdc++ is GLIBCXX_3.4.21.
    depends: [LIBC, 'libgcc-s1', 'libstdc++6 (>= 5)'],
    lintianOverrides: 'packaging/deb/lintian-overrides',
    relations: ['Provides: tonearm (= @VERSION@)', 'Conflicts: tonearm', 'Replaces: tonearm'],
    description: 'It contains the official Node 22, and does not use a Node of the system.',
  },
};
