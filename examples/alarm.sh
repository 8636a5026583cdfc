#!/bin/sh
# An alarm clock: makes an output silent, starts a player, and raises the output's volume step by step.
#
#   alarm.sh NODE OUTPUT PLAYER [VOLUME [SECONDS]]
#
# In a crontab, at 6:40 on working days, to 40 % within ten minutes:
#
#   40 6 * * 1-5  alarm.sh http://node.local:8018 living mpv 0.4 600
#
# Names are written as in a URL: Living%20room. The player must have something to play.
set -eu
# Some versions of awk print 0,02 where the locale has a decimal comma, and the node refuses that.
export LC_ALL=C

if [ $# -lt 3 ] || [ $# -gt 5 ]; then
  echo 'Usage: alarm.sh NODE OUTPUT PLAYER [VOLUME [SECONDS]]' >&2
  exit 64
fi
node=$1 output=$2 player=$3 volume=${4:-0.4} seconds=${5:-300}
steps=20

# PATH [BODY]; ends the script where the node refuses, with the node's reason.
post() {
  curl --silent --show-error --fail-with-body --max-time 15 --request POST \
    --header 'Content-Type: application/json' --data "${2:-}" "$node$1"
}

post "/audio/outputs/$output/volume" '{"volume":0}'
post "/audio/outputs/$output/mute" '{"muted":false}'
post "/players/$player/play"
step=1
while [ "$step" -le "$steps" ]; do
  sleep "$(awk "BEGIN { print $seconds / $steps }")"
  post "/audio/outputs/$output/volume" "{\"volume\":$(awk "BEGIN { print $volume * $step / $steps }")}"
  step=$((step + 1))
done
