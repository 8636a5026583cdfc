#!/bin/sh
# sh sandbox.sh DIR [bus]: a private sound server with two outputs and a playing stream, and with `bus` a session bus, with a player on
# it where mpv is installed. `npm start` uses it where no sound server runs. Prints `ready` once all of it answers, and ends when its
# standard input is closed.
set -eu
dir=$1
for name in $(env | sed -n 's/^\(PULSE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export HOME="$dir" XDG_RUNTIME_DIR="$dir" PULSE_SERVER="unix:$dir/pulse/native" DBUS_SESSION_BUS_ADDRESS="unix:path=$dir/bus"

pids=
trap 'kill -KILL $pids 2> /dev/null || true; wait; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM PIPE
# Programs that are started here end with this shell, however that ends.
start() {
  setpriv --pdeathsig KILL -- "$@" >> "$dir/log" 2>&1 &
  pids="$pids $!"
}
# Waits ten seconds for the program that was started last. Shows the log only if that fails: a PulseAudio of root always warns.
wait_for() {
  tries=0
  until "$@" > /dev/null 2>&1; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ]; then
      echo "\`$*\` has failed for ten seconds" >&2
    elif kill -0 "${pids##* }" 2> /dev/null; then
      sleep 0.1
      continue
    elif [ ! -s "$dir/log" ]; then
      echo "the program for \`$*\` has ended without a message" >&2
    fi
    tail -n 20 "$dir/log" >&2
    exit 1
  done
}
output() { echo "module-null-sink sink_name=$1 sink_properties='device.description=\"$2\"'"; }

# The daemon has no cookie for this server. A check of the user alone would refuse it now and then (test/sound/servers.ts).
start pulseaudio -n --fail --daemonize=no --exit-idle-time=-1 --use-pid-file=no --log-target=stderr \
  -L 'module-native-protocol-unix auth-anonymous=1' -L "$(output living 'Living room')" -L "$(output kitchen Kitchen)" \
  -L module-always-sink
wait_for pactl info
start sh -c 'exec "$@" < /dev/zero' silence pacat --raw --format=s16le --rate=8000 --channels=2 --latency-msec=500 \
  --client-name=Radio --stream-name='Morning show' -d living
if [ "${2:-}" = bus ]; then
  start dbus-daemon --session --nofork --nopidfile "--address=$DBUS_SESSION_BUS_ADDRESS"
  wait_for test -S "$dir/bus"
  # A tone that swells once a second, so that the meters show something; the outputs are silent.
  tone="av://lavfi:aevalsrc='(0.3-0.2*cos(2*PI*t))*sin(880*PI*t)':s=8000:d=180"
  if [ -e /etc/mpv/scripts/mpris.so ]; then
    start mpv --no-config --script=/etc/mpv/scripts/mpris.so --no-video --no-terminal --ao=pulse --idle --loop-playlist \
      --{ --force-media-title='Evening show' "$tone" --} --{ --force-media-title='Night show' "$tone" --}
  fi
fi
echo ready
cat > /dev/null
