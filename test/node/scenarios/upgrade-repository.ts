// Makes an apt repository on the node with versions of one package. It also disturbs apt: by a lock, and by
// what a power cut leaves. The repository takes the place of the node's own sources until it is removed.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { until } from '../../until.js';
import { NODE_USER } from '../node.js';
import type { UpgradeDaemon } from './upgrade-daemon.js';

export const PACKAGE = 'tonearm-example';

const FOLDER = '/opt/repository';
const APT_CONFIG = '/etc/apt/apt.conf.d/99-repository';
const SUDOERS = '/etc/sudoers.d/tonearm-upgrade';
/**
 * apt keeps the lists of this repository in a folder of their own, so that the node's lists stay. FOLDER
 * belongs to root, so apt works in it as root, and not as apt's own user.
 */
const APT_SETTINGS = `Dir::Etc::sourcelist "${FOLDER}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "${FOLDER}/lists";
APT::Sandbox::User "root";
`;
const SCRIPT = fileURLToPath(new URL('../../../../packaging/upgrade/tonearm-upgrade', import.meta.url));

export class Repository {
  readonly #daemon: UpgradeDaemon;

  constructor(daemon: UpgradeDaemon) {
    this.#daemon = daemon;
  }

  get #node() {
    return this.#daemon.node;
  }

  /** Installs the package in its first version, and gives the user the rights that the script asks for. */
  async make(): Promise<void> {
    // A comment of the script has the rights, as in `# pi ALL=(root) NOPASSWD: ...`.
    const [, rights = ''] = /^# *pi (ALL=.*)$/m.exec(readFileSync(SCRIPT, 'utf8')) ?? [];
    const rule = rights.replace('@PACKAGE@', PACKAGE);
    // The second rule is for the scenario in which a user runs `tonearm progress` by sudo.
    const sudoers = `${NODE_USER} ${rule}\n${NODE_USER} ALL=(root) NOPASSWD: /usr/local/bin/tonearm\n`;
    await this.#node.writeFile(SUDOERS, sudoers, '440');
    await this.#node.writeFile(APT_CONFIG, APT_SETTINGS);
    await this.publish(1);
    await this.#node.shell(`apt-get -qq update; apt-get -qq install --yes ${PACKAGE}`);
  }

  async remove(): Promise<void> {
    await this.#node.shell(
      `dpkg --purge ${PACKAGE} tonearm-other; rm -rf ${FOLDER} ${APT_CONFIG} ${SUDOERS}`,
    );
  }

  /**
   * Publishes this version of the package, and nothing else. `source` is a second line of sources. dpkg runs
   * the script `postinst` when it configures the package.
   */
  async publish(version: number, source = '', postinst = 'exit 0'): Promise<void> {
    await this.#build(PACKAGE, version, postinst);
    await this.#node.shell(`cd ${FOLDER}
      echo 'deb [trusted=yes] file:${FOLDER} ./' > sources.list
      echo '${source}' >> sources.list
      { dpkg-deb --field ${PACKAGE}.deb
        echo "Filename: ./${PACKAGE}.deb"
        echo "Size: $(stat --format=%s ${PACKAGE}.deb)"
        echo "SHA256: $(sha256sum ${PACKAGE}.deb | cut -d' ' -f1)"; } > Packages`);
  }

  installed(): Promise<string> {
    return this.#node.shell(`dpkg-query --show --showformat='\${Version}' ${PACKAGE}`);
  }

  /** Starts another apt. Resolves once this apt is at work, with a function that lets it end. */
  async holdLock(): Promise<() => Promise<void>> {
    await this.#build('tonearm-other', 1, 'exit 0');
    const waitAtGate = `touch ${FOLDER}/held; while [ ! -e ${FOLDER}/gate ]; do sleep 0.05; done`;
    const script = `exec apt-get -qq -o DPkg::Pre-Invoke::='${waitAtGate}' install --yes ${FOLDER}/tonearm-other.deb`;
    const other = this.#node.spawnRoot('sh', '-c', script);
    const ended = once(other, 'close');
    await until('the other apt is at work', () => this.#node.isThere(`${FOLDER}/held`));
    return async () => {
      await this.#node.shell(`touch ${FOLDER}/gate`);
      await ended;
    };
  }

  /**
   * Makes a file such as dpkg makes for each change of a package's state. dpkg removes its file once the
   * change is in its list, but a power cut may come before that.
   */
  async interrupt(): Promise<void> {
    await this.#node.shell(
      `dpkg-query --status ${PACKAGE} | sed 's/^Status: .*/Status: install ok half-configured/' > /var/lib/dpkg/updates/0000`,
    );
  }

  async #build(name: string, version: number, postinst: string): Promise<void> {
    const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: an example\n`;
    const tree = `${FOLDER}/tree/DEBIAN`;
    await this.#node.shell(`rm -rf ${FOLDER}/tree; mkdir -p ${tree} ${FOLDER}/lists`);
    await this.#node.writeFile(`${tree}/control`, control);
    await this.#node.writeFile(`${tree}/postinst`, `#!/bin/sh\n${postinst}\n`, '755');
    await this.#node.shell(`dpkg-deb --build ${FOLDER}/tree ${FOLDER}/${name}.deb`);
  }
}
