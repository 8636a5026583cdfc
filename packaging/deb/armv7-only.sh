# In Debian "armhf" means ARMv7. Raspberry Pi OS also installs such packages on ARMv6 (Pi Zero, Pi 1), where they die with SIGILL.
case $(uname -m) in
  armv[3-6]*)
    echo "tonearm: this processor ($(uname -m)) is older than ARMv7, for which this package is built" >&2
    exit 126
    ;;
esac
