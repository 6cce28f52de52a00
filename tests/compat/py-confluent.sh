#!/usr/bin/env bash
# confluent-kafka's wheel (librdkafka inside): codecs, acks, both group protocols, transactions, fencing, exactly-once, admin.
. "$(dirname "$0")/lib.sh"
VENV=$CONF_CACHE/venv-ck
[ -x "$VENV/bin/python" ] || { python3 -m venv "$VENV" && "$VENV/bin/pip" -q install "confluent-kafka==${VERSION:-2.16.1}"; }
timeout "${TMO:-400}" "$VENV/bin/python" "$HERE/clients/confluent.py" "$BOOTSTRAP" 2> "$OUT/stderr" | sed -uE 's/^(ok|FAIL) (\S+) [0-9.]+ s/\1 \2/'
