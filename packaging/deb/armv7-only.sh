# "armhf" is ARMv7 to Debian; Raspberry Pi OS also runs what has that name on ARMv6 (Pi Zero, Pi 1), where it dies with SIGILL.
case $(uname -m) in
  armv[3-6]*)
    echo "tonearm: this processor ($(uname -m)) is older than ARMv7, for which this package is built" >&2
    exit 126
    ;;
esac
