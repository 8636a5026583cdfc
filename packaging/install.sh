#!/bin/sh
# Installs tonearm from a checkout below /usr/local and sets it up for a user, or removes both again. It builds tonearm as the owner of
# the checkout. The Debian package (`npm run package`) does the same, and apt upgrades and removes it.
#
#   sudo packaging/install.sh --user NAME [--bind WHAT] [--unit NAME] ... [--dry-run]     as tonearm-setup(8) takes them
#   sudo packaging/install.sh --uninstall
set -eu

PREFIX=/usr/local
LIST=$PREFIX/lib/tonearm/installed-files
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

die() { printf 'install: %s\n' "$1" >&2; exit 1; }

if [ "${1:-}" = --uninstall ]; then
  [ "$(id -u)" = 0 ] || die 'must be run as root'
  [ $# -eq 1 ] || die '--uninstall takes no other argument'
  [ -f "$LIST" ] || die "nothing is installed below $PREFIX"
  "$PREFIX/sbin/tonearm-setup" --uninstall --all
  # Removes the files first, then the folders that were made for them, deepest first.
  while read -r file; do rm -f "$PREFIX/$file"; done < "$LIST"
  sed -n 's|/[^/]*$||p' "$LIST" | sort -ur | grep tonearm | while read -r folder; do
    while [ "${folder%tonearm*}" != "$folder" ] && rmdir "$PREFIX/$folder" 2> /dev/null; do folder=${folder%/*}; done
  done
  rm -rf "$PREFIX/lib/tonearm" /etc/sudoers.d/tonearm-upgrade
  echo "install: removed from $PREFIX"
  exit 0
fi

case " $* " in *' --uninstall '*) die '--uninstall takes no other argument' ;; esac
sh "$here/packaging/tonearm-setup" --check-arguments "$@"
case " $* " in *' --help '* | *' -h '*) exit 0 ;; esac
# Runs on any Node from 18 on.
node --input-type=module -e '
  const { thisNodeFits } = await import(process.argv[1]);
  process.exit(thisNodeFits() ? 0 : 1)' "$here/packaging/fetched-node.mjs" 2> /dev/null ||
  die "the command \`node\` ($(node --version 2> /dev/null || echo 'not found')) must be a Node that uWebSockets.js has a binary for: 20 or 22, or with glibc from 2.38 on also 24 or 25; \`npm run package -- --with-node\` builds a package that contains its own Node"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
owner=$(stat -c %U "$here")
chown "$owner" "$tree"
echo 'install: building; this takes a minute or more on a small machine'
setpriv --reuid "$owner" --regid "$(id -g "$owner")" --init-groups env "HOME=$(getent passwd "$owner" | cut -d: -f6)" \
  sh -euc 'node=$(node "$1/ready.mjs"); "$node" "$1/package.mjs" --tree "$2" --prefix "$3"' build "$here/packaging" "$tree" "$PREFIX" > /dev/null
case " $* " in
  *' --dry-run '*)
    echo "install: would copy $(find "$tree" ! -type d | wc -l) files to $PREFIX"
    [ -x "$PREFIX/sbin/tonearm-setup" ] || { echo 'install: would then run tonearm-setup'; exit 0; }
    ;;
  *)
    mkdir -p "$PREFIX"
    (cd "$tree$PREFIX" && tar --owner=0 --group=0 --no-overwrite-dir -c .) | (cd "$PREFIX" && tar --no-overwrite-dir -x)
    (cd "$tree$PREFIX" && find . ! -type d | sed 's|^\./||' | sort) > "$LIST"
    echo "install: copied $(wc -l < "$LIST") files to $PREFIX"
    ;;
esac
"$PREFIX/sbin/tonearm-setup" "$@"
