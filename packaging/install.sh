#!/bin/sh
# Installs the command, its manual pages and its completions from a release's folder, after checking the SHA-256 sum.
#
#   sh install.sh [--prefix FOLDER] [--from FOLDER_OR_URL]
#
# --prefix: where bin/ and share/ are (default: /usr/local for root, otherwise ~/.local)
# --from: where the release is, a folder or an https address (default: the folder of this script)
set -eu

version="@VERSION@"

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

from=$(dirname "$0")
if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix="$HOME/.local"; fi
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail "$1: an option needs a value; options: --prefix FOLDER, --from FOLDER_OR_URL"
  case "$1" in
    --prefix) prefix=$2 ;;
    --from) from=$2 ;;
    *) fail "$1: no such option; options: --prefix FOLDER, --from FOLDER_OR_URL" ;;
  esac
  shift 2
done

system="$(uname -s) $(uname -m)"
case "$system" in
  "Linux x86_64") name="pathweave_${version}_x86_64-linux-musl" ;;
  *) fail "there is no program for $system in this release; the crates and the Python sdist build on other machines" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

get() {
  case "$from" in
    https://* | http://127.0.0.1:*)
      if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$work/$1" "$from/$1"
      elif command -v wget >/dev/null; then
        wget --quiet --output-document="$work/$1" "$from/$1"
      else
        fail "curl or wget is needed to download $from/$1"
      fi
      ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac
}

get SHA256SUMS
get "$name.tar.gz"
(cd "$work" && grep "  $name.tar.gz\$" SHA256SUMS >sum && sha256sum --check --quiet sum) ||
  fail "the SHA-256 sum of $name.tar.gz is not the one in SHA256SUMS; nothing is installed"

tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$prefix"
cp -R "$work/$name/bin" "$work/$name/share" "$prefix/"
echo "installed $prefix/bin/pathweave ($("$prefix/bin/pathweave" --version))"
