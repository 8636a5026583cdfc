// Decides which Debian packages the project needs, and installs them where that needs no password.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { atWork } from './at-work.mjs';

const APT_DEADLINE_MS = 15 * 60_000;
/** Another apt may hold the lock; waiting for it beats failing. */
const APT = ['apt-get', '-qq', '-o', 'DPkg::Lock::Timeout=120'];
/** No installed package may be removed, because `pulseaudio` would replace a desktop's PipeWire. */
const INSTALL = ['install', '-y', '--no-install-recommends', '--no-remove'];

/**
 * Each package has a file that it alone brings. The file decides whether the package is there, and not dpkg,
 * because a tool that was built by hand serves as well.
 */
const PACKAGES = {
  'apt-utils': '/usr/bin/apt-ftparchive',
  'avahi-daemon': '/usr/sbin/avahi-daemon',
  'avahi-utils': '/usr/bin/avahi-browse',
  caddy: '/usr/bin/caddy',
  chromium: '/usr/bin/chromium',
  'chromium-driver': '/usr/bin/chromedriver',
  cmus: '/usr/bin/cmus',
  curl: '/usr/bin/curl',
  dbus: '/usr/bin/dbus-daemon',
  'dbus-user-session': '/usr/lib/systemd/user/dbus.socket',
  debootstrap: '/usr/sbin/debootstrap',
  e2fsprogs: '/usr/sbin/mkfs.ext4',
  'firefox-esr': '/usr/bin/firefox-esr',
  fish: '/usr/bin/fish',
  gpg: '/usr/bin/gpg',
  'gpg-agent': '/usr/bin/gpg-agent',
  haproxy: '/usr/sbin/haproxy',
  iproute2: '/usr/bin/ip',
  'libpam-systemd': '/usr/share/pam-configs/systemd',
  lintian: '/usr/bin/lintian',
  mopidy: '/usr/bin/mopidy',
  'mopidy-mpris': '/usr/lib/python3/dist-packages/mopidy_mpris/__init__.py',
  mosquitto: '/usr/sbin/mosquitto',
  'mosquitto-clients': '/usr/bin/mosquitto_pub',
  mpc: '/usr/bin/mpc',
  mpd: '/usr/bin/mpd',
  mpdris2: '/usr/bin/mpDris2',
  mpv: '/usr/bin/mpv',
  'mpv-mpris': '/etc/mpv/scripts/mpris.so',
  'nginx-light': '/usr/sbin/nginx',
  openssl: '/usr/bin/openssl',
  pipewire: '/usr/bin/pipewire',
  'pipewire-pulse': '/usr/bin/pipewire-pulse',
  playerctl: '/usr/bin/playerctld',
  polkitd: '/usr/lib/polkit-1/polkitd',
  prometheus: '/usr/bin/prometheus',
  pulseaudio: '/usr/bin/pulseaudio',
  'pulseaudio-utils': '/usr/bin/pactl',
  rpm: '/usr/bin/rpmbuild',
  'python3-aiohttp': '/usr/lib/python3/dist-packages/aiohttp/__init__.py',
  'python3-awesomeversion': '/usr/lib/python3/dist-packages/awesomeversion/__init__.py',
  'python3-jinja2': '/usr/lib/python3/dist-packages/jinja2/__init__.py',
  'qemu-system-x86': '/usr/bin/qemu-system-x86_64',
  sudo: '/usr/bin/sudo',
  'systemd-container': '/usr/bin/systemd-nspawn',
  'vlc-bin': '/usr/bin/vlc',
  'vlc-plugin-base': '/usr/share/doc/vlc-plugin-base/copyright',
  'webkit2gtk-driver': '/usr/bin/WebKitWebDriver',
  wireplumber: '/usr/bin/wireplumber',
  wrk: '/usr/bin/wrk',
  xvfb: '/usr/bin/Xvfb',
  zsh: '/usr/bin/zsh',
};

/** A machine whose sound server is PipeWire keeps it, and the tests use it. */
const SERVER = existsSync(PACKAGES['pipewire-pulse']) ? [] : ['pulseaudio'];

/** The packages for each purpose. */
export const FOR = {
  start: ['pulseaudio', 'pulseaudio-utils', 'curl'],
  test: [...SERVER, 'pulseaudio-utils', 'dbus', 'iproute2'],
  all: Object.keys(PACKAGES).filter((name) => name !== 'wrk'),
  machine: ['debootstrap', 'e2fsprogs', 'qemu-system-x86'],
};

const PULSEAUDIO = ['pulseaudio', 'pulseaudio-utils'];
const BOTH_SERVERS = [...PULSEAUDIO, 'pipewire', 'pipewire-pulse', 'wireplumber'];

/** The packages for each measurement of bench/. */
export const FOR_BENCH = {
  board: PULSEAUDIO,
  change: PULSEAUDIO,
  // The package brings libpulse, and the daemon's codec is compared with that of libpulse.
  codec: ['pulseaudio-utils'],
  crowds: [...PULSEAUDIO, 'iproute2', 'mosquitto'],
  fanout: ['iproute2'],
  fleet: ['mosquitto'],
  http: [...PULSEAUDIO, 'wrk'],
  latency: BOTH_SERVERS,
  memory: PULSEAUDIO,
  meters: BOTH_SERVERS,
  page: [...PULSEAUDIO, 'chromium'],
  rest: [...PULSEAUDIO, 'dbus', 'dbus-user-session', 'libpam-systemd', 'polkitd', 'systemd-container'],
  start: PULSEAUDIO,
  storm: PULSEAUDIO,
  way: PULSEAUDIO,
};

export const notInstalled = (names) => names.filter((name) => !existsSync(PACKAGES[name]));

/** The text that tells this user how to run `command` as root: as it is, with sudo, or with `as root:`. */
export function rootCommand(command) {
  if (process.getuid() === 0) return command;
  const groups = spawnSync('id', ['-nG'], { encoding: 'utf8' }).stdout?.trim().split(' ') ?? [];
  return groups.includes('sudo') ? `sudo ${command}` : `as root: ${command}`;
}

/** The command with which a person installs `names`. */
export const installCommand = (names) =>
  rootCommand(`apt-get install --no-install-recommends ${names.join(' ')}`);

/** The packages of those programs that PACKAGES does not name. */
const ALSO = { busctl: 'systemd', pacat: 'pulseaudio-utils', paplay: 'pulseaudio-utils' };

/** The package that brings a program, or the name of the program if no known package does. */
export const packageOf = (program) =>
  Object.keys(PACKAGES).find((name) => basename(PACKAGES[name]) === program) ?? ALSO[program] ?? program;

/**
 * How to become root without asking anybody: nothing to prefix, `sudo -n`, or undefined when there is no way.
 */
function rootPrefix() {
  if (process.getuid() === 0) return [];
  return spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? ['sudo', '-n'] : undefined;
}

/**
 * Installs those of `names` that are missing, where that needs no password, and prints a line for each thing
 * that it does.
 * @returns {string[]} those that are still missing
 */
export function installDebian(names) {
  const missing = notInstalled(names);
  const prefix = missing.length > 0 && existsSync('/usr/bin/apt-get') ? rootPrefix() : undefined;
  if (prefix === undefined) return missing;
  const env = ['env', 'DEBIAN_FRONTEND=noninteractive', 'NEEDRESTART_SUSPEND=1'];
  const apt = (...args) => {
    const [command, ...rest] = [...prefix, ...env, ...APT, ...args];
    return spawnSync(command, rest, { encoding: 'utf8', timeout: APT_DEADLINE_MS });
  };
  const { status, stdout, stderr } = atWork(
    'setup',
    `installing Debian packages: ${missing.join(' ')}`,
    'this may take some minutes',
    () => {
      // The result of the update does not count. Old or incomplete lists of packages may still have what is
      // needed, and only the installation shows it.
      apt('update');
      return apt(...INSTALL, ...missing);
    },
  );
  const still = notInstalled(names);
  if (still.length > 0)
    console.log(
      `setup: ${still.join(' ')} could not be installed (status ${status}):\n${stdout}${stderr}`.trimEnd(),
    );
  return still;
}
