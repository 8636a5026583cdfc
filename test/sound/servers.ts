// Describes how a private PulseAudio or PipeWire is started for a test, without the machine's own devices
// and services.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import type { SinkSpec } from './null-sink.js';
import { type Kind, type Recipe, SoundServer } from './server.js';

interface ServerOptions {
  /** The first sink becomes the default. By default the sinks are `living` and `kitchen`. */
  readonly sinks?: readonly SinkSpec[];
  /** On PulseAudio a null sink exists while there is no other sink (module-always-sink). True by default. */
  readonly alwaysSink?: boolean;
  /** On PulseAudio an output is as loud as its loudest stream. False by default, as in Debian. */
  readonly flatVolumes?: boolean;
  /** The address at which PipeWire's configuration lets other machines connect, such as `tcp:4713`. */
  readonly opened?: string;
}

const SINKS: readonly SinkSpec[] = [
  { name: 'living', description: 'Living room' },
  { name: 'kitchen', description: 'Kitchen' },
];

/**
 * Anybody may connect. Without `auth-anonymous`, PulseAudio asks the kernel for the user of a client that
 * has no cookie. PulseAudio asks a moment after it has accepted the connection. If the client has sent data
 * before this question, the kernel reports no user for these data, and PulseAudio refuses the client, unless
 * the client uses libpulse. In a loop of connections without libpulse, PulseAudio 16.1 refused up to 9 of 10
 * connections.
 */
const SOCKET = 'module-native-protocol-unix auth-anonymous=1';

function pulseAudio({ alwaysSink = true, flatVolumes = false }: ServerOptions): Recipe {
  const modules = [SOCKET, ...(alwaysSink ? ['module-always-sink'] : [])];
  return {
    kind: 'pulseaudio',
    bringUp: (directory, start) => {
      const file = join(directory, '.config/pulse/daemon.conf');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `flat-volumes = ${flatVolumes ? 'yes' : 'no'}\n`);
      const flags = '-n --fail --daemonize=no --exit-idle-time=-1 --use-pid-file=no --log-target=stderr';
      start('pulseaudio', ...flags.split(' '), ...modules.flatMap((module) => ['-L', module]));
    },
  };
}

/**
 * WirePlumber must not touch the machine's own devices. Version 0.4 reads the two `.lua` files, and version
 * 0.5 reads the `.conf` file.
 */
const NO_HARDWARE: Readonly<Record<string, string>> = {
  'main.lua.d/51-no-hardware.lua': 'alsa_monitor.enabled = false\nv4l2_monitor.enabled = false\n',
  'bluetooth.lua.d/51-no-hardware.lua': 'bluez_monitor.enabled = false\n',
  'wireplumber.conf.d/51-no-hardware.conf':
    'wireplumber.profiles = { main = { hardware.audio = disabled, hardware.bluetooth = disabled, hardware.video-capture = disabled } }\n',
};

const CLIENT_PROGRAMS = ['pactl', 'pacat'];
const PIPEWIRE_PROGRAMS = ['pipewire', 'pipewire-pulse', 'wireplumber', 'dbus-daemon'];

const isSocket = (path: string) => statSync(path, { throwIfNoEntry: false })?.isSocket() === true;

function configurationFiles(opened: string | undefined): ReadonlyMap<string, string> {
  const files = Object.entries(NO_HARDWARE).map(([name, text]) => [`wireplumber/${name}`, text] as const);
  const addresses = `pulse.properties = { server.address = [ "unix:native" "${opened}" ] }\n`;
  const network = ['pipewire/pipewire-pulse.conf.d/50-network.conf', addresses] as const;
  return new Map(opened === undefined ? files : [...files, network]);
}

const pipeWire = ({ opened }: ServerOptions): Recipe => ({
  kind: 'pipewire',
  bringUp: async (directory, start) => {
    for (const [name, text] of configurationFiles(opened)) {
      const file = join(directory, '.config', name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    // The test's process starts the bus itself, because a killed dbus-run-session leaves its bus behind.
    start('dbus-daemon', '--session', '--nofork', '--nopidfile', `--address=unix:path=${directory}/bus`);
    await until('the bus listens', () => isSocket(join(directory, 'bus')));
    start('pipewire');
    await until('PipeWire listens', () => isSocket(join(directory, 'pipewire-0')));
    start('wireplumber');
    start('pipewire-pulse');
  },
});

export const startPulseAudio = ({ sinks = SINKS, ...options }: ServerOptions = {}) =>
  SoundServer.start(pulseAudio(options), sinks);

/**
 * Both kinds of servers, for tests that must pass on each. `skip` is false, or says why a kind is missing on
 * this machine.
 */
export const SOUND_SERVERS: readonly {
  readonly kind: Kind;
  readonly skip: string | false;
  start(options?: ServerOptions): Promise<SoundServer>;
}[] = [
  {
    kind: 'pulseaudio',
    skip: skipReason({ programs: ['pulseaudio', ...CLIENT_PROGRAMS] }),
    start: startPulseAudio,
  },
  {
    kind: 'pipewire',
    skip: skipReason({ programs: [...PIPEWIRE_PROGRAMS, ...CLIENT_PROGRAMS] }),
    start: ({ sinks = SINKS, ...options } = {}) => SoundServer.start(pipeWire(options), sinks),
  },
];
