#!/usr/bin/env bash
# kcat 1.7.1 on Debian's librdkafka 2.0.2: metadata, every codec, keys, headers, groups, offsets by time.
. "$(dirname "$0")/lib.sh"
need kcat kcat
B=$BOOTSTRAP; IN=$OUT/in; seq 1 2000 > "$IN"
k() { timeout 60 kcat -b "$B" "$@"; }
read_all() { k -C -t "$1" -p 0 -o beginning -e -q "${@:2}"; }

metadata() { k -L -J | grep -q brokers; }
codec() { k -P -t "kc-$1-$RUN" -p 0 -z "$1" -l "$IN" && read_all "kc-$1-$RUN" | cmp - "$IN"; }
keys_headers() { printf 'k1:v1\n' | k -P -t "kh-$RUN" -p 0 -K: -H a=1 && read_all "kh-$RUN" -f '%k %s %h' | grep -qx 'k1 v1 a=1'; }
null_value() { printf 'k2:\n' | k -P -t "kh-$RUN" -p 0 -K: -Z && k -C -t "kh-$RUN" -p 0 -o -1 -e -q -f '%k %S' | grep -qx 'k2 -1'; }
group() { k -G "kg-$RUN" -o beginning -X auto.offset.reset=earliest -c 2000 -q "kc-none-$RUN" | sort -n | cmp - "$IN"; }
by_time() { [ -n "$(k -Q -t "kc-none-$RUN:0:0")" ]; }
idempotent() { k -P -t "ki-$RUN" -p 0 -X enable.idempotence=true -l "$IN" && read_all "ki-$RUN" | cmp - "$IN"; }
last_five() { k -C -t "kc-none-$RUN" -p 0 -o -5 -e -q | tail -1 | grep -qx 2000; }

check metadata metadata
for c in none gzip snappy lz4 zstd; do check "codec-$c" codec "$c"; done
check keys-headers keys_headers
check null-value null_value
check group group
check by-time by_time
check idempotent idempotent
check tail last_five
summary
