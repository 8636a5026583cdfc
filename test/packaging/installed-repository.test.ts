// Boots the real node. The lines of docs/install.md install tonearm there from the apt repository of a
// release. Then apt upgrades it. The repository is signed with a key that the test makes.

import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BootedNode, CONFIG, NODE_PROGRAM, NODE_ROOT, type Node, RULE, whyNoNode } from '../node/node.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { buildPackage, buildStandIn, FOR_DEBIAN_12, run } from './built-package.js';
import { makeKey } from './signing-key.js';

// build/test/packaging/installed-repository.test.js -> the project's root
const MAKER = fileURLToPath(new URL('../../../packaging/apt-repository.mjs', import.meta.url));

const INSTALL = fileURLToPath(new URL('../../../docs/install.md', import.meta.url));
const SERVED = '/srv/apt';
/** The folder of the file that is signed. The node's shell fills in the name of its Debian. */
const RELEASE_FOLDER = `${SERVED}/dists/$(. /etc/os-release; echo $VERSION_CODENAME)`;
const PORT = '8765';
const ADDRESS = `http://127.0.0.1:${PORT}`;
/** A web server for the files below a folder: `node -e WEB_SERVER FOLDER PORT`. */
const WEB_SERVER = `
const [folder, port] = process.argv.slice(1);
require('node:http').createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://node').pathname);
  require('node:fs').readFile(folder + path, (error, bytes) => {
    response.writeHead(error ? 404 : 200).end(bytes);
  });
}).listen(Number(port), '127.0.0.1');
`;
/** apt must not ask for confirmations, nor use the node's own sources, which cannot be reached. */
const PREPARE = `
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/preferences.d/*
echo 'APT::Get::Assume-Yes "true"; APT::Sandbox::User "root";' > /etc/apt/apt.conf.d/99test
`;
const PRINT_SETTINGS = `cat ${RULE} /var/lib/tonearm/setup/pi; find ${CONFIG} -type f | sort | xargs cat`;

/** The commands under "From an apt repository", with the address of the test's repository. */
function documentedCommands(): string {
  const [, section = ''] = readFileSync(INSTALL, 'utf8').split('\n## From an apt repository\n');
  const [block = ''] = /(?:^ {4}.*\n)+/m.exec(section) ?? [];
  assert.match(block, /https:\/\/apt\.example\.org/);
  return block.replaceAll('https://apt.example.org', ADDRESS);
}

/** The installed version, whichever form is installed. */
async function installedVersion(node: Node): Promise<string | undefined> {
  return /^ii +\S+ +(\S+)/m.exec(await node.shell("dpkg --list 'tonearm*'"))?.[1];
}

describe('the apt repository', { skip: whyNoNode('apt-ftparchive', 'gpg', 'curl') }, () => {
  const booted = new BootedNode();
  const { node } = booted;
  const folder = temporaryFolder({ after });
  let key = '';
  const osRelease = readFileSync(join(NODE_ROOT, 'etc/os-release'), 'utf8');
  const isBookworm = /^VERSION_CODENAME=bookworm$/m.test(osRelease);
  const suffix = isBookworm ? FOR_DEBIAN_12 : '';

  before(async () => {
    key = await makeKey(folder);
    await booted.boot();
    // On bookworm the repository has the form with Node, which needs no package `nodejs`.
    if (!isBookworm && (await booted.node().root('dpkg-query', '--show', 'nodejs')).status !== 0) {
      await buildStandIn(folder);
      await booted.node().install(folder, '/opt/stand-in');
      await booted.node().root('sh', '-c', 'dpkg --install /opt/stand-in/nodejs_*.deb');
    }
  });
  after(() => booted.close());

  /** Builds a version, and puts its apt repository into the folder `to` of the node. */
  async function publish(version: string, to: string): Promise<void> {
    const packages = join(folder, version);
    const tree = join(folder, 'tree');
    const form = isBookworm ? ['--with-node', '--debian', '12'] : [];
    await buildPackage('--version', version, '--compress', 'none', '--out', packages, ...form);
    await run(process.execPath, [MAKER, '--packages', packages, '--key', key, '--out', tree]);
    await node().root('rm', '-rf', to);
    await node().install(tree, to);
    rmSync(tree, { recursive: true });
  }

  test('the package is installed by the lines of docs/install.md', async () => {
    await node().shell(PREPARE);
    await publish('0.1.0-1', SERVED);
    node().spawnRoot(NODE_PROGRAM, '-e', WEB_SERVER, SERVED, PORT);
    const isServed = async () => (await node().root('curl', '-sf', `${ADDRESS}/tonearm.asc`)).status === 0;
    await until('the web server answers', isServed);
    await node().shell(documentedCommands());
    assert.equal(await installedVersion(node()), `0.1.0-1${suffix}`);
  });

  test('apt refuses a repository that was changed after it was signed', async () => {
    // The signed text has the word `tonearm` as the repository's name.
    await node().shell(`cd ${RELEASE_FOLDER}; cp InRelease /srv/; sed -i s/tonearm/other/ InRelease`);
    const refused = await node().root('apt', 'update', '-o', 'APT::Update::Error-Mode=any');
    assert.notEqual(refused.status, 0);
    // The error has the name of the repository, or its address.
    assert.match(refused.stderr, /tonearm|127\.0\.0\.1:8765/);
    await node().shell(`mv /srv/InRelease ${RELEASE_FOLDER}/`);
  });

  test('apt upgrade brings the next version to the running service, which keeps its settings', async () => {
    await node().setUpPi('--unit', 'mpd.service', '--players');
    const earlier = { pid: await node().property('MainPID'), settings: await node().shell(PRINT_SETTINGS) };
    await publish('0.2.0-1', SERVED);
    await node().shell('apt update && apt upgrade');
    assert.equal(await installedVersion(node()), `0.2.0-1${suffix}`);
    assert.equal(await node().property('ActiveState'), 'active');
    assert.notEqual(await node().property('MainPID'), earlier.pid);
    assert.equal(await node().shell(PRINT_SETTINGS), earlier.settings);
    assert.equal((await node().ask('GET', '/server')).status, 200);
    const units = await until('the units are listed', () =>
      node().read<readonly { name: string }[]>('/services'),
    );
    const names = units.map(({ name }) => name);
    assert.deepEqual(names, ['mpd.service']);
  });
});
