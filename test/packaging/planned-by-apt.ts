// Asks the real apt what it would install from a repository, and installs nothing. The list of installed
// packages (apt's status) is the test's own. So apt can plan for another Debian than that of this machine.

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { output } from './built-package.js';

// build/test/packaging/planned-by-apt.js -> the project's root
const INSTALL = fileURLToPath(new URL('../../../docs/install.md', import.meta.url));

/** The versions of dependencies that differ between Debian 12 and 13. */
const VERSIONS_BY_DEBIAN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bookworm: { libc6: '2.36-9', nodejs: '18.20.4+dfsg-1' },
  trixie: { libc6: '2.41-12', nodejs: '20.19.2+dfsg-1' },
};
/** The other dependencies. Both Debians have new enough versions, so one version stands for both. */
const OTHER_VERSIONS = {
  'libgcc-s1': '14.2.0-19',
  'libstdc++6': '14.2.0-19',
  systemd: '257.9-1',
  'dbus-user-session': '1.16.2-2',
};

/** The line that docs/install.md adds to apt's sources, for the repository in the folder `tree`. */
function documentedSource(tree: string, suite: string, architecture: string): string {
  const [, options = ''] = /"deb \[(.*)\] https/.exec(readFileSync(INSTALL, 'utf8')) ?? [];
  const filledIn = options
    .replace('$(dpkg --print-architecture)', architecture)
    .replace('/etc/apt/keyrings', tree);
  return `deb [${filledIn}] file:${tree} ${suite} main\n`;
}

/**
 * The names of the packages that `apt install tonearm` would install. `tree` is the folder of the
 * repository, and `suite` is one of its suites. `debian` is the Debian whose packages count as installed.
 * The first architecture is the machine's own, and the installed packages have it. The machine also takes
 * packages of the other architectures (`dpkg --add-architecture`). These may depend on the installed
 * packages, which have `Multi-Arch: foreign` for this.
 */
export async function plannedByApt(
  tree: string,
  suite: string,
  architectures: readonly [string, ...string[]],
  debian: string,
): Promise<readonly string[]> {
  const [own] = architectures;
  const folder = mkdtempSync(`${tree}-apt-`);
  for (const part of ['lists/partial', 'archives/partial', 'etc'])
    mkdirSync(join(folder, part), { recursive: true });
  const versions = { ...OTHER_VERSIONS, ...VERSIONS_BY_DEBIAN[debian] };
  const status = Object.entries(versions).map(
    ([name, version]) =>
      `Package: ${name}\nStatus: install ok installed\nVersion: ${version}\nArchitecture: ${own}\n` +
      'Multi-Arch: foreign\nMaintainer: nobody <nobody@example.org>\nDescription: installed\n',
  );
  writeFileSync(join(folder, 'status'), status.join('\n'));
  writeFileSync(join(folder, 'sources.list'), documentedSource(tree, suite, own));
  const settings = {
    'APT::Architecture': own,
    'APT::Architectures': architectures.join(),
    // Without this setting, root's apt would fetch as the user _apt, who cannot enter this folder.
    'APT::Sandbox::User': '',
    'APT::Install-Recommends': 'false',
    'Dir::State': folder,
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': folder,
    'Dir::Etc': join(folder, 'etc'),
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await output('apt-get', ...options, '-q', 'update');
  const planned = await output('apt-get', ...options, '-q', '--simulate', 'install', 'tonearm');
  return [...planned.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
}
