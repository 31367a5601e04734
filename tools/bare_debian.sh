#!/usr/bin/env bash
# The two commands of the README on a bare Debian 12: a fresh root in a folder, a clone of HEAD, no cache, nothing installed
# but git, make and certificates. First a plain user gets told what to install, then root runs the commands, timed.
# Needs root, debootstrap and some 6 GB. Network settings of this machine (apt, pip, npm, certificates) are copied.
#
#   tools/bare_debian.sh FOLDER [COMMAND...]     default: 'make test' 'make demo' 'make test'
#
# SEED=DIR copies DIR over the new root first, for a warm run with the compiler cache of another clone.
# FOLDER/base.tar keeps the bare system for a repeat; FOLDER/root is made anew each time and left there to look at.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || { sed -n 's/^#   //p' "$0"; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "bare_debian: mounting and chroot need root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "bare_debian: install debootstrap" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/root
shift
commands=("$@")
[ ${#commands[@]} -gt 0 ] || commands=('make test' 'make demo' 'make test')

unmount() {
  local place
  for place in proc dev; do
    if mountpoint -q "$root/$place"; then umount -R "$root/$place"; fi
  done
}
trap unmount EXIT

unmount
rm -rf "$root" "$folder/clone.git"
if [ ! -f "$folder/base.tar" ]; then
  mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' \
    $(ls /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null))
  debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$root" ${mirror:+"$mirror"} >"$folder/debootstrap.log"
  tar -C "$root" -cf "$folder/base.tar.part" .
  mv "$folder/base.tar.part" "$folder/base.tar"
else
  mkdir -p "$root"
  tar -C "$root" -xpf "$folder/base.tar"
fi

# What lets this machine reach the package registries.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d/*; do
  if [ -f "$file" ]; then install -D -m 644 "$file" "$root$file"; fi
done
if [ -f /etc/apt/sources.list.d/debian.sources ]; then
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
  rm -f "$root/etc/apt/sources.list"
fi

if [ -n "${SEED:-}" ]; then cp -a "$SEED/." "$root/"; fi

git clone --quiet --no-local . "$root/srv/bitsweep"
chroot "$root" useradd --create-home visitor
cp -r "$root/srv/bitsweep" "$root/home/visitor/bitsweep"
chroot "$root" chown -R visitor /home/visitor/bitsweep
mount --bind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"

# inside USER FOLDER COMMAND: a clean environment, as a login would give it.
inside() {
  local user=$1 home=$2 place=$3 variable settings=()
  for variable in NODE_EXTRA_CA_CERTS PIP_CERT SSL_CERT_FILE http_proxy https_proxy no_proxy; do
    if [ -n "${!variable:-}" ]; then settings+=("$variable=${!variable}"); fi
  done
  chroot --userspec="$user" "$root" /usr/bin/env -i "HOME=$home" "USER=$user" LANG=C.UTF-8 TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" \
    bash -c "cd '$place' && $4" </dev/null
}

echo "bare_debian: $(git log -1 --format=%h), $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
echo "bare_debian: a plain user, nothing installed: make test"
if inside visitor /home/visitor /home/visitor/bitsweep 'make test'; then
  echo "bare_debian: a plain user passed without the packages: the root is not bare" >&2
  exit 1
fi
for command in "${commands[@]}"; do
  echo "bare_debian: root: $command"
  started=$SECONDS
  inside root /root /srv/bitsweep "$command"
  echo "bare_debian: '$command' took $((SECONDS - started)) s, load $(cut -d' ' -f1 /proc/loadavg)"
done
echo "bare_debian: a plain user, the packages installed: make demo"
started=$SECONDS
inside visitor /home/visitor /home/visitor/bitsweep 'make demo'
echo "bare_debian: it took $((SECONDS - started)) s"
