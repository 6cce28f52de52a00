# sourced by every suite. Inputs: BOOTSTRAP, CONF_CACHE, OUT, RF. Each check prints "ok NAME" or "FAIL NAME"; the last line is
# "N passed, N failed, N skipped".
set -u
BOOTSTRAP=${BOOTSTRAP:?set BOOTSTRAP=127.0.0.1:PORT[,...]}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../peers/jars.sh"   # CONF_CACHE, KAFKA_LIBS
CONF_CACHE=$(cd "$CONF_CACHE" && pwd)
OUT=${OUT:-$CONF_CACHE/results/$(basename "$0" .sh)}
rm -rf "$OUT" && mkdir -p "$OUT"
RUN=$RANDOM
RF=${RF:-1} # replicas of the topics that a suite makes
PASSED=0 FAILED=0

# need FILE-OR-PROGRAM PACKAGE... : installs Debian packages unless the file is there
need() {
  local what=$1; shift
  if [ -e "$what" ] || command -v "$what" > /dev/null; then return; fi
  # another package manager may be at work, as on a machine that has just started
  local wait=(-o DPkg::Lock::Timeout=300)
  { apt-get "${wait[@]}" install -y -q "$@" || { apt-get "${wait[@]}" update -q && apt-get "${wait[@]}" install -y -q "$@"; }; } > "$OUT/apt.txt" 2>&1
}

# check NAME COMMAND... : one result; ONE bounds it in seconds
check() {
  local name=$1; shift
  if "$@" > "$OUT/$name.txt" 2>&1; then
    PASSED=$((PASSED + 1)); echo "ok $name"
  else
    FAILED=$((FAILED + 1)); echo "FAIL $name $(tail -1 "$OUT/$name.txt" | cut -c1-160)"
  fi
}

summary() { echo "${1-$PASSED} passed, ${2-$FAILED} failed, ${3-0} skipped"; }

# go_unpack MODULE VERSION DIR : a writable copy of a module from the Go module proxy
go_unpack() {
  local dir
  [ -d "$3" ] && return 0
  dir=$(cd "$CONF_CACHE" && GOFLAGS= go mod download -json "$1@$2" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  [ -n "$dir" ] || { echo "no $1@$2"; exit 3; }
  mkdir -p "$(dirname "$3")" && cp -r "$dir" "$3" && chmod -R u+w "$3"
}

# go_score FILE : results of go test -json; a test with subtests counts through them
go_score() { python3 "$HERE/goscore.py" "$1"; }

export GOFLAGS="-mod=mod -buildvcs=false" GOTOOLCHAIN=local
