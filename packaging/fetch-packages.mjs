// Writes the shell function that fetches Debian packages of any architecture for scripts that unpack them.
// apt gets lists and a status of its own for this, so that nothing is installed, and the machine's apt does
// not change.

import { mirror } from './debian13.mjs';

const DEFAULT_MIRROR = 'http://deb.debian.org/debian';

/** The variables that a script with this function needs in its environment. */
export const fetchEnvironment = () => ({ MIRROR: mirror() || DEFAULT_MIRROR });

/**
 * A function of the shell: `fetch ARCHITECTURE ...` puts packages of Debian 13 (or `$SUITE`) and all that
 * they depend on into `$making/apt/archives`, and removes what an earlier call has put there. It fails where
 * a list or a package cannot be had. `packages` has their names, or a word of the shell such as `$BASE` that
 * stands for them.
 */
export const fetchFunction = (packages) => `fetch() {
  apt=$making/apt
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc/preferences.d" "$apt/etc/apt.conf.d"
  : > "$apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $MIRROR \${SUITE:-trixie} main" > "$apt/sources.list"
  cat > "$apt/conf" <<END
APT::Architecture "$1"; APT::Architectures { "$1"; };
APT::Install-Recommends "false"; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::Retries "2";
Dir::State "$apt"; Dir::State::status "$apt/status"; Dir::Cache "$apt";
Dir::Etc "$apt/etc"; Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "-";
END
  APT_CONFIG=$apt/conf apt-get -qq update
  APT_CONFIG=$apt/conf apt-get -qq install -y --download-only ${packages}
}`;
