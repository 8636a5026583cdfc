#!/bin/sh
# Installs tonearm from a checkout below /usr/local and sets it up for a user, or removes both again. It builds tonearm as the owner of
# the checkout; what it builds has an install.sh of its own (packaging/portable), which does the rest.
#
#   sudo packaging/install.sh --user NAME [--bind WHAT] [--unit NAME] ... [--dry-run]     as tonearm-setup(8) takes them
#   sudo packaging/install.sh                                                             to upgrade what it has installed
#   sudo packaging/install.sh --uninstall [--dry-run]
set -eu

INSTALLED=/usr/local/lib/tonearm/install.sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

die() { printf 'install: %s\n' "$1" >&2; exit "${2:-1}"; }

[ "$(id -u)" = 0 ] || die 'must be run as root' 77
case " $* " in
  *' --help '* | *' -h '*) exec sh "$here/packaging/tonearm-setup" --help ;;
  *' --uninstall '*)
    if [ -x "$INSTALLED" ]; then exec "$INSTALLED" "$@"; fi
    [ -e "${INSTALLED%/*}" ] || die "nothing is installed in ${INSTALLED%/*}"
    ;;
  *) [ $# -eq 0 ] || sh "$here/packaging/tonearm-setup" --check-arguments "$@" ;;
esac
# Runs on any Node from 18 on.
node --input-type=module -e '
  const { thisNodeFits } = await import(process.argv[1]);
  process.exit(thisNodeFits() ? 0 : 1)' "$here/packaging/fetched-node.mjs" 2> /dev/null ||
  die "the command \`node\` ($(node --version 2> /dev/null || echo 'not found')) must be a Node that uWebSockets.js has a binary for: 20 or 22, or with glibc from 2.38 on also 24 or 25; \`npm run tarball\` builds one that contains its own Node"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
owner=$(stat -c %U "$here")
chown "$owner" "$tree"
echo 'install: building; this takes a minute or more on a small machine'
setpriv --reuid "$owner" --regid "$(id -g "$owner")" --init-groups env "HOME=$(getent passwd "$owner" | cut -d: -f6)" \
  sh -euc 'node=$(node "$1/ready.mjs"); "$node" "$1/tarball.mjs" --tree "$2"' build "$here/packaging" "$tree" > /dev/null
"$tree/install.sh" "$@"
