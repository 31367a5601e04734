#!/bin/sh
# Fetches the ONNX Runtime C++ headers (MIT) from Debian's libonnxruntime-dev into DEST. Needs no root: it neither installs
# a package nor touches the machine's package lists. Usage: get-ort-headers.sh DEST
set -eu
dest=${1:?usage: get-ort-headers.sh DEST}
if [ -f "$dest/onnxruntime_cxx_api.h" ]; then
  exit 0
fi
fail() {
  echo "get-ort-headers: $*" >&2
  exit 1
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
  fail "this needs apt-get and dpkg-deb (Debian); elsewhere set ONNXRUNTIME_ROOT to an ONNX Runtime release folder"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The machine's own Debian entry with the suite replaced: the headers live in the next stable release.
if [ -f /etc/apt/sources.list.d/debian.sources ]; then
  source_file=$tmp/s.sources
  awk 'NF == 0 { if (seen) exit; next } /^Suites:/ { seen = 1; print "Suites: trixie"; next } { print }' \
    /etc/apt/sources.list.d/debian.sources >"$source_file"
else
  source_file=$tmp/s.list
  awk '/^deb .*[ ](bookworm|stable)[ ]/ { sub(/ (bookworm|stable) /, " trixie "); print; exit }' \
    /etc/apt/sources.list >"$source_file" 2>/dev/null || true
fi
[ -s "$source_file" ] || fail "no entry for bookworm in the apt sources of this machine; set ONNXRUNTIME_ROOT to an ONNX Runtime release folder"

mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
apt() {
  apt-get -qq -o "Dir::Etc::sourcelist=$source_file" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$tmp/lists" \
    -o "Dir::Cache=$tmp/cache" -o "APT::Sandbox::User=$(id -un)" -o Acquire::Retries=3 "$@"
}
apt update || fail "the package list of Debian trixie could not be read; check the network"
(cd "$tmp" && apt download libonnxruntime-dev) || fail "libonnxruntime-dev could not be downloaded; check the network"
dpkg-deb -x "$tmp"/libonnxruntime-dev_*.deb "$tmp/x"
# Whole or not at all: a later run takes the folder's first header as a sign that all are there.
mkdir -p "$(dirname "$dest")"
rm -rf "$dest.part"
cp -r "$tmp/x/usr/include/onnxruntime" "$dest.part"
cp "$tmp/x/usr/share/doc/libonnxruntime-dev/copyright" "$dest.part/"
rm -rf "$dest"
mv "$dest.part" "$dest"
