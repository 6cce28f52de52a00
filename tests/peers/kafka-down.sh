#!/usr/bin/env bash
# Stops what kafka-up.sh started, by pid. PORT and NAME as there. WIPE=1 also deletes the data, NODE=n stops one node
# only, SIG=KILL crashes instead of stopping.
set -u
. "$(dirname "$0")/jars.sh"
PORT=${PORT:-19092}; NAME=${NAME:-k$PORT}; D=$KAFKA_DATA/$NAME
for f in "$D"/node${NODE:-*}.pid; do
  [ -f "$f" ] || continue
  p=$(cat "$f")
  if kill -0 "$p" 2>/dev/null; then
    kill -"${SIG:-TERM}" "$p"
    for _ in $(seq 1 60); do kill -0 "$p" 2>/dev/null || break; sleep 0.5; done
    kill -0 "$p" 2>/dev/null && kill -KILL "$p"
  fi
  rm -f "$f"
done
if [ "${WIPE:-0}" = 1 ] && [ -d "$D" ]; then rm -rf "$D"; fi
exit 0
