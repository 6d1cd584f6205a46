#!/bin/sh
# Installs the Debian packages named, where that is allowed; else says what is missing.
missing=""
for package in "$@"; do
	dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null; then
	echo "specmeter: the tests use programs of the Debian packages:$missing. Install them your way." >&2
	exit 0
fi
run=""
[ "$(id -u)" = 0 ] || run="sudo -n"
echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
if ! { $run apt-get update -qq && $run apt-get install -qq --no-install-recommends $missing >/dev/null; }; then
	echo "specmeter: could not install; as root: apt-get install$missing" >&2
fi
exit 0
