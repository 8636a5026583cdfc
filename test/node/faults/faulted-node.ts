// The installed node with everything that a node can have, and with what the faults need: a broker on a
// neighbour in the network, a small disk for the daemon's state, an upgrade that waits for its verdict, and
// a saboteur in the daemon. All of this is there again after a reboot.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { remark } from '../../remark.js';
import { until } from '../../until.js';
import { NODE_PROGRAM, type Node } from '../node.js';
import { PageOnNode } from './page-on-node.js';

export const LAN_ADDRESS = '192.168.77.5';
export const BROKER = '192.168.77.9';
export const TOPIC = 'tonearm/tonearm-node';
export const STATE = '/home/pi/.local/state/tonearm';
const FILES_FOLDER = '/etc/faults';
const SABOTAGE = '/run/sabotage';

/** Makes a unit of the system start at each boot. */
const AT_BOOT = '[Install]\nWantedBy=multi-user.target\n';
const ONESHOT = '[Service]\nType=oneshot\nRemainAfterExit=yes\n';

/** Adds lan0 with its address; the neighbour has the other end. */
export const PLUG_IN = `ip link add lan0 type veth peer name far0 netns neighbour
ip -n neighbour address add ${BROKER}/24 dev far0; ip -n neighbour link set far0 up
ip address add ${LAN_ADDRESS}/24 dev lan0; ip link set lan0 up`;

const PLUG_IN_ON_ONE_LINE = PLUG_IN.replaceAll('\n', '; ');

const SYSTEM_UNITS: Readonly<Record<string, string>> = {
  'neighbour.service': `[Unit]
Before=broker.service
${ONESHOT}ExecStart=/bin/sh -ec 'ip netns add neighbour; ip -n neighbour link set lo up; ${PLUG_IN_ON_ONE_LINE}'
${AT_BOOT}`,
  'broker.service': `[Unit]
StartLimitIntervalSec=0
Requires=neighbour.service
[Service]
ExecStart=/usr/sbin/ip netns exec neighbour /usr/sbin/mosquitto -c ${FILES_FOLDER}/broker.conf
Restart=always
RestartSec=100ms
${AT_BOOT}`,
  'bluetooth.service': `[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=${NODE_PROGRAM} ${FILES_FOLDER}/bluez.cjs
Restart=always
RestartSec=500ms
${AT_BOOT}`,
};

/** The rule of the package bluez: root may have BlueZ's name, and everybody may send it commands. */
const BLUEZ_POLICY = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <policy user="root"><allow own="org.bluez"/><allow send_interface="org.bluez.Agent1"/></policy>
  <policy context="default"><allow send_destination="org.bluez"/></policy>
</busconfig>
`;

/** BlueZ's double with all that it imports, as one file. */
async function bluezDouble(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./bluez.js', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    // dbus-next loads these to pass file descriptors, and to find the address of a bus. BlueZ's double does
    // neither.
    external: ['usocket', 'x11'],
  });
  return outputFiles[0]?.text ?? assert.fail('there is no bundle');
}

/** The unit of a small file system that belongs to pi. What is in it survives a reboot. */
const smallDisk = (uid: number): string => `[Unit]
Before=user@${uid}.service
${ONESHOT}ExecStart=/bin/sh -ec 'mount -t tmpfs -o size=128k,mode=700,uid=${uid},gid=${uid} small-disk ${STATE}; cp -a /var/kept/. ${STATE}'
ExecStop=/bin/sh -ec 'cp -a ${STATE}/. /var/kept; umount --lazy ${STATE}'
${AT_BOOT}`;

/**
 * The upgrade waits for its verdict, and writes ~/upgrade-ended before it ends. This file is missing if the
 * upgrade was killed.
 */
const UPGRADE = `#!/bin/sh
rm -f ~/upgrade-ended
tonearm progress begin --total 4
tonearm progress step --percent 50 --current 2 --step 'Half of it'
until [ -s ~/verdict ]; do sleep 0.05; done
cp ~/verdict ~/upgrade-ended
exit "$(cat ~/verdict)"
`;

const UPGRADE_RESULT =
  '{"current": "1", "latest": "2", "upgrade_available": true, "checked_at": "2026-01-01T00:00:00Z"}';

/** Succeeds when PipeWire answers a client. */
const PIPEWIRE_ANSWERS = 'until pw-metadata 0 2> /dev/null | grep -q Found; do sleep 0.1; done';
/**
 * Succeeds when a listener gets the default output, and then a word that another client writes into the same
 * metadata.
 */
const PIPEWIRE_SIGNALS = `${PIPEWIRE_ANSWERS}
stdbuf -oL pw-metadata -m 0 > ~/received & listener=$!
until grep -q default.audio.sink ~/received; do sleep 0.1; done
pw-metadata 0 faults.word $$ > /dev/null
until grep -q "faults.word.*$$" ~/received; do sleep 0.1; done
kill $listener`;
/** Succeeds when the outputs of PipeWire's configuration are there. */
const PIPEWIRE_HAS_OUTPUTS = `for output in living kitchen; do
  until pactl list short sinks | grep -q "\\s$output\\s"; do sleep 0.2; done
done`;

const WITNESS = 'sound-witness';
/** Returns a command that finds the newest default output in the lines that the command `listing` prints. */
const newestDefaultIn = (listing: string): string =>
  `${listing} | grep "key:'default.audio.sink'" | tail -n 1 | grep -o '"name":"[^"]*"'`;
/**
 * Succeeds when the witness (`watchSound`) knows the same default output as a new client. Succeeds at once
 * if the witness does not run, or has started before the session manager. A witness that has started earlier
 * proves nothing, because it listens only to the metadata of an earlier session manager.
 */
const WITNESS_KNOWS = `started_at() { systemctl --user show -P ExecMainStartTimestampMonotonic "$1"; }
systemctl --user --quiet is-active ${WITNESS} || exit 0
[ "$(started_at ${WITNESS})" -gt "$(started_at wireplumber)" ] || exit 0
until [ "$(${newestDefaultIn('cat ~/witnessed')})" = "$(${newestDefaultIn('pw-metadata 0')})" ]; do sleep 0.2; done`;

export class FaultedNode extends PageOnNode {
  /** The unit of the sound server. */
  readonly soundUnit: string;
  /** A port of this machine that leads to the daemon's port, and stays the same for the node's life. */
  port = 0;

  constructor(node: () => Node, soundUnit: string) {
    super(node);
    this.soundUnit = soundUnit;
  }

  override async install(): Promise<void> {
    const { node } = this;
    await super.install();
    await node.writeFile(`${FILES_FOLDER}/broker.conf`, 'user root\nlistener 1883\nallow_anonymous true\n');
    for (const [name, text] of Object.entries(SYSTEM_UNITS)) await node.writeUnit('system', name, text);
    await node.writeUnit('system', 'small-disk.service', smallDisk(node.uid));
    await node.writeFile(`${FILES_FOLDER}/upgrade`, UPGRADE, '755');
    await node.writeFile(`${FILES_FOLDER}/bluez.cjs`, await bluezDouble());
    await node.writeFile('/etc/dbus-1/system.d/bluez-double.conf', BLUEZ_POLICY);
    await node.userShell("echo 'bluetooth: {enabled: true}' > ~/.config/tonearm/conf.d/60-bluetooth.yaml");
    const group = 'pulseaudio: {groups: {house: {outputs: [living, kitchen]}}}';
    await node.userShell(`echo '${group}' > ~/.config/tonearm/conf.d/61-group.yaml`);
    const saboteur = readFileSync(new URL('./saboteur.js', import.meta.url), 'utf8');
    await node.writeFile(`${FILES_FOLDER}/saboteur.mjs`, saboteur);
    const dropIns = {
      'tonearm-upgrade': `ExecStart=\nExecStart=${FILES_FOLDER}/upgrade`,
      // The shipped unit unsets NODE_OPTIONS, because anybody may have set it.
      tonearm: `UnsetEnvironment=\nEnvironment=NODE_OPTIONS=--import=${FILES_FOLDER}/saboteur.mjs SABOTAGE=${SABOTAGE}`,
    };
    for (const [unit, text] of Object.entries(dropIns))
      await node.writeFile(`/etc/systemd/user/${unit}.service.d/faults.conf`, `[Service]\n${text}\n`);
    // The detector that this timer starts would overwrite the file with `UPGRADE_RESULT`.
    await node.systemctl('disable', '--now', 'tonearm-detect.timer');
    await node.systemctl('daemon-reload');
    await node.systemctl('stop', 'tonearm.service');
    const units = `${Object.keys(SYSTEM_UNITS).join(' ')} small-disk.service`;
    await node.shell(`mkdir -p /var/kept; runuser -u pi -- mkdir -p ${STATE}; cp -a ${STATE}/. /var/kept
systemctl --quiet enable avahi-daemon.service lamp.service ${units}
systemctl start avahi-daemon.service ${units}`);
    await node.userShell(`printf %s '${UPGRADE_RESULT}' > ${STATE}/upgrade-result.json`);
    await node.systemctl('enable', 'radio.service');
    await node.setUpPi('--bind', 'lo', '--bind', 'lan0', '--discovery', '--mqtt', `mqtt://${BROKER}`);
    this.port = await node.door();
  }

  /** Restarts the node by a request, as a person does from the page. */
  async restart(): Promise<void> {
    const request = 'curl --silent --fail -X POST http://127.0.0.1:8018/power/reboot';
    await this.node.reboot(() => this.node.shell(request));
    // The reboot has ended the forwarding from `port` to the daemon. This call makes it again at this port.
    await this.node.door();
  }

  /** Ends the waiting upgrade with this status. */
  async endUpgrade(status: '0' | '1'): Promise<void> {
    await this.node.userShell(`echo ${status} > ~/verdict`);
    const state = (): Promise<string> => this.node.property('ActiveState', 'tonearm-upgrade.service');
    await until('the upgrade has ended', async () => (await state()) !== 'activating');
  }

  /** The main process of a unit; 0 if there is none. */
  async pidOf(scope: 'system' | 'user', unit: string): Promise<number> {
    const show = ['systemctl', `--${scope}`, 'show', '-P', 'MainPID', unit];
    const ran = await (scope === 'system' ? this.node.root(...show) : this.node.user(...show));
    return Number(ran.stdout);
  }

  /** Sends a signal to the main process of a unit, and resolves with the id of this process. */
  async signal(name: string, scope: 'system' | 'user', unit: string): Promise<number> {
    const pid = await until(`${unit} runs`, async () => (await this.pidOf(scope, unit)) || undefined);
    await this.node.shell(`kill -${name} ${pid}`);
    return pid;
  }

  /** The last lines of the daemon, and of systemd about it. They say why the daemon has ended. */
  lastLogLines(): Promise<string> {
    const unit = 'tonearm.service';
    return this.node.shell(`journalctl --no-pager --lines 60 _SYSTEMD_USER_UNIT=${unit} + USER_UNIT=${unit}`);
  }

  /**
   * Starts the witness. It is a program of PipeWire's own, and listens for changes of the default output, as
   * the daemon does. When a restart of PipeWire ends the witness, systemd starts it again. PulseAudio needs
   * no witness.
   */
  async watchSound(): Promise<void> {
    if (this.soundUnit !== 'pipewire-pulse.service') return;
    const listen = 'exec stdbuf -oL pw-metadata -m 0 > ~/witnessed';
    await this.node.userShell(`systemctl --user stop ${WITNESS} 2> /dev/null || true
systemd-run --user --quiet --collect --unit=${WITNESS} -p Restart=always -p RestartSec=100ms -p StartLimitIntervalSec=0 \\
  --setenv=HOME=$HOME sh -c '${listen}'`);
  }

  /**
   * Restarts wireplumber and pipewire-pulse if PipeWire is locked, mute, forgetful or bare, and resolves
   * with true in this case. Otherwise it restarts nothing. The daemon causes none of these states. All were
   * observed with PipeWire's and PulseAudio's own programs alone, with PipeWire 0.3.65 and 1.4.2:
   * - Locked: when the connection of a stream binds the metadata of a new session manager, PipeWire reads
   *   nothing from this connection until the session manager has answered. When the session manager sets up
   *   a stream, PipeWire reads nothing from the session manager until the stream's connection has answered.
   *   If each waits for the other, PipeWire answers nobody, not even pw-cli. It was locked 2 of 3 times when
   *   the session manager was restarted while one pacat played, and 6 of 6 times when pipewire-pulse was also
   *   stopped by SIGSTOP during the restart.
   * - Mute: PipeWire sends changes of the default output to nobody. Only clients that connect later learn of
   *   them. PipeWire becomes mute if a client goes before the session manager has answered for this client.
   *   It was mute 5 of 8 times after 40 pw-metadata had been killed.
   * - Forgetful: PipeWire sends changes, but one of them has not reached the clients that listened at that
   *   time. Clients that came later have its contents. The witness of `watchSound` shows this.
   * - Bare: a pipewire-pulse that starts while PipeWire itself is restarted loads the modules of its
   *   configuration in vain, and does not try again.
   */
  async restartStuckSound(): Promise<boolean> {
    if (this.soundUnit !== 'pipewire-pulse.service') return false;
    const units = `pipewire-pulse.socket ${this.soundUnit}`;
    await this.node.writeFile(`${FILES_FOLDER}/witness-knows`, WITNESS_KNOWS);
    // If one of the three checks fails, wireplumber and pipewire-pulse are restarted, and all checks begin
    // again. The script prints something only if it has restarted them.
    const within15s = 'timeout -s KILL 15 sh';
    const output = await this.node.userShell(`for try in 1 2 3; do
  if ${within15s} -c '${PIPEWIRE_SIGNALS}' && ${within15s} ${FILES_FOLDER}/witness-knows &&
    ${within15s} -c '${PIPEWIRE_HAS_OUTPUTS}'; then exit 0; fi
  systemctl --user stop ${units}; systemctl --user restart wireplumber.service
  ${within15s} -c '${PIPEWIRE_ANSWERS}' || true; systemctl --user start ${units}; echo restarted
done`);
    if (output !== '')
      remark('PipeWire answers nobody, tells nobody, or lacks its outputs, and has been restarted');
    return output !== '';
  }

  /** Makes the saboteur in the daemon carry out an order (saboteur.ts). */
  async sabotage(order: string): Promise<void> {
    await this.node.writeFile(SABOTAGE, order);
    await this.signal('USR2', 'user', 'tonearm.service');
  }
}
