// Programs of other processors for tests: Debian's Node for arm64 and armhf with the libraries that it needs, and QEMU, which runs them
// here. Fetched once per recipe through apt, with lists and a status of their own, and unpacked outside the checkout: nothing is
// installed, and the machine's own apt knows nothing of it.
//
//   node packaging/arm.mjs        prints the folder that holds qemu-aarch64, qemu-arm and the roots arm64 and armhf

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, mirror } from './debian13.mjs';

const MAKING_DEADLINE_MS = 8 * 60_000;
const DEFAULT_MIRROR = 'http://deb.debian.org/debian';

/** Made from Debian 13, whose QEMU is linked statically and whose Node is a version that the package runs on. */
const MAKE = `
set -eu
umask 022
[ ! -d "$FINISHED" ] || exit 0
rm -rf "$CACHE"/arm-*.making
find "$CACHE" -mindepth 1 -maxdepth 1 -name 'arm-*' -type d -mtime +30 -exec rm -rf {} +
making=$FINISHED.making
mkdir "$making"
fetch() {
  apt=$making/apt
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc/preferences.d" "$apt/etc/apt.conf.d"
  : > "$apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $MIRROR trixie main" > "$apt/sources.list"
  cat > "$apt/conf" <<END
APT::Architecture "$1"; APT::Architectures { "$1"; };
APT::Install-Recommends "false"; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::Retries "2";
Dir::State "$apt"; Dir::State::status "$apt/status"; Dir::Cache "$apt";
Dir::Etc "$apt/etc"; Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "-";
END
  APT_CONFIG=$apt/conf apt-get -qq update
  APT_CONFIG=$apt/conf apt-get -qq install -y --download-only "$2"
}
fetch "$(dpkg --print-architecture)" qemu-user
dpkg-deb --fsys-tarfile "$making"/apt/archives/qemu-user_*.deb |
  tar -x -C "$making" --strip-components=3 ./usr/bin/qemu-aarch64 ./usr/bin/qemu-arm
for architecture in arm64 armhf; do
  fetch "$architecture" nodejs
  mkdir "$making/$architecture"
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
    env: { ...process.env, CACHE, FINISHED: finished, MIRROR: mirror() || DEFAULT_MIRROR },
    timeout: MAKING_DEADLINE_MS,
  });
  if (made.status !== 0) {
    const said = `${made.stdout ?? ''}${made.stderr ?? ''}${made.error?.message ?? ''}`.trim();
    console.error(said.split('\n').slice(-5).join('\n'));
    process.exit(1);
  }
}
// In use: a month from now it may go.
utimesSync(finished, new Date(), new Date());
console.log(finished);
