// Boots the real node, and has it installed and upgraded from the apt repository of a release, signed with a key of this test's.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BootedNode } from '../node/booted-node.js';
import { NODE_ROOT, whyNoNode } from '../node/node.js';
import { aptScenarios } from '../node/scenarios/apt-repository.js';
import { temporaryFolder } from '../temporary-folder.js';
import { buildPackage, buildStandIn, output, run } from './built-package.js';

// build/test/packaging/installed-repository.test.js -> the project's root
const MAKER = fileURLToPath(new URL('../../../packaging/apt-repository.mjs', import.meta.url));
const USER = ['--quick-generate-key', 'tonearm <tonearm@tonearm.invalid>', 'ed25519', 'sign', 'never'];

/** A secret key, in ASCII. */
async function makeKey(folder: string): Promise<string> {
  const home = join(folder, 'keys');
  const gpg = ['env', `GNUPGHOME=${home}`, 'gpg', '--batch', '--quiet', '--passphrase', ''] as const;
  mkdirSync(home, { mode: 0o700 });
  await output(...gpg, ...USER);
  const file = join(folder, 'key.asc');
  writeFileSync(file, await output(...gpg, '--armor', '--export-secret-keys'));
  await output('env', `GNUPGHOME=${home}`, 'gpgconf', '--kill', 'all');
  return file;
}

describe('the apt repository', { skip: whyNoNode('apt-ftparchive', 'gpg', 'curl') }, () => {
  const booted = new BootedNode();
  const folder = temporaryFolder({ after });
  let key = '';
  const isBookworm = /^VERSION_CODENAME=bookworm$/m.test(
    readFileSync(join(NODE_ROOT, 'etc/os-release'), 'utf8'),
  );

  before(async () => {
    key = await makeKey(folder);
    await booted.boot();
    if (!isBookworm && (await booted.node().root('dpkg-query', '--show', 'nodejs')).status !== 0) {
      await buildStandIn(folder);
      await booted.node().install(folder, '/opt/stand-in');
      await booted.node().root('sh', '-c', 'dpkg --install /opt/stand-in/nodejs_*.deb');
    }
  });
  after(() => booted.close());

  aptScenarios(booted.node, async (version, to) => {
    const [packages, tree] = [join(folder, version), join(folder, 'tree')];
    const form = isBookworm ? ['--with-node'] : [];
    await buildPackage('--version', version, '--compress', 'none', '--out', packages, ...form);
    await run(process.execPath, [MAKER, '--packages', packages, '--key', key, '--out', tree]);
    await booted.node().root('rm', '-rf', to);
    await booted.node().install(tree, to);
    rmSync(tree, { recursive: true });
  });
});
