#!/bin/sh
# Installs the folder that it lies in, makes tonearm the service of a user, and takes both back. Run by root it installs for the machine,
# below /usr/local; run by any other user it installs below that user's ~/.local, and needs no right. A newer one upgrades.
set -eu
umask 022
# This script reads what other programs print.
export LC_ALL=C

# What `uname -m` prints where the Node in this folder runs; empty where there is none.
MACHINE=@MACHINE@
# The oldest C library that loads the native code.
GLIBC=@GLIBC@
# tonearm-setup writes small files after this; they must have room, too.
ROOM_BYTES=1048576

USAGE='Usage: install.sh [OPTIONS]            as tonearm-setup takes them, below
       install.sh --uninstall [--dry-run]

Run by root, installs tonearm below /usr/local and makes it the service of the user of --user. Run by another user, installs it below
~/.local and makes it the service of that user; what root alone may do is printed with its commands.

Where tonearm was installed by it before, it is upgraded: its settings stay, and what runs is restarted. Then root needs no option.
--uninstall removes tonearm and what was set up; configuration that was changed stays.
'

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
cd /

say() { printf 'install: %s\n' "$*"; }
die() { status=$1; shift; printf 'install: %s\n' "$*" >&2; exit "$status"; }

@USER_MANAGERS@

# --- where ----------------------------------------------------------------------------------------------------------------

find_places() {
  if [ "$(id -u)" = 0 ]; then
    own=no BASE=/usr/local units=/usr/local/lib/systemd/user setups=/usr/local/sbin records=/var/lib/tonearm/setup
  else
    home=$(getent passwd "$(id -u)" | cut -d: -f6)
    own=yes BASE=$home/.local units=$home/.config/systemd/user setups=$home/.local/bin records=$home/.local/state/tonearm-setup
    XDG_RUNTIME_DIR=/run/user/$(id -u)
    export XDG_RUNTIME_DIR
  fi
  PREFIX=$BASE/lib/tonearm
  # Its lines: each file that lies outside of $PREFIX, and each folder that was made, with a slash at its end.
  LIST=$PREFIX/installed-files
  new=$BASE/lib/.tonearm.new
  old=$BASE/lib/.tonearm.old
  # It goes into a unit and into scripts.
  case $PREFIX in
    *[!A-Za-z0-9/._@+-]*) die 1 "$BASE has a character that units and scripts do not take: nothing was changed" ;;
  esac
}

# Prints each file of this folder that is needed elsewhere, too, and where.
outside() {
  (cd "$here" && find bin sbin share/man share/bash-completion share/zsh share/fish lib/systemd/user ! -type d 2> /dev/null) |
    while read -r file; do
      case $file in
        lib/systemd/user/*) echo "$file $units/${file##*/}" ;;
        sbin/*) echo "$file $setups/${file##*/}" ;;
        *) echo "$file $BASE/$file" ;;
      esac
    done
}

# Prints the lines of a list. One that a checkout has written earlier has paths below $BASE.
listed() { sed "s|^\([^/]\)|$BASE/\1|" "$1" 2> /dev/null || true; }

# True where this is an upgrade and nothing else: the set-up stays as it is.
only_upgrades() {
  case $* in '' | --dry-run) [ -f "$LIST" ] && [ -n "$(ls "$records" 2> /dev/null)" ] ;; *) false ;; esac
}

# --- what refuses, before anything is changed -----------------------------------------------------------------------------

must_run_here() {
  [ -z "$MACHINE" ] || [ "$(uname -m)" = "$MACHINE" ] ||
    die 126 "this tonearm is for $MACHINE, and this machine is $(uname -m): nothing was changed"
  libc=$(getconf GNU_LIBC_VERSION 2> /dev/null) || libc='another C library'
  [ "$(printf 'glibc %s\n' "$GLIBC" "${libc#glibc }" | sort -V | head -n 1)" = "glibc $GLIBC" ] && [ "${libc#glibc }" != "$libc" ] ||
    die 126 "tonearm needs glibc from $GLIBC on, and this machine has $libc: nothing was changed"
  [ -z "$MACHINE" ] || said=$("$here/lib/tonearm/node" --version 2>&1) ||
    die 126 "the Node in this folder does not run here: nothing was changed. It says: $(printf '%s\n' "$said" | head -n 1)"
}

# Of two installations the unit of one would hide that of the other.
must_be_alone() {
  [ ! -e /usr/lib/tonearm/main.js ] ||
    die 73 'the package of tonearm is installed: nothing was changed. Remove the package first; or to use it, remove what is below /usr/local, and run /usr/sbin/tonearm-setup'
  [ "$own" = no ] || [ ! -e /usr/local/lib/tonearm ] ||
    die 73 "tonearm is installed below /usr/local: nothing was changed. Root sets it up for you: tonearm-setup --user $(id -un)"
  for place in $(outside | cut -d' ' -f2); do
    if [ -e "$place" ] || [ -L "$place" ]; then
      listed "$LIST" | grep -qxF "$place" || die 73 "$place was not installed by this: nothing was changed. Move it away first"
    fi
  done
}

# --- install --------------------------------------------------------------------------------------------------------------

# Prints each of these folders and of those that they lie in, where they are missing.
missing_folders() {
  for folder do
    until [ -d "$folder" ]; do echo "$folder/"; folder=${folder%/*}; done
  done | sort -u
}

# Makes $new, which is what $PREFIX will be.
fill() {
  mkdir -p "${new%/*}" && rm -rf "$new" && cp -R "$here" "$new" && chmod -R u=rwX,go=rX "$new" &&
    (cd "$new" && grep -rlF '@PREFIX@' bin sbin share lib/systemd | xargs sed -i "s|@PREFIX@|$PREFIX|g") &&
    { outside | cut -d' ' -f2; printf '%s\n' "$folders"; listed "$LIST" | grep '/$'; } | grep . > "$new/installed-files" &&
    head -c "$ROOM_BYTES" /dev/zero > "$new/room" && rm "$new/room" && sync -f "$new"
}

# Removes what was made for nothing.
clean_up() {
  rm -rf "$new"
  [ -f "$LIST" ] || remove_folders "$folders"
}

remove_folders() {
  printf '%s\n' "$1" | grep . | sort -r | while read -r folder; do rmdir "$folder" 2> /dev/null || true; done
}

place_files() {
  outside | while read -r file place; do
    mkdir -p "${place%/*}"
    # systemd takes a link to a unit for one that its user has made.
    case $file in
      lib/systemd/*) cp "$PREFIX/$file" "$place" ;;
      *) ln -sfn "$PREFIX/$file" "$place" ;;
    esac
  done
  # What the older one had and this one has not.
  listed "$old/installed-files" | grep -v '/$' | grep -vxF -f "$LIST" | while read -r file; do
    rm -f "$file"
    folder=${file%/*}
    while [ "${folder%tonearm*}" != "$folder" ] && rmdir "$folder" 2> /dev/null; do folder=${folder%/*}; done
  done
}

# managers ARGUMENT...: systemctl --user for whoever has a service of it.
managers() {
  if [ "$own" = no ]; then user_managers "$@"; else systemctl --user --quiet "$@" || true; fi
}

copy() {
  # shellcheck disable=SC2046
  folders=$(missing_folders "${PREFIX%/*}" $(outside | sed 's|^[^ ]* ||; s|/[^/]*$||'))
  trap clean_up EXIT
  trap 'exit 1' HUP INT TERM
  said=$(fill 2>&1) || die 1 "$PREFIX could not be written: nothing was changed. $(printf '%s\n' "$said" | head -n 1)"
  rm -rf "$old"
  [ ! -e "$PREFIX" ] || mv "$PREFIX" "$old"
  mv "$new" "$PREFIX"
  place_files
  rm -rf "$old"
  say "copied $(find "$PREFIX" -type f | wc -l) files to $PREFIX"
  managers daemon-reload
  managers try-restart tonearm.service
}

install() {
  set_up=yes
  if only_upgrades "$@"; then set_up=no; else sh "$here/sbin/tonearm-setup" --check-arguments "$@"; fi
  [ "$here" != "$PREFIX" ] || die 64 "this is what is installed; to change the set-up: $setups/tonearm-setup"
  must_run_here
  must_be_alone
  case " $* " in
    *' --dry-run '*)
      say "would copy $(find "$here" -type f | wc -l) files to $PREFIX"
      if [ "$set_up" = no ]; then say 'would restart tonearm.service where it runs'
      elif [ ! -f "$LIST" ]; then say 'would then run tonearm-setup'
      else "$setups/tonearm-setup" "$@"; fi
      ;;
    *)
      copy
      case ":$PATH:" in *":$BASE/bin:"*) ;; *) say "the command is $BASE/bin/tonearm: that folder is not in PATH here" ;; esac
      if [ "$set_up" = yes ]; then
        "$PREFIX/sbin/tonearm-setup" "$@" || die $? "its files are in $PREFIX, but the set-up failed: run tonearm-setup again, or $PREFIX/install.sh --uninstall"
      else
        say 'the set-up stays as it was, and services that ran were restarted'
      fi
      ;;
  esac
}

# --- uninstall ------------------------------------------------------------------------------------------------------------

uninstall() {
  [ "$*" = --uninstall ] || [ "$*" = '--uninstall --dry-run' ] || die 64 '--uninstall takes no other option than --dry-run behind it'
  [ -f "$LIST" ] || die 1 "nothing is installed below $BASE"
  all=$(listed "$LIST")
  [ "$own" = yes ] || set -- "$@" --all
  case " $* " in
    *' --dry-run '*)
      "$setups/tonearm-setup" "$@"
      say "would remove $PREFIX, and outside of it: $(printf '%s\n' "$all" | grep -v '/$' | xargs)"
      return 0
      ;;
  esac
  # Comes first: the next line ends the managers of users who lingered for tonearm alone.
  managers stop tonearm.service tonearm-mpris-proxy.service
  "$setups/tonearm-setup" "$@"
  printf '%s\n' "$all" | grep -v '/$' | while read -r file; do rm -f "$file"; done
  rm -rf "$PREFIX"
  remove_folders "$(printf '%s\n' "$all" | grep '/$')"
  managers daemon-reload
  say "removed $PREFIX"
}

# --------------------------------------------------------------------------------------------------------------------------

find_places
case " $* " in
  *' --help '* | *' -h '*) printf '%s\n' "$USAGE"; exec sh "$here/sbin/tonearm-setup" --help ;;
  *' --uninstall '*) uninstall "$@" ;;
  *) install "$@" ;;
esac
# The file may be gone by now.
exit
