#!/bin/sh
# `npm run soak [-- MINUTES [NAME...]]`: what may leave nothing behind (test/leaks) at full size, then the seeded tests
# (test/seeded-random.ts) again and again, each time on another seed, until one fails or the next would not end within the minutes (10);
# with all faults (test/node/faults/table.ts) while there is time for those. The first round is done in any case.
set -eu
cd "$(dirname -- "$0")/.."
minutes=${1:-10}
case $minutes in *[!0-9]* | 0) echo 'usage: npm run soak [-- MINUTES [NAME...]]' >&2; exit 64 ;; esac
[ $# -eq 0 ] || shift
# All faults take this long on a quiet machine.
faults_s=1440
now() { date +%s; }
end=$(($(now) + minutes * 60))
# Test files that match no NAME are left out; without one all are meant.
meant() {
  if [ $# -eq 0 ]; then cat; else grep -F "$(printf '%s\n' "$@")" || true; fi
}
tests() { sh packaging/run packaging/test.mjs "$@"; }

if [ -n "$(echo leaks/leaks | meant "$@")" ]; then TONEARM_LEAKS=full tests leaks/; fi
seeded=$(grep -lrE --include='*.test.ts' '^import \{[^}]*\bSEED\b.*/seeded-random' test | sed 's/\.test\.ts$//' | meant "$@" | sort)
seeds=
longest=0
while [ -n "$seeded" ] && { [ -z "$seeds" ] || [ $(($(now) + longest)) -lt "$end" ]; }; do
  begun=$(now)
  faults=${TONEARM_FAULTS-$([ $((end - begun)) -le $faults_s ] || echo all)}
  seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
  again="TONEARM_FUZZ_SEED=$seed TONEARM_FAULTS='$faults' npm test --"
  echo "# $again" $seeded
  TONEARM_FUZZ_SEED=$seed TONEARM_FAULTS=$faults tests $seeded || { echo "# failed. Again: $again" $seeded; exit 1; }
  seeds="$seeds $seed"
  took=$(($(now) - begun))
  [ $took -le $longest ] || longest=$took
done
echo "# green on the seeds:$seeds"
