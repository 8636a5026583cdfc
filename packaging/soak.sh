#!/bin/sh
# `npm run soak [-- MINUTES [NAME...]]`: runs the tests for leaks (test/leaks) at full size, then the seeded tests
# (test/seeded-random.ts) again and again, each time with another seed, until one fails or the next would not end within the minutes
# (10). All faults (test/node/faults/table.ts) are included while there is time for them. The first round is always run.
set -eu
cd "$(dirname -- "$0")/.."
minutes=${1:-10}
case $minutes in *[!0-9]* | 0) echo 'usage: npm run soak [-- MINUTES [NAME...]]' >&2; exit 64 ;; esac
[ $# -eq 0 ] || shift
# All faults take twelve minutes on a quiet machine, and this long at most: then the file is ended (FILE_DEADLINE_MS in test.mjs).
faults_s=1440
now() { date +%s; }
end=$(($(now) + minutes * 60))
# Keeps the test files that match a NAME; without NAME, all.
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
  TONEARM_FUZZ_SEED=$seed TONEARM_FAULTS=$faults tests $seeded || { echo "# failed. To repeat it: $again" $seeded; exit 1; }
  seeds="$seeds $seed"
  took=$(($(now) - begun))
  [ $took -le $longest ] || longest=$took
done
echo "# passed with the seeds:$seeds"
