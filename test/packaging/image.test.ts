// Checks the image of a release: the digests that name its blobs, and the daemon in its only layer. The
// daemon runs with a real sound server, and by chroot instead of a container engine, because the engine's
// cgroups and namespaces are no part of the image.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Daemon } from '../contract/daemon.js';
import { type BuiltForm, LATE_PART_PROGRAMS, loadsItsLateParts } from '../contract/late-parts.js';
import { startPulseAudio } from '../sound/servers.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { buildPackage, packageIn, run } from './built-package.js';

// build/test/packaging/image.test.js -> the project's root
const MAKER = fileURLToPath(new URL('../../../packaging/image.mjs', import.meta.url));
const PROGRAMS = ['apt-get', 'dpkg-deb', 'npm', 'pulseaudio', 'pactl', 'unshare', 'chroot'];
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

interface Descriptor {
  readonly digest: string;
}

/**
 * Runs a command in the image's root ($1). TMPDIR ($2) is mounted there under the same path, because the
 * files of the test lie in TMPDIR. The command begins with the path of this machine's Node ($3). `shift 3`
 * drops this path, because the image has its own Node. $0 is `enter`, and has no effect.
 */
const ENTER =
  'mkdir -p "$1$2"; mount --bind "$2" "$1$2"; mount -t proc proc "$1/proc"; root=$1; shift 3; exec chroot "$root" "$@"';

const UNSHARE = ['unshare', '--mount', '--propagation', 'private', 'sh', '-euc'];

describe('the image', { skip: skipReason({ programs: PROGRAMS, root: true }) }, () => {
  const folder = temporaryFolder({ after });
  const path = (...parts: readonly string[]): string => join(folder, ...parts);
  const blob = ({ digest }: Descriptor): string => path('layout/blobs', digest.replace(':', '/'));
  const json = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T;
  const manifest = () => {
    const { manifests } = json<{ manifests: [Descriptor] }>(path('layout/index.json'));
    return json<{ config: Descriptor; layers: [Descriptor] }>(blob(manifests[0]));
  };

  before(async () => {
    const architecture = ARCHITECTURES[process.arch] ?? assert.fail(process.arch);
    await buildPackage('--with-node', '--debian', '13', '--compress', 'none', '--out', folder);
    const deb = packageIn(folder, 'tonearm-with-node', architecture);
    await run(process.execPath, [MAKER, '--deb', deb, '--out', path('image.oci.tar')]);
    mkdirSync(path('layout'));
    await run('tar', ['-C', path('layout'), '-xf', path('image.oci.tar')]);
    mkdirSync(path('root'));
    await run('tar', ['-C', path('root'), '-xzf', blob(manifest().layers[0])]);
  });

  test('the name of each blob is its digest', () => {
    const names = readdirSync(path('layout/blobs/sha256'));
    // The blobs are the configuration, the layer and the manifest.
    assert.equal(names.length, 3);
    for (const name of names) {
      const hash = createHash('sha256').update(readFileSync(path('layout/blobs/sha256', name)));
      assert.equal(hash.digest('hex'), name);
    }
  });

  const form = (): BuiltForm => {
    const { config } = json<{ config: { Entrypoint: [string] } }>(blob(manifest().config));
    return {
      entry: config.Entrypoint[0],
      launcher: [...UNSHARE, ENTER, 'enter', path('root'), tmpdir()],
    };
  };

  test(
    'the image loads each of its late parts',
    { skip: skipReason({ programs: LATE_PART_PROGRAMS }) },
    (t) => loadsItsLateParts(t, form()),
  );

  test('the image has getent, which looks up the names of brokers', async () => {
    const [program = '', ...args] = form().launcher ?? [];
    // ENTER drops the path of this machine's Node.
    const { stdout } = await run(program, [...args, process.execPath, 'getent', 'ahosts', '127.0.0.1']);
    assert.match(stdout, /^127\.0\.0\.1 /);
  });

  test('the daemon of the image controls a sound server whose runtime directory is mounted in the image', async (t) => {
    const sound = await startPulseAudio();
    t.after(() => sound.stop());
    const options = { ...form(), env: sound.env, config: 'systemd: {enabled: false}\n' };
    const daemon = await Daemon.start(options, t);
    await daemon.untilBackend('audio', 'up');
    const answer = await daemon.post('/audio/outputs/living/volume', { volume: 0.44 });
    assert.equal(answer.status, 202, answer.text);
    assert.match(await sound.pactl('get-sink-volume', 'living'), / 44% /);
  });
});
