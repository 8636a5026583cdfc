// Programs of other processors for tests: Debian's Node for arm64 and armhf with the libraries that it needs,
// and QEMU, which runs them here. They are fetched once per recipe (fetch-packages.mjs), and unpacked
// outside the checkout.
//
//   node packaging/arm.mjs
//
// prints the folder that holds qemu-aarch64, qemu-arm and the roots arm64 and armhf.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './debian13.mjs';
import { fetchEnvironment, fetchFunction } from './fetch-packages.mjs';

const MAKING_DEADLINE_MS = 8 * 60_000;

/**
 * Makes the folder from Debian 13, whose QEMU is linked statically, and whose Node is a version that the
 * package runs on. While a mirror is updated, its lists of one architecture may contradict its signed index
 * for days, and apt refuses them. Then the libraries come from Debian 12, and Node from npm. The link /lib
 * is part of base-files, on which none of these packages depends, so the script makes it.
 */
const MAKE = `
set -eu
umask 022
[ ! -d "$FINISHED" ] || exit 0
rm -rf "$CACHE"/arm-*.making
find "$CACHE" -mindepth 1 -maxdepth 1 -name 'arm-*' -type d -mtime +30 -exec rm -rf {} +
making=$FINISHED.making
mkdir "$making"
NODE=20.11.0
${fetchFunction(`"$2" \${3:-}`)}
fetch "$(dpkg --print-architecture)" qemu-user
dpkg-deb --fsys-tarfile "$making"/apt/archives/qemu-user_*.deb |
  tar -x -C "$making" --strip-components=3 ./usr/bin/qemu-aarch64 ./usr/bin/qemu-arm
for architecture in arm64 armhf; do
  mkdir "$making/$architecture"
  fetch "$architecture" nodejs || {
    echo "setup: the mirror's lists for $architecture contradict each other: Debian 12's libraries and a Node from npm instead" >&2
    SUITE=bookworm fetch "$architecture" libstdc++6 libatomic1
    (cd "$making" && npm pack --silent "node-linux-$([ "$architecture" = armhf ] && echo armv7l || echo arm64)@$NODE" >/dev/null)
    tar -x -C "$making" -f "$making"/node-linux-*.tgz package/bin/node
    mkdir -p "$making/$architecture/usr/bin"
    mv "$making/package/bin/node" "$making/$architecture/usr/bin/node"
    rm -rf "$making"/package "$making"/node-linux-*.tgz
  }
  for package in "$making"/apt/archives/*.deb; do dpkg-deb -x "$package" "$making/$architecture"; done
  # base-files has it, which nothing depends on.
  [ -e "$making/$architecture/lib" ] || ln -s usr/lib "$making/$architecture/lib"
done
rm -rf "$making/apt"
mv "$making" "$FINISHED"
`;

const recipe = createHash('sha256').update(MAKE).digest('hex').slice(0, 8);
const finished = join(CACHE, `arm-${recipe}`);
if (!existsSync(finished)) {
  mkdirSync(CACHE, { recursive: true });
  const made = spawnSync('flock', ['--no-fork', `${CACHE}/lock-arm`, 'sh', '-c', MAKE], {
    encoding: 'utf8',
    env: { ...process.env, ...fetchEnvironment(), CACHE, FINISHED: finished },
    timeout: MAKING_DEADLINE_MS,
  });
  if (made.status !== 0) {
    const output = `${made.stdout ?? ''}${made.stderr ?? ''}${made.error?.message ?? ''}`.trim();
    console.error(output.split('\n').slice(-5).join('\n'));
    process.exit(1);
  }
}
// The folder's time is that of its last use, and folders unused for a month are removed.
utimesSync(finished, new Date(), new Date());
console.log(finished);
