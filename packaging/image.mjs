// Makes an image in the OCI layout, as one tar. Its only layer holds the package that brings its own Node,
// and the few packages of Debian 13 that this one runs on. It needs apt and a Debian mirror, but no root, no
// registry and no container engine. It publishes nothing.
//
//   node packaging/image.mjs --deb FILE --out FILE.oci.tar

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run, script } from './command.mjs';
import { fetchEnvironment, fetchFunction } from './fetch-packages.mjs';

/**
 * The libraries of Node, a shell for the start script, `getent` for the names of brokers, and the folders of
 * a Debian.
 */
const BASE = ['base-files', 'dash', 'libc-bin', 'libc6', 'libgcc-s1', 'libstdc++6'];

/**
 * Unpacks everything below $making/root, and packs it as $making/layer.tar. No package is configured, and
 * manuals are removed, because nobody reads them in an image. base-files is unpacked first, because other
 * packages would make folders in the place of its links, such as /bin.
 */
const MAKE_LAYER = `
set -eu
umask 022
${fetchFunction('$BASE')}
root=$making/root
mkdir "$root"
fetch "$ARCHITECTURE"
dpkg-deb -x "$making"/apt/archives/base-files_*.deb "$root"
for package in "$making"/apt/archives/*.deb "$DEB"; do dpkg-deb -x "$package" "$root"; done
[ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
rm -rf "$root/usr/share/man" "$root/usr/share/locale"
mkdir -p "$root/etc/tonearm"
tar -C "$root" --sort=name --mtime="@$EPOCH_S" --owner=0 --group=0 --numeric-owner -cf "$making/layer.tar" .
`;

const sha256 = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Puts bytes among the blobs of a layout, and answers with their descriptor. */
function blob(layout, mediaType, bytes) {
  const digest = sha256(bytes);
  writeFileSync(join(layout, 'blobs/sha256', digest.slice('sha256:'.length)), bytes);
  return { mediaType, digest, size: bytes.length };
}

/**
 * The image names no user. The container engine chooses the uid, because sound server and bus accept only
 * the user to whom they belong.
 */
function configuration({ architecture, version, created, layer }) {
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      Entrypoint: ['/usr/bin/tonearm'],
      Env: ['PATH=/usr/sbin:/usr/bin'],
      ExposedPorts: { '8018/tcp': {} },
      Labels: {
        'org.opencontainers.image.title': 'tonearm',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'MIT',
      },
    },
    rootfs: { type: 'layers', diff_ids: [sha256(layer)] },
  };
}

/** Writes the layout, and beside its index the list from which Docker before 25 loads an image. */
function writeLayout(layout, { architecture, version, epochS, layer }) {
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const json = (value) => Buffer.from(JSON.stringify(value));
  const created = new Date(epochS * 1000).toISOString();
  const type = (name) => `application/vnd.oci.image.${name}`;
  const config = blob(
    layout,
    type('config.v1+json'),
    json(configuration({ architecture, version, created, layer })),
  );
  const packed = blob(layout, type('layer.v1.tar+gzip'), gzipSync(layer));
  const manifest = blob(
    layout,
    type('manifest.v1+json'),
    json({ schemaVersion: 2, mediaType: type('manifest.v1+json'), config, layers: [packed] }),
  );
  const tag = `tonearm:${version}`;
  const annotations = { 'org.opencontainers.image.ref.name': tag };
  const platform = { architecture, os: 'linux' };
  const index = {
    schemaVersion: 2,
    mediaType: type('index.v1+json'),
    manifests: [{ ...manifest, platform, annotations }],
  };
  writeFileSync(join(layout, 'index.json'), json(index));
  writeFileSync(join(layout, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
  const path = ({ digest }) => `blobs/${digest.replace(':', '/')}`;
  const docker = [{ Config: path(config), RepoTags: [tag], Layers: [path(packed)] }];
  writeFileSync(join(layout, 'manifest.json'), json(docker));
}

/**
 * The build's time, in seconds since 1970. package.mjs writes the control file after that time, and dpkg-deb
 * lowers each later time in a package to it (SOURCE_DATE_EPOCH).
 */
function buildTimeS(deb) {
  const list = 'dpkg-deb --ctrl-tarfile "$1" | tar -t --verbose --full-time --utc';
  const control = run('sh', ['-c', list, 'time', resolve(deb)]);
  const [, time] = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \.\/control$/m.exec(control) ?? [];
  if (time === undefined) throw new Error(`${deb} has no control file`);
  return Date.parse(`${time.replace(' ', 'T')}Z`) / 1000;
}

function main({ deb, out }) {
  if (deb === undefined || out === undefined) throw new Error('--deb FILE and --out FILE are required');
  const field = (name) => run('dpkg-deb', ['--field', resolve(deb), name]).trim();
  const architecture = field('Architecture');
  const version = field('Version').replace(/-[^-]*$/, '');
  const epochS = buildTimeS(deb);
  const making = mkdtempSync(join(tmpdir(), 'tonearm-image-'));
  try {
    const inputs = {
      ARCHITECTURE: architecture,
      BASE: BASE.join(' '),
      DEB: resolve(deb),
      EPOCH_S: String(epochS),
    };
    run('sh', ['-c', MAKE_LAYER], { env: { ...fetchEnvironment(), ...inputs, making } });
    const layer = readFileSync(join(making, 'layer.tar'));
    const layout = join(making, 'layout');
    writeLayout(layout, { architecture, version, epochS, layer });
    const pack = ['--sort=name', `--mtime=@${epochS}`, '--owner=0', '--group=0', '--numeric-owner'];
    const parts = ['oci-layout', 'index.json', 'manifest.json', 'blobs'];
    run('tar', ['-C', layout, ...pack, '-cf', resolve(out), ...parts]);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

const text = { type: 'string' };
await script('image', { options: { deb: text, out: text }, main });
