// Makes the disk of the emulated machine that test/hardware boots: a Debian with its own kernel, a sound
// server and Bluetooth, without tonearm. The disk is made once per recipe, and kept where debian13.mjs keeps
// its root. A machine that boots from the disk does not write to it.

import { cachedDebian } from './debian13.mjs';

/**
 * The packages of a node without a screen, and those that imitate its cards and a phone. The Node of Debian
 * 12 is too old for tonearm.
 */
const packages = (debian) => [
  'linux-image-amd64',
  'systemd',
  'systemd-sysv',
  'libpam-systemd',
  'dbus',
  'dbus-user-session',
  'polkitd',
  ...(debian === 12 ? [] : ['nodejs']),
  'iproute2',
  'kmod',
  'procps',
  'rfkill',
  'udev',
  'pipewire',
  'pipewire-pulse',
  'wireplumber',
  'pulseaudio',
  'pulseaudio-utils',
  'alsa-utils',
  'bluez',
  'bluez-test-tools',
  'libspa-0.2-bluetooth',
  'python3-dbus',
];

/**
 * The door runs the commands of a test (test/hardware/machine.ts), one for each connection. The test sends a
 * line with the user and the script's length, then the script, then the script's input. The door answers
 * with the script's output, its errors and its status. A record separator stands before the errors and
 * before the status.
 */
const DOOR = `#!/bin/sh
read -r user length
script=$(head -c "$length")
errors=$(mktemp)
if [ "$user" = root ]; then
  sh -c "$script" 2> "$errors"
else
  uid=$(id -u "$user")
  setpriv --reuid "$user" --regid "$user" --init-groups --reset-env env --chdir=/home/"$user" \\
    XDG_RUNTIME_DIR=/run/user/"$uid" DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/"$uid"/bus sh -c "$script" 2> "$errors"
fi
status=$?
printf '\\036'
cat "$errors"
printf '\\036%s' "$status"
rm -f "$errors"`;

const DOOR_SOCKET = `[Socket]
ListenStream=8019
Accept=yes
[Install]
WantedBy=sockets.target`;

const DOOR_SERVICE = `[Service]
ExecStart=-/usr/local/sbin/door
StandardInput=socket
StandardOutput=socket
StandardError=journal`;

/** QEMU's own network, as its DHCP server would give it. */
const NETWORK = `[Match]
Type=ether
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2`;

/**
 * The loopback card gets a few of its fifty profiles, because each program that finds the card reads all of
 * them, which takes seconds on the emulated machine. A rule of udev names a card's set of profiles, and each
 * sound server has its own copy of the sets. LOOPBACK_PROFILES matches the headings of the sections that the
 * set keeps, such as `[Mapping analog-stereo]`.
 */
const LOOPBACK_RULE =
  'SUBSYSTEM=="sound", KERNEL=="card*", DEVPATH=="*/snd_aloop.*", ENV{ACP_PROFILE_SET}="loopback.conf", ENV{PULSE_PROFILE_SET}="loopback.conf"';
const LOOPBACK_PROFILES = '^\\[(General|Mapping analog-(stereo|surround-51))\\]';

/**
 * WirePlumber gets one codec. With all of them a connection takes longer than the 25 s that a client allows
 * for it (docs/development/what-we-learnt.md, "BlueZ"). It gets the roles of A2DP alone, because a peer that
 * is both headset and phone could become either. Version 0.4, of Debian 12, has no roles for A2DP, so it may
 * not connect by itself. Otherwise it would connect to the loudspeaker that a peer offers, and then the peer
 * would be no phone.
 */
const WIREPLUMBER = {
  12: {
    folder: 'bluetooth.lua.d',
    file: '60-codecs.lua',
    text: `bluez_monitor.properties["bluez5.headset-roles"] = "[ ]"
bluez_monitor.properties["bluez5.codecs"] = "[ sbc ]"
table.insert(bluez_monitor.rules, {
  matches = { { { "device.name", "matches", "bluez_card.*" } } },
  apply_properties = { ["bluez5.auto-connect"] = "[ ]" },
})`,
  },
  13: {
    folder: 'wireplumber.conf.d',
    file: 'codecs.conf',
    text: 'monitor.bluez.properties = { bluez5.roles = [ a2dp_sink a2dp_source ] bluez5.codecs = [ sbc ] }',
  },
};
/**
 * docs/bluetooth.md, "Who may pair", recommends `--noplugin=input,network` for a node that is for sound
 * alone. This machine does without two more plugins, `sap` and `hog`.
 */
const BLUETOOTHD = `[Service]
ExecStart=
ExecStart=/usr/libexec/bluetooth/bluetoothd --noplugin=sap,network,input,hog`;

const file = (path, text) => `cat > "$root${path}" <<'END'\n${text}\nEND`;

/**
 * The user is an ordinary one of Debian, without the group audio. The sound server is PipeWire, and a test
 * must unmask PulseAudio to use it. The initial file system has only the drivers for this disk, because an
 * emulated machine needs several seconds to unpack all drivers of Debian.
 */
const finish = (wireplumber) => `
echo tonearm-machine > "$root/etc/hostname"
echo '/dev/vda / ext4 rw 0 1' > "$root/etc/fstab"
${file('/usr/local/sbin/door', DOOR)}
chmod 755 "$root/usr/local/sbin/door"
${file('/etc/systemd/system/door.socket', DOOR_SOCKET)}
${file('/etc/systemd/system/door@.service', DOOR_SERVICE)}
${file('/etc/systemd/network/wired.network', NETWORK)}
mkdir -p "$root/etc/wireplumber/${wireplumber.folder}" "$root/etc/systemd/system/bluetooth.service.d"
${file(`/etc/wireplumber/${wireplumber.folder}/${wireplumber.file}`, wireplumber.text)}
${file('/etc/systemd/system/bluetooth.service.d/sound.conf', BLUETOOTHD)}
${file('/etc/udev/rules.d/90-loopback.rules', LOOPBACK_RULE)}
for sets in "$root"/usr/share/alsa-card-profile/mixer/profile-sets "$root"/usr/share/pulseaudio/alsa-mixer/profile-sets; do
  awk '/^\\[/ { isWanted = /${LOOPBACK_PROFILES}/ } isWanted' "$sets/default.conf" > "$sets/loopback.conf"
done
chroot "$root" useradd --create-home --shell /bin/bash --user-group pi
systemctl --quiet --root="$root" enable door.socket systemd-networkd.service
systemctl --quiet --root="$root" --global mask pulseaudio.socket pulseaudio.service
systemctl --quiet --root="$root" mask getty.target serial-getty@ttyS0.service apt-daily.timer apt-daily-upgrade.timer \\
  systemd-networkd-wait-online.service dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount \\
  sys-kernel-tracing.mount sys-fs-fuse-connections.mount
printf '%s\\n' virtio_pci virtio_blk ext4 > "$root/etc/initramfs-tools/modules"
echo MODULES=list > "$root/etc/initramfs-tools/conf.d/modules"
mount -t proc proc "$root/proc"
chroot "$root" update-initramfs -u
umount "$root/proc"
cp "$root"/boot/vmlinuz-* "$FINISHED.making/kernel"
cp "$root"/boot/initrd.img-* "$FINISHED.making/initrd"
mkfs.ext4 -q -d "$root" "$FINISHED.making/disk" 4G
rm -rf "$root" "$FINISHED.making/mount"
`;

/**
 * Resolves with the folder `home`, which has the files `kernel`, `initrd` and `disk`.
 * @param {12 | 13} debian
 * @returns {Promise<{ home: string } | { problem: string }>}
 */
export async function machine(debian) {
  if (process.arch !== 'x64') return { problem: 'the emulated machine can be made and run on amd64 only' };
  const recipe = { packages: packages(debian), finish: finish(WIREPLUMBER[debian]) };
  return cachedDebian({ name: `machine${debian}`, debian, ...recipe });
}
