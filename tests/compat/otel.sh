#!/usr/bin/env bash
# The OpenTelemetry collector (built by its own builder, some minutes the first time): log lines from a file through its Kafka exporter
# into the node, and from the node through its Kafka receiver into the collector's own log.
. "$(dirname "$0")/lib.sh"
V=0.165.0; C=$CONF_CACHE/otelcol-$V; D=$OUT
if [ ! -x "$C/otelcol-kafka" ]; then
  mkdir -p "$C" && GOFLAGS= GOBIN=$C go install "go.opentelemetry.io/collector/cmd/builder@v$V" > "$OUT/build.txt" 2>&1 &&
    (cd "$C" && GOFLAGS= CGO_ENABLED=0 ./builder --config "$HERE/otel-builder.yaml" --output-path "$C/dist" > "$OUT/build.txt" 2>&1 && mv dist/otelcol-kafka .) ||
    { echo "FAIL build $(tail -1 "$OUT/build.txt" | cut -c1-160)"; summary 0 1 0; exit 1; }
fi
seq 1 500 | sed 's/^/otel line /' > "$D/app.log"
sed "s|@DIR@|$D|g; s|@BROKER@|$BOOTSTRAP|g; s|@RUN@|$RUN|g" "$HERE/otel-collector.yaml" > "$D/collector.yaml"
java -cp "$KAFKA_LIBS/*" org.apache.kafka.tools.TopicCommand --bootstrap-server "$BOOTSTRAP" --create --topic "otel-$RUN" --partitions 1 > "$D/topic.txt" 2>&1 # lines keep their order
"$C/otelcol-kafka" --config "$D/collector.yaml" > "$D/collector.log" 2>&1 & COLLECTOR=$!
trap 'kill $COLLECTOR 2> /dev/null' EXIT
came_back() { for _ in $(seq 1 60); do [ "$(grep -o 'otel line [0-9]*' "$D/collector.log" 2> /dev/null | sort -u | wc -l)" = 500 ] && return 0; sleep 1; done; return 1; }
check round-trip came_back
check in-order bash -c "grep -o 'otel line [0-9]*' '$D/collector.log' | awk '{print \$3}' | sort -nc"
summary
