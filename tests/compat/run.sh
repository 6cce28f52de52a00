#!/usr/bin/env bash
# Scores public test suites on Apache Kafka and on ringmill side by side: run.sh [SUITE...]. Compared are the names that pass,
# never totals: a name that passes on Kafka must pass on ringmill or stand in expected.tsv with its cause, and a name in
# expected.tsv that passes now must be taken out of it. Names of the cause "unsteady" fail now and then on Apache Kafka as well,
# by a race of their own: they are not held. Kafka's results are kept in the cache; REFERENCE=fresh takes them again. Both run
# with an authorizer that lets everybody do everything, so that what needs one can pass.
# SUITE@consumer runs a suite's groups on the consumer protocol (KIP-848). BINARY is a ringmill to use instead of building one.
# NODES=3 has a cluster of three on either side, with three replicas where the suite can be told and where topics are made for clients;
# names in expected.tsv of the suite "NAME/3" are added to those of NAME then.
set -euo pipefail
export LC_ALL=C # names are sorted and compared
HERE=$(cd "$(dirname "$0")" && pwd); ROOT=$HERE/../..
. "$HERE/../peers/jars.sh"
SUITES=("$@")
[ ${#SUITES[@]} -gt 0 ] || SUITES=(kcat py-confluent node-clients java-tools franz-kgo kafka-python kafka-go confluent-go confluent-go@consumer librdkafka librdkafka@consumer connect otel agents)
NODES=${NODES:-1}; [ "$NODES" = 1 ] && FLAVOUR="" || FLAVOUR=/$NODES # of results and expectations
RESULTS=$CONF_CACHE/compat$FLAVOUR; REFERENCE_DIR=$CONF_CACHE/reference-4.1.1$FLAVOUR; mkdir -p "$RESULTS" "$REFERENCE_DIR"
PORT=${PORT:-29392}; KAFKA_PORT=$((PORT + 100))
SCRATCH=$(mktemp -d); RUNNING=()

end() {
  for pid in "${RUNNING[@]}"; do kill "$pid" 2> /dev/null || true; done
  for pid in "${RUNNING[@]}"; do wait "$pid" 2> /dev/null || true; done
  PORT=$KAFKA_PORT KAFKA_DATA=$SCRATCH SIG=KILL "$HERE/../peers/kafka-down.sh"
  rm -rf "$SCRATCH"
}
trap end EXIT
trap 'exit 130' INT TERM # so that the other trap runs

# node I's ports: PORT+10*(I-1) for clients, then for HTTP and gossip
port() { echo $((PORT + 10 * ($1 - 1) + $2)); }
of_each() { local all="" i; for i in $(seq 1 "$NODES"); do all+="${all:+,}127.0.0.1:$(($1 + 10 * (i - 1)))"; done; echo "$all"; }

start_node() {
  local i=$1 address cluster=()
  address=127.0.0.1:$(port "$i" 0)
  if [ "$NODES" -gt 1 ]; then
    cluster=(--set "node.id=$i" --set "broker.rack=rack-$i" --set "ringmill.bootstrap.expect=$NODES" --set "ringmill.gossip.listen=127.0.0.1:$(port "$i" 4)"
      --set "seeds=$(of_each $((PORT + 4)))" --set default.replication.factor=3 --set offsets.topic.replication.factor=3
      --set transaction.state.log.replication.factor=3 --set transaction.state.log.min.isr=2
      --set share.coordinator.state.topic.replication.factor=3 --set share.coordinator.state.topic.min.isr=2
      --set replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector)
  fi
  "$BINARY" serve --listen "$address" --data "$SCRATCH/data-$i" --set "ringmill.http.listen=127.0.0.1:$(port "$i" 2)" "${cluster[@]}" \
    --set authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer --set super.users=User:ANONYMOUS \
    --set "advertised.listeners=PLAINTEXT://$address" --set num.partitions=4 --set group.initial.rebalance.delay.ms=0 --set offsets.topic.num.partitions=10 > "$RESULTS/ringmill-$i.log" 2>&1 &
  RUNNING+=($!)
}

await_node() {
  for _ in $(seq 1 600); do curl -sf "http://127.0.0.1:$(port "$1" 2)/readyz" > /dev/null && return; sleep 0.1; done
  echo "ringmill is not ready:"; tail -20 "$RESULTS/ringmill-$1.log"; exit 1
}

start_ringmill() {
  [ -n "${BINARY:=}" ] || { BINARY=$SCRATCH/ringmill; (cd "$ROOT" && CGO_ENABLED=0 go build -o "$BINARY" ./tools/ringmill); }
  for i in $(seq 1 "$NODES"); do start_node "$i"; done
  for i in $(seq 1 "$NODES"); do await_node "$i"; done
}

start_kafka() {
  if [ -e "$SCRATCH/k$KAFKA_PORT" ]; then return; fi
  PORT=$KAFKA_PORT KAFKA_DATA=$SCRATCH PARTS=4 AUTH=1 NAME=k$KAFKA_PORT NODES=$NODES "$HERE/../peers/kafka-up.sh" > "$SCRATCH/kafka-up.out" ||
    { cat "$SCRATCH/kafka-up.out"; exit 1; }
}

# suite NAME BOOTSTRAP FILE : the file stands only once the suite has come to its last line
suite() {
  local protocol=classic
  case $1 in *@*) protocol=${1#*@} ;; esac
  env BOOTSTRAP="$2" CONF_CACHE="$CONF_CACHE" OUT="$RESULTS/$1.out" PROTO="$protocol" RF="$([ "$NODES" -ge 3 ] && echo 3 || echo 1)" bash "$HERE/${1%@*}.sh" > "$3.part" 2> "$3.err" || true
  tail -1 "$3.part" | grep -qE '^[0-9]+ passed, [0-9]+ failed' || { echo "$1 did not end: $(tail -1 "$3.err" | cut -c1-160)"; exit 1; }
  mv "$3.part" "$3"
}

names() { awk -v what="$1" '$1 == what {print $2}' "$2" | sort -u; }
expected() { awk -F'\t' -v suite="$1" -v flavoured="$1$FLAVOUR" '$1 == suite || $1 == flavoured {print $2}' "$HERE/expected.tsv" | sort -u; }
steady() { awk -F'\t' -v suite="$1" -v flavoured="$1$FLAVOUR" '($1 == suite || $1 == flavoured) && $3 != "unsteady" {print $2}' "$HERE/expected.tsv" | sort -u; }

bad=0
printf '%-22s %-34s %s\n' suite "Apache Kafka 4.1.1" ringmill
start_ringmill
for s in "${SUITES[@]}"; do
  reference=$REFERENCE_DIR/$s.txt
  if [ ! -s "$reference" ] || [ "${REFERENCE:-}" = fresh ]; then start_kafka; suite "$s" "$(of_each "$KAFKA_PORT")" "$reference"; fi
  mine=$RESULTS/$s.txt; suite "$s" "$(of_each "$PORT")" "$mine"
  printf '%-22s %-34s %s\n' "$s" "$(tail -1 "$reference")" "$(tail -1 "$mine")"
  missing=$(comm -23 <(names ok "$reference") <(names ok "$mine"))
  unexplained=$(comm -23 <(echo "$missing") <(expected "$s"))
  outdated=$(comm -12 <(steady "$s") <(names ok "$mine"))
  for n in $unexplained; do echo "  $n passes on Apache Kafka only: $(grep -m1 -F "FAIL $n" "$mine" | cut -d' ' -f3- | cut -c1-120)"; bad=1; done
  for n in $outdated; do echo "  $n passes now: take it out of expected.tsv"; bad=1; done
done
exit $bad
