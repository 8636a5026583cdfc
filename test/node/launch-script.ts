// The shell scripts that make the mounts, namespaces and cgroup of a test node, and remove them. This file
// has only the text of the scripts. keeper.ts runs them.
//
// A boot has these requirements. They were found on a Debian 12 VM in which no systemd ran and a hybrid
// cgroup layout was mounted by hand.
// - The tests run as root with CAP_SYS_ADMIN, and need systemd-nspawn, unshare, nsenter, setpriv and tar.
//   The kernel has overlayfs and cgroup2. Neither needs to be mounted. The whole system is on one file
//   system, because overlayfs does not see through mounts.
// - The node has a cgroup2 group of its own at the root of the hierarchy. This group is the root of the
//   node's cgroup namespace. The group is mounted over /sys/fs/cgroup, so that nspawn sees a pure unified
//   layout on every host, and two nodes do not share nspawn's `payload` group. Controllers that the host
//   keeps in version 1 (memory, cpu) are missing inside the node.
// - /run is a tmpfs of the node's own, because nspawn keeps locks and propagation mounts there. These must
//   not outlive the node, nor meet those of another nspawn.
// - CAP_SYS_RESOURCE is not needed. Without it systemd may not lower OOM scores. In a container systemd
//   ignores this refusal.
//
// The keeper's standard input is a pipe from the test process. The pipe ends when the test process closes it,
// or when the test process ends (crash, SIGKILL, Ctrl-C). The keeper then kills the PID namespace and removes
// the cgroup. If the keeper itself is killed, the parent-death signal ends the PID namespace, and all mounts
// vanish with the last process. An empty folder and an empty cgroup stay behind only in this case.

/**
 * Runs as PID 1 of the namespaces that the keeper's child makes. Reads lines `boot` from descriptor 4, and
 * writes lines `ended STATUS` to descriptor 3.
 */
const BOOT_LOOP = String.raw`
set -eu
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=755 tonearm-node /run
mkdir -p /run/systemd/nspawn
ROOT=$DIR/root
mount -t overlay tonearm-node -o "lowerdir=$LOWER,upperdir=$DIR/upper,workdir=$DIR/work" "$ROOT"

# The folders of /etc have the units that packages and the administrator have enabled on this machine. None of
# these units starts on the node. The node starts only units that the packages' own files below /usr enable.
rm -rf "$ROOT"/etc/systemd/system/* "$ROOT"/etc/systemd/user/* "$ROOT"/etc/rc?.d/* "$ROOT"/var/lib/systemd/linger
rm -rf "$ROOT"/var/log/journal "$ROOT"/etc/polkit-1/rules.d/*
: > "$ROOT/etc/fstab"
echo "$NODE_HOSTNAME" > "$ROOT/etc/hostname"
echo "$MACHINE_ID" > "$ROOT/etc/machine-id"
rm -f "$ROOT/var/lib/dbus/machine-id"
ln -s /etc/machine-id "$ROOT/var/lib/dbus/machine-id"
systemctl --quiet --root="$ROOT" mask getty.target apt-daily.timer apt-daily-upgrade.timer
# Without this file, each installation of a package would read all manual pages of the system again.
rm -f "$ROOT/var/lib/man-db/auto-update"
chroot "$ROOT" id "$NODE_USER" >/dev/null 2>&1 ||
  chroot "$ROOT" useradd --create-home --shell /bin/bash --user-group "$NODE_USER"
mkdir -p "$ROOT/var/lib/systemd/linger"
: > "$ROOT/var/lib/systemd/linger/$NODE_USER"
[ -z "$SOUND_UNITS" ] || systemctl --quiet --root="$ROOT" --global enable $SOUND_UNITS

while read -r word <&4 && [ "$word" = boot ]; do
  status=0
  systemd-nspawn --quiet --register=no --keep-unit --directory="$ROOT" --boot --console=pipe --resolv-conf=off \
    --timezone=off --private-network --hostname="$NODE_HOSTNAME" --machine="$NODE_HOSTNAME" </dev/null 3>&- 4<&- || status=$?
  echo "ended $status" >&3
done
`;

/**
 * Runs in a mount namespace of its own: `sh -c KEEPER keeper BOOT_LOOP`, with DIR and the node's settings in
 * its environment. The child is one process that becomes one program after another: the shell `enter`,
 * `env`, `setpriv`, the shell `check`, and `unshare`. `unshare` then starts the boot loop as PID 1 of the
 * new namespace. The keeper ignores some signals. Its child would ignore them, too, but `env` prevents this.
 */
const KEEPER = String.raw`
set -eu
boot_loop=$1
mount -t tmpfs -o mode=755 tonearm-node "$DIR"
mkdir "$DIR/upper" "$DIR/work" "$DIR/root" "$DIR/cgroup"
mount -t cgroup2 cgroup2 "$DIR/cgroup"
group=$DIR/cgroup/$(basename "$DIR")
inner=
clean_up() {
  [ -z "$inner" ] || kill -KILL "$inner" 2>/dev/null || true
  wait
  tries=0
  while ! rmdir_tree && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    [ ! -w "$group/cgroup.kill" ] || echo 1 > "$group/cgroup.kill"
    sleep 0.02
  done
  # The mount hides files that the test process has put into the folder, so the unmount comes first.
  umount -l "$DIR" && rm -rf --one-file-system "$DIR"
}
rmdir_tree() {
  [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
}
trap clean_up EXIT
# A killed keeper would clean up nothing, so the keeper ignores these signals. The kernel sends PIPE for a
# report that nobody reads any more.
trap '' INT HUP TERM PIPE
mkdir "$group"
# The child enters the group first, because the group becomes the root of the cgroup namespace that the child makes.
# setpriv has the kernel kill the child when the keeper dies. The keeper may have died before that, so the
# child then checks that the keeper is still its parent.
sh -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' enter "$group" \
  env --default-signal setpriv --pdeathsig KILL \
  sh -c '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"' check $$ \
  unshare --pid --mount --ipc --uts --cgroup --propagation private --fork --kill-child=KILL --mount-proc \
  sh -c "$boot_loop" boot-loop &
inner=$!
echo "keeper $inner" >&3
exec 3>&- 4<&-
cat > /dev/null
`;

/**
 * The command that starts the keeper. The keeper runs until its standard input ends. It writes reports to
 * descriptor 3. Its child reads orders from descriptor 4, and writes reports to descriptor 3, too.
 */
export const LAUNCH: readonly [command: string, ...args: string[]] = [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  'sh',
  '-c',
  KEEPER,
  'keeper',
  BOOT_LOOP,
];
