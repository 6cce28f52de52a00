#!/usr/bin/env bash
# Scores public test suites on Apache Kafka and on ringmill side by side: run.sh [SUITE...]. Compared are the names that pass,
# never totals: a name that passes on Kafka must pass on ringmill or stand in expected.tsv with its cause, and a name in
# expected.tsv that passes now must be taken out of it. Names of the cause "unsteady" fail now and then on Apache Kafka as well,
# by a race of their own: they are not held. Kafka's results are kept in the cache; REFERENCE=fresh takes them again. It runs with
# an authorizer that lets everybody do everything, so that what needs one is seen to pass there.
# SUITE@consumer runs a suite's groups on the consumer protocol (KIP-848). BINARY is a ringmill to use instead of building one.
set -euo pipefail
export LC_ALL=C # names are sorted and compared
HERE=$(cd "$(dirname "$0")" && pwd); ROOT=$HERE/../..
. "$HERE/../peers/jars.sh"
SUITES=("$@")
[ ${#SUITES[@]} -gt 0 ] || SUITES=(kcat py-confluent node-clients java-tools franz-kgo kafka-python kafka-go confluent-go confluent-go@consumer librdkafka librdkafka@consumer connect otel agents)
RESULTS=$CONF_CACHE/compat; REFERENCE_DIR=$CONF_CACHE/reference-4.1.1; mkdir -p "$RESULTS" "$REFERENCE_DIR"
PORT=${PORT:-29392}; HTTP_PORT=$((PORT + 2)); KAFKA_PORT=$((PORT + 10))
SCRATCH=$(mktemp -d); NODE=""

end() {
  if [ -n "$NODE" ]; then kill "$NODE" 2> /dev/null || true; wait "$NODE" 2> /dev/null || true; fi
  PORT=$KAFKA_PORT KAFKA_DATA=$SCRATCH SIG=KILL "$HERE/../peers/kafka-down.sh"
  rm -rf "$SCRATCH"
}
trap end EXIT
trap 'exit 130' INT TERM # so that the other trap runs

start_ringmill() {
  [ -n "${BINARY:=}" ] || { BINARY=$SCRATCH/ringmill; (cd "$ROOT" && CGO_ENABLED=0 go build -o "$BINARY" ./tools/ringmill); }
  "$BINARY" serve --listen "127.0.0.1:$PORT" --data "$SCRATCH/data" --set "ringmill.http.listen=127.0.0.1:$HTTP_PORT" \
    --set "advertised.listeners=PLAINTEXT://127.0.0.1:$PORT" --set num.partitions=4 --set group.initial.rebalance.delay.ms=0 --set offsets.topic.num.partitions=10 > "$RESULTS/ringmill.log" 2>&1 &
  NODE=$!
  for _ in $(seq 1 100); do curl -sf "http://127.0.0.1:$HTTP_PORT/readyz" > /dev/null && return; sleep 0.1; done
  echo "ringmill is not ready:"; tail -20 "$RESULTS/ringmill.log"; exit 1
}

start_kafka() { [ -e "$SCRATCH/k$KAFKA_PORT" ] || PORT=$KAFKA_PORT KAFKA_DATA=$SCRATCH PARTS=4 AUTH=1 "$HERE/../peers/kafka-up.sh" > /dev/null; }

# suite NAME BOOTSTRAP FILE : the file stands only once the suite has come to its last line
suite() {
  local protocol=classic
  case $1 in *@*) protocol=${1#*@} ;; esac
  env BOOTSTRAP="$2" CONF_CACHE="$CONF_CACHE" OUT="$RESULTS/$1.out" PROTO="$protocol" bash "$HERE/${1%@*}.sh" > "$3.part" 2> "$3.err" || true
  tail -1 "$3.part" | grep -qE '^[0-9]+ passed, [0-9]+ failed' || { echo "$1 did not end: $(tail -1 "$3.err" | cut -c1-160)"; exit 1; }
  mv "$3.part" "$3"
}

names() { awk -v what="$1" '$1 == what {print $2}' "$2" | sort -u; }
expected() { awk -F'\t' -v suite="$1" '$1 == suite {print $2}' "$HERE/expected.tsv" | sort -u; }
steady() { awk -F'\t' -v suite="$1" '$1 == suite && $3 != "unsteady" {print $2}' "$HERE/expected.tsv" | sort -u; }

bad=0
printf '%-22s %-34s %s\n' suite "Apache Kafka 4.1.1" ringmill
start_ringmill
for s in "${SUITES[@]}"; do
  reference=$REFERENCE_DIR/$s.txt
  if [ ! -s "$reference" ] || [ "${REFERENCE:-}" = fresh ]; then start_kafka; suite "$s" "127.0.0.1:$KAFKA_PORT" "$reference"; fi
  mine=$RESULTS/$s.txt; suite "$s" "127.0.0.1:$PORT" "$mine"
  printf '%-22s %-34s %s\n' "$s" "$(tail -1 "$reference")" "$(tail -1 "$mine")"
  missing=$(comm -23 <(names ok "$reference") <(names ok "$mine"))
  unexplained=$(comm -23 <(echo "$missing") <(expected "$s"))
  outdated=$(comm -12 <(steady "$s") <(names ok "$mine"))
  for n in $unexplained; do echo "  $n passes on Apache Kafka only: $(grep -m1 -F "FAIL $n" "$mine" | cut -d' ' -f3- | cut -c1-120)"; bad=1; done
  for n in $outdated; do echo "  $n passes now: take it out of expected.tsv"; bad=1; done
done
exit $bad
