#!/bin/sh
# Fetches the ONNX Runtime C++ headers (MIT) from Debian's libonnxruntime-dev into DEST without installing a package
# or touching the machine's package lists. Usage: get-ort-headers.sh DEST
set -eu
dest=${1:?usage: get-ort-headers.sh DEST}
[ -f "$dest/onnxruntime_cxx_api.h" ] || [ -f "$dest/core/session/onnxruntime_cxx_api.h" ] && exit 0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The machine's own Debian entry with the suite replaced: the headers live in the next stable release.
if [ -f /etc/apt/sources.list.d/debian.sources ]; then
  awk 'NF==0{exit} /^Suites:/{print "Suites: trixie"; next} {print}' /etc/apt/sources.list.d/debian.sources > "$tmp/s.sources"
else
  awk '/^deb .*(bookworm|stable)/{sub(/bookworm[^ ]*|stable[^ ]*/, "trixie"); print; exit}' /etc/apt/sources.list > "$tmp/s.list"
fi
source_file=$(ls "$tmp"/s.*)
options="-o Dir::Etc::sourcelist=$source_file -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$tmp/lists -o Dir::Cache=$tmp/cache -o APT::Sandbox::User=$(id -un)"
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
# shellcheck disable=SC2086
apt-get -qq $options update
# shellcheck disable=SC2086
(cd "$tmp" && apt-get -qq $options download libonnxruntime-dev)
dpkg-deb -x "$tmp"/libonnxruntime-dev_*.deb "$tmp/x"
mkdir -p "$dest"
cp -r "$tmp/x/usr/include/onnxruntime/." "$dest/"
cp "$tmp/x/usr/share/doc/libonnxruntime-dev/copyright" "$dest/"
