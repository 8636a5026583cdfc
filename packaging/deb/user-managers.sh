# Part of the maintainer scripts: does something to tonearm.service of every user whose manager runs now.
user_managers() {
  for runtime in /run/user/*; do
    [ -S "$runtime/systemd/private" ] || continue
    uid=${runtime##*/}
    # The service of a user who has a tonearm at home is not that of the package.
    [ ! -e "$(getent passwd "$uid" | cut -d: -f6)/.local/lib/tonearm/installed-files" ] || continue
    # A manager that does not answer must not stop the package manager.
    ended=0
    said=$(timeout 60 setpriv --reuid "$uid" --regid "$(id -g "$uid")" --init-groups --reset-env \
      env "XDG_RUNTIME_DIR=$runtime" systemctl --user "$@" 2>&1) || ended=$?
    # A manager that is ending is none any more.
    if [ "$ended" = 0 ] || ! systemctl is-active --quiet "user@$uid.service"; then continue; fi
    # With this status timeout has ended systemctl, and neither of them prints a reason.
    [ "$ended" != 124 ] || said="it has not ended within 60 s, and may still succeed within 5 minutes; if it does not, do it again then: systemctl --user -M $(id -nu "$uid")@ $*"
    echo "tonearm: systemctl --user $* failed for user $uid: $said" >&2
  done
}
