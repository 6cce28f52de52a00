#!/usr/bin/env bash
# Starts an Apache Kafka cluster of three combined nodes on loopback, and returns once all of them are in it and serve. Again: starts
# those that are down. What kafka-up.sh takes it takes too (PORT, NAME, KAFKA_DATA, HEAP, EXTRA …); kafka-cluster-down.sh ends it, and
# with NODE=n and SIG=KILL it crashes one.
set -euo pipefail
export PORT=${PORT:-19092} NODES=${NODES:-3} DYNAMIC=${DYNAMIC:-1}; export NAME=${NAME:-cluster-$PORT}
HERE=$(dirname "$0"); . "$HERE/jars.sh"
"$HERE/kafka-up.sh"

# whoever is fenced is not listed
serving() {
  java -Xmx64m -XX:TieredStopAtLevel=1 -cp "$KAFKA_LIBS/*" "-Dlog4j2.configurationFile=$PEERS/log4j2-quiet.properties" \
    org.apache.kafka.tools.ClusterTool list-endpoints --bootstrap-server "127.0.0.1:$PORT" | grep -c 127.0.0.1
}
for _ in $(seq 1 30); do
  [ "$(serving)" -lt "$NODES" ] || exit 0
  sleep 0.5
done
echo "fewer than $NODES nodes serve" >&2; exit 1
