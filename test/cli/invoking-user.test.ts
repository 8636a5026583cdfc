// Tests that commands under a real sudo use the files and the sound server of the invoking user, who has
// become root. The test makes this user, and starts the user's sound server, which demands a cookie from
// other users. The machine's own users, sudo rules and runtime directories stay unchanged.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ENTRY } from '../contract/daemon.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';

const skip = skipReason({ programs: ['sudo', 'unshare', 'setpriv', 'pulseaudio', 'pactl'], root: true });
const UID = 4321;
const RUNTIME = `/run/user/${UID}`;
const BUILD = '/run/build';

/**
 * The first argument is the folder of the test, and the second is the folder of the build. Both are mounted
 * where the user can reach them, because the repository may lie in root's home. The other arguments are the
 * command that starts tonearm. The output of each tonearm command goes into a file of the test's folder. For
 * `trace`, a second file gets stderr, which contains the output of pactl.
 */
const SCRIPT = `
mount -t tmpfs -o mode=755 tmpfs /run
folder=/run/folder
install -d "$folder" ${BUILD}
mount --bind "$1" "$folder"; shift
mount --bind "$1" ${BUILD}; shift
{ cat /etc/passwd; echo "dj:*:${UID}:${UID}::$folder/home:/bin/sh"; } > "$folder/passwd"
mount --bind "$folder/passwd" /etc/passwd
echo 'dj ALL=(root) NOPASSWD: ALL' > "$folder/sudoers"
chmod 440 "$folder/sudoers"
mount --bind "$folder/sudoers" /etc/sudoers
install -d -m 755 /run/user
install -d -m 700 -o ${UID} -g ${UID} ${RUNTIME} "$folder/home" "$folder/home/.config" "$folder/home/.config/tonearm"
echo 'players: {enabled: true}' > "$folder/home/.config/tonearm/config.yaml"
dj() {
  setpriv --reuid ${UID} --regid ${UID} --clear-groups env -i --chdir=/ \\
    PATH="$PATH" HOME="$folder/home" XDG_RUNTIME_DIR=${RUNTIME} "$@"
}
dj pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no \\
  -L module-native-protocol-unix -L 'module-null-sink sink_name=parlour' > "$folder/server" 2>&1 &
tries=0
until dj pactl info > "$folder/info" 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt 200 ]; then cat "$folder/server" "$folder/info"; exit 1; fi
  sleep 0.1
done
dj sudo -n "$@" --check-config > "$folder/check"
dj sudo -n "$@" bench --seconds 2 --json > "$folder/bench"
dj sudo -n "$@" trace -- pactl get-default-sink > "$folder/trace" 2> "$folder/pactl"
dj sudo -n XDG_RUNTIME_DIR=/run "$@" --check-config > "$folder/check-with-directory"
`;

describe('under sudo', { skip }, () => {
  const folder = temporaryFolder();
  const output = (name: string) => readFileSync(join(folder, name), 'utf8');

  before(async () => {
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'script'), SCRIPT);
    const unshareOptions = [
      '--mount',
      '--propagation=private',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
    ];
    // The package's start script also sets `UV_USE_IO_URING` (src/cli/invoking-user.ts).
    const program = ['env', 'UV_USE_IO_URING=0', process.execPath, join(BUILD, basename(ENTRY))];
    await promisify(execFile)('unshare', [
      ...unshareOptions,
      'sh',
      '-eu',
      join(folder, 'script'),
      folder,
      dirname(ENTRY),
      ...program,
    ]);
  });

  test("--check-config under sudo prints the invoking user's configuration", () => {
    assert.match(output('check'), /^players:\n {2}enabled: true$/m);
    assert.match(output('check'), new RegExp(`progressSocket: ${RUNTIME}/tonearm/upgrade.sock$`, 'm'));
  });

  test('bench under sudo measures the sound server of the invoking user', () => {
    const { missing, server } = JSON.parse(output('bench'));
    assert.equal(missing, null);
    assert.match(server, /^pulseaudio/);
  });

  test('trace under sudo runs a program as the invoking user, and prints what the program sends to the sound server', () => {
    assert.match(output('trace'), /GET_SERVER_INFO/);
    assert.match(output('pactl'), /^parlour$/m);
  });

  test('tonearm keeps the runtime directory that the command line of sudo sets', () =>
    assert.match(output('check-with-directory'), /progressSocket: \/run\/tonearm\/upgrade.sock$/m));
});
