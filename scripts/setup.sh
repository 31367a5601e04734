#!/usr/bin/env bash
# Installs what building and testing need: Debian packages, node and npm, the ONNX Runtime headers and .venv.
# Idempotent: a second run only looks. Works as root, through sudo, or says what an administrator has to install.
#
#   PYTHON=python3.12 scripts/setup.sh      another interpreter for .venv (3.11 or later)
#   BITSWEEP_SKIP_APT=1 scripts/setup.sh    no look at Debian packages (another distribution, own toolchain)
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# Lines of the list without comments and blank lines.
wanted_packages() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' scripts/apt-packages.txt; }

missing_packages() {
  local package
  for package in $(wanted_packages); do
    if ! dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii'; then
      echo "$package"
    fi
  done
  # Any node with npm will do: Debian's, or one that was installed in another way.
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    printf 'nodejs\nnpm\n'
  fi
}

# Runs a command as root, by sudo where this user is not root.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

can_be_root() {
  [ "$(id -u)" -eq 0 ] && return 0
  command -v sudo >/dev/null || return 1
  # Without a terminal sudo could not ask for a password.
  sudo -n true 2>/dev/null || [ -t 0 ]
}

install_packages() {
  if [ -n "${BITSWEEP_SKIP_APT:-}" ]; then
    return 0
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this is not Debian; install what scripts/apt-packages.txt names, and node with npm, then run again with BITSWEEP_SKIP_APT=1"
  fi
  local missing
  missing=$(missing_packages | tr '\n' ' ')
  missing=${missing% }
  [ -z "$missing" ] && return 0

  local command="apt-get update && apt-get install -y --no-install-recommends $missing"
  if ! can_be_root; then
    fail "Debian packages are missing and this user may not install them; have root run the next line, then repeat this as yourself
$command"
  fi
  say "installing Debian packages: $missing"
  local options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  # One broken extra repository must not stop us: the install below decides.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" -qq update ||
    say "'apt-get update' reported errors; going on with the lists there are"
  # shellcheck disable=SC2086  # a list of words
  as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" -qq install -y --no-install-recommends $missing >/dev/null ||
    fail "apt-get could not install: $missing; the lines above say why; Debian 12 has all of them, so check the network and the 'bookworm' entry of the package sources"
}

install_headers() {
  local include=third_party/onnxruntime/include
  if [ -n "${ONNXRUNTIME_ROOT:-}" ] || [ -f "$include/onnxruntime_cxx_api.h" ]; then
    return 0
  fi
  say "fetching the ONNX Runtime headers"
  sh scripts/get-ort-headers.sh "$include" ||
    fail "the ONNX Runtime headers could not be fetched; unpack an ONNX Runtime release (1.21 or later) and set ONNXRUNTIME_ROOT to its folder"
}

install_venv() {
  local python=${PYTHON:-python3}
  command -v "$python" >/dev/null || fail "no '$python' on the PATH; set PYTHON to an interpreter of version 3.11 or later"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "'$python' is $("$python" -V 2>&1); the pinned packages need Python 3.11 or later: set PYTHON to one"

  # The stamp names the interpreter too: a venv outlives a change of the machine's Python only as a ruin.
  local key stamp=.venv/.requirements.sha256
  key=$( (cat requirements-dev.txt && "$python" -c 'import sys; print(sys.version, sys.base_prefix)') | sha256sum | cut -d' ' -f1)
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && .venv/bin/python -c '' 2>/dev/null; then
    return 0
  fi
  say "installing Python packages into .venv"
  if ! .venv/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null; then
    "$python" -m venv --clear .venv ||
      fail "'$python' could not make .venv; install its venv module (Debian: python3-venv), or set PYTHON to another interpreter"
  fi
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 5 -r requirements-dev.txt ||
    fail "pip could not install requirements-dev.txt; the lines above name the package; check the network or the package index that pip uses"
  echo "$key" >"$stamp"
}

install_packages
install_headers
install_venv
