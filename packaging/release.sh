#!/bin/sh
# `packaging/release.sh FOLDER [OPTIONS]`: fills a new folder with every package that `npm run package` makes, both forms for all of
# their architectures, and SHA256SUMS of them. OPTIONS go to each build.
set -eu
: "${1:?the folder to fill}"
mkdir "$1"
release=$(realpath -- "$1")
shift
cd "$(dirname -- "$0")/.."
for form in '' --with-node; do
  sh packaging/run packaging/package.mjs --arch all --out "$release" $form "$@"
done
cd "$release"
# Each architecture has a folder.
mv ./*/*.deb .
rmdir ./*/
sha256sum -- *.deb > SHA256SUMS
