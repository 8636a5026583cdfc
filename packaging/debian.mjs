// Debian packages that the project needs around itself: which, what for, and how to see without asking dpkg that one is there.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const APT_DEADLINE_MS = 15 * 60_000;
/** Another apt may hold the lock; waiting for it beats failing. */
const APT = ['apt-get', '-qq', '-o', 'DPkg::Lock::Timeout=120'];

/** `file` is one that the package alone brings. Files are looked at, not dpkg: a tool built by hand serves as well. */
export const PACKAGES = {
  pulseaudio: { file: '/usr/bin/pulseaudio', why: 'a private PulseAudio server' },
  'pulseaudio-utils': { file: '/usr/bin/pactl', why: 'pactl and pacat, which act as other clients' },
  curl: { file: '/usr/bin/curl', why: 'the commands to try that `npm start` prints' },
  pipewire: { file: '/usr/bin/pipewire', why: 'a private PipeWire server' },
  'pipewire-pulse': { file: '/usr/bin/pipewire-pulse', why: "PipeWire's PulseAudio protocol" },
  wireplumber: { file: '/usr/bin/wireplumber', why: "PipeWire's session manager" },
  dbus: { file: '/usr/bin/dbus-daemon', why: 'message buses' },
  'dbus-user-session': { file: '/usr/lib/systemd/user/dbus.socket', why: 'the session bus of the real node' },
  'systemd-container': {
    file: '/usr/bin/systemd-nspawn',
    why: 'the real node: systemd as PID 1 in a container',
  },
  'libpam-systemd': { file: '/usr/share/pam-configs/systemd', why: 'logind sessions on the real node' },
  polkitd: { file: '/usr/lib/polkit-1/polkitd', why: 'real verdicts on power actions' },
  mpv: { file: '/usr/bin/mpv', why: 'a real player' },
  'mpv-mpris': { file: '/etc/mpv/scripts/mpris.so', why: "mpv's place on the session bus" },
  cmus: { file: '/usr/bin/cmus', why: 'another real player, the smallest that speaks MPRIS by itself' },
  'avahi-daemon': { file: '/usr/sbin/avahi-daemon', why: 'mDNS on the real node' },
  'avahi-utils': { file: '/usr/bin/avahi-browse', why: 'a look at what is announced' },
  debootstrap: { file: '/usr/sbin/debootstrap', why: 'a root of Debian 13, over which the suite runs too' },
  lintian: { file: '/usr/bin/lintian', why: 'the check of the built packages' },
  mosquitto: { file: '/usr/sbin/mosquitto', why: 'an MQTT broker' },
  'mosquitto-clients': { file: '/usr/bin/mosquitto_pub', why: 'commands over MQTT from a shell' },
  chromium: { file: '/usr/bin/chromium', why: 'a real EventSource, and real cross-origin requests' },
  pavucontrol: { file: '/usr/bin/pavucontrol', why: 'a client that asks a sound server for everything' },
  xvfb: { file: '/usr/bin/Xvfb', why: 'a screen for it' },
  wrk: { file: '/usr/bin/wrk', why: 'HTTP load for benchmarks' },
};

/** Names of those packages whose file is not there. Spawns nothing. */
export function missingPackages(names) {
  return names.filter((name) => !existsSync(PACKAGES[name].file));
}

/** The command with which a person installs `names`. */
export function installCommand(names) {
  return `sudo apt-get install --no-install-recommends ${names.join(' ')}`;
}

/** How to become root without asking anybody: nothing to prefix, `sudo -n`, or undefined when there is no way. */
function rootPrefix() {
  if (process.getuid() === 0) return [];
  return spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? ['sudo', '-n'] : undefined;
}

/**
 * Installs packages quietly.
 * @returns {string | undefined} why it could not be done; undefined when all are there now.
 */
export function installPackages(names) {
  if (!existsSync('/usr/bin/apt-get')) return 'this is no Debian system';
  const prefix = rootPrefix();
  if (prefix === undefined) return 'neither root nor passwordless sudo';
  const env = ['env', 'DEBIAN_FRONTEND=noninteractive', 'NEEDRESTART_SUSPEND=1'];
  const install = ['install', '-y', '--no-install-recommends', ...names];
  for (const args of [['update'], install]) {
    const [command, ...rest] = [...prefix, ...env, ...APT, ...args];
    const run = spawnSync(command, rest, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: APT_DEADLINE_MS,
    });
    // A stale or half-reachable package list may still hold what is needed: only the installation decides.
    if (args !== install) continue;
    if (run.status !== 0)
      return `apt-get failed: ${`${run.stdout}${run.stderr}`.trim().split('\n').slice(-15).join('\n')}`;
  }
  const still = missingPackages(names);
  return still.length === 0 ? undefined : `apt-get succeeded, yet these are missing: ${still.join(', ')}`;
}
