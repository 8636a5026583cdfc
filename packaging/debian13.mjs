// Makes a second Debian for tests: a root of Debian 13, which debootstrap makes once per recipe, outside the
// checkout. Nothing writes to it afterwards, because each run mounts an overlay over it. machine.mjs makes a
// disk from another such root.

import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const CACHE = '/var/cache/tonearm-test';
const MAKING_DEADLINE_MS = 30 * 60_000;
const MIRROR_DEADLINE_MS = 30_000;
const SUITES = { 12: 'bookworm', 13: 'trixie' };

/** The packages that a node has, and those that the tests themselves call. */
const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'libpam-systemd',
  'dbus',
  'dbus-user-session',
  'polkitd',
  'nodejs',
  'pulseaudio',
  'pulseaudio-utils',
  'pipewire',
  'pipewire-pulse',
  'wireplumber',
  'avahi-daemon',
  'avahi-utils',
  'mpv',
  'mpv-mpris',
  'cmus',
  'mosquitto',
  'mosquitto-clients',
  'curl',
  'fish',
  'hostname',
  'iproute2',
  'lintian',
  'man-db',
  'perl',
  'procps',
  'sudo',
  'zsh',
];

/**
 * Makes the folder $FINISHED with `root`, and with `mount`, an empty folder over which each user mounts a
 * file system of its own. The folder gets its name when it is whole. Folders of this $NAME that nobody has
 * used for a month are removed. `finish` has further commands of the shell, which run at the end.
 */
const make = (finish) => `
set -eu
umask 022
[ ! -d "$FINISHED" ] || exit 0
rm -rf "$CACHE/$NAME"-*.making
find "$CACHE" -mindepth 1 -maxdepth 1 -name "$NAME-*" -type d -mtime +30 -exec rm -rf {} +
mkdir "$FINISHED.making" "$FINISHED.making/mount"
root=$FINISHED.making/root
debootstrap --variant=minbase "$SUITE" "$root" $MIRROR
# An interrupted making is thrown away: nothing in it need be safe from a power cut.
echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
mount -t proc proc "$root/proc"
DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qq install -y --no-install-recommends $PACKAGES
umount "$root/proc"
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
echo '127.0.0.1 localhost' > "$root/etc/hosts"
${finish}
mv "$FINISHED.making" "$FINISHED"
`;

/**
 * Runs a command in the root, in a mount namespace of its own. $CHECKOUT and $TMPDIR have the same paths
 * inside as outside, and what the command writes there stays. Everything else that it writes is lost. Its
 * mounts end with its last process.
 */
const ENTER = `
set -eu
mount -t tmpfs -o mode=755 tonearm-debian13 "$HOME_OF_ROOT/mount"
cd "$HOME_OF_ROOT/mount"
mkdir upper work root
mount -t overlay tonearm-debian13 -o "lowerdir=$HOME_OF_ROOT/root,upperdir=upper,workdir=work" root
cd root
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
mount -t tmpfs -o mode=755 tonearm-debian13 run
for folder in "$CHECKOUT" "$TMPDIR"; do
  mkdir -p ".$folder"
  mount --rbind "$folder" ".$folder"
done
exec chroot . env --chdir="$CHECKOUT" PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
`;

/** A mount in such a namespace ends with the last process in it. */
const OWN_MOUNTS = ['unshare', '--mount', '--propagation', 'private'];

/** The mirror of this machine's own Debian, or '' where it has none, because debootstrap has a default. */
export function mirror() {
  const filter = ['Origin: Debian', 'Label: Debian', 'Identifier: Packages'];
  const targets = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)', ...filter], {
    encoding: 'utf8',
    timeout: MIRROR_DEADLINE_MS,
  });
  return targets.stdout?.split('\n').find((line) => /^https?:/.test(line)) ?? '';
}

/**
 * The folder of the Debian with this name and recipe, which is made first where it is missing. Other stages
 * of a test run go on meanwhile, so nothing here may block.
 * @param {{ name: string, debian: 12 | 13, packages: readonly string[], finish?: string }} recipe `finish`
 * has shell commands that end the making, and may hold no secrets of this machine.
 * @returns {Promise<{ home: string } | { problem: string }>}
 */
export async function cachedDebian({ name, debian, packages, finish = '' }) {
  if (process.getuid() !== 0) return { problem: `tests on Debian ${debian} need root` };
  const suite = SUITES[debian];
  const script = make(finish);
  const packageNames = packages.join(' ');
  const recipe = createHash('sha256').update(`${script}${suite}${packageNames}`).digest('hex').slice(0, 8);
  const home = join(CACHE, `${name}-${recipe}`);
  if (!existsSync(home)) {
    console.log(`setup: making ${home} of Debian ${debian}; this is done once`);
    mkdirSync(CACHE, { recursive: true });
    const lock = ['flock', '--no-fork', `${CACHE}/lock`];
    const namespaces = [...OWN_MOUNTS, '--pid', '--fork', '--kill-child=KILL', '--mount-proc'];
    const [command, ...args] = [...lock, ...namespaces, 'sh', '-c', script];
    const env = { CACHE, NAME: name, FINISHED: home, SUITE: suite, PACKAGES: packageNames, MIRROR: mirror() };
    const making = promisify(execFile)(command, args, {
      env: { ...process.env, ...env },
      maxBuffer: 64 << 20,
      timeout: MAKING_DEADLINE_MS,
      // Any other signal would leave unshare waiting for the end of its child.
      killSignal: 'SIGKILL',
    });
    making.child.stdin.end();
    const failed = await making.then(
      () => undefined,
      ({ stdout, stderr, message }) => `${stdout}${stderr}`.trim() || message,
    );
    if (failed !== undefined)
      return { problem: `Debian ${debian} could not be made: ${failed.split('\n').slice(-15).join('\n')}` };
  }
  // The folder's time is that of its last use, and folders unused for a month are removed.
  utimesSync(home, new Date(), new Date());
  return { home };
}

/** @returns {Promise<{ home: string, root: string } | { problem: string }>} */
export async function debian13() {
  const { home, problem } = await cachedDebian({ name: 'debian13', debian: 13, packages: PACKAGES });
  return problem === undefined ? { home, root: join(home, 'root') } : { problem };
}

/**
 * The command that runs `command` in Debian 13, in the checkout, and the environment that it needs besides
 * TMPDIR.
 * @returns {{ command: string[], env: Record<string, string> }}
 */
export function insideDebian13(home, checkout, command) {
  return {
    command: [...OWN_MOUNTS, 'sh', '-c', ENTER, 'enter', ...command],
    env: { HOME_OF_ROOT: home, CHECKOUT: checkout },
  };
}
