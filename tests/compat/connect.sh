#!/usr/bin/env bash
# Kafka Connect 4.1.1: standalone file source to file sink; a distributed worker with exactly-once source, connectors by REST, offsets
# read back, pause, restart, resume.
. "$(dirname "$0")/lib.sh"
LIBS=$CONF_CACHE/connect/libs; D=$OUT; REST=http://127.0.0.1:${REST_PORT:-18083}
[ -d "$LIBS" ] || mvn -q -B -f "$HERE/connect-pom.xml" dependency:copy-dependencies -DoutputDirectory="$LIBS" || { summary 0 1 0; exit 1; }
connect() { exec java -Xmx400m -Dlog4j2.configurationFile="$HERE/../peers/log4j2-quiet.properties" -cp "$LIBS/*" "org.apache.kafka.connect.cli.$1" "${@:2}"; }
poll() { for _ in $(seq 1 "${WAIT:-90}"); do "$@" && return 0; sleep 1; done; return 1; }
has_lines() { [ "$(wc -l < "$1" 2> /dev/null || echo 0)" -ge "$2" ]; }
stop() { kill "$WORKER" 2> /dev/null; wait "$WORKER" 2> /dev/null; }
trap stop EXIT

common() { cat <<P
bootstrap.servers=$BOOTSTRAP
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.flush.interval.ms=1000
plugin.discovery=only_scan
listeners=$REST
P
}
seq 1 500 | sed 's/^/line /' > "$D/in.txt"
{ common; echo "offset.storage.file.filename=$D/offsets"; } > "$D/standalone.properties"
printf 'name=src\nconnector.class=org.apache.kafka.connect.file.FileStreamSourceConnector\ntasks.max=1\nfile=%s/in.txt\ntopic=ct-a%s\n' "$D" "$RUN" > "$D/src.properties"
printf 'name=snk\nconnector.class=org.apache.kafka.connect.file.FileStreamSinkConnector\ntasks.max=1\nfile=%s/out.txt\ntopics=ct-a%s\n' "$D" "$RUN" > "$D/snk.properties"
connect ConnectStandalone "$D/standalone.properties" "$D/src.properties" "$D/snk.properties" > "$D/standalone.log" 2>&1 & WORKER=$!
check standalone-copies poll has_lines "$D/out.txt" 500
check standalone-same cmp "$D/in.txt" "$D/out.txt"
stop

{ common; cat <<P
group.id=cg$RUN
config.storage.topic=cc-$RUN
offset.storage.topic=co-$RUN
status.storage.topic=cs-$RUN
config.storage.replication.factor=$RF
offset.storage.replication.factor=$RF
status.storage.replication.factor=$RF
exactly.once.source.support=enabled
P
} > "$D/distributed.properties"
distributed() {
  connect ConnectDistributed "$D/distributed.properties" > "$D/distributed.log" 2>&1 & WORKER=$!
  poll curl -sf -m 15 "$REST/connectors"
}
post() { curl -sf -m 15 -X POST -H 'Content-Type: application/json' "$REST/connectors" -d "$1"; }
runs() { curl -s -m 15 "$REST/connectors/$1/status" | grep -q '"tasks":\[{"id":0,"state":"RUNNING"'; }
has_offsets() { curl -s -m 15 "$REST/connectors/s$RUN/offsets" | grep -q '"position":[1-9]'; }
check distributed-up distributed
check source-create post "{\"name\":\"s$RUN\",\"config\":{\"connector.class\":\"org.apache.kafka.connect.file.FileStreamSourceConnector\",\"tasks.max\":\"1\",\"file\":\"$D/in.txt\",\"topic\":\"ct-b$RUN\",\"exactly.once.support\":\"requested\"}}"
check sink-create post "{\"name\":\"k$RUN\",\"config\":{\"connector.class\":\"org.apache.kafka.connect.file.FileStreamSinkConnector\",\"tasks.max\":\"1\",\"file\":\"$D/out2.txt\",\"topics\":\"ct-b$RUN\",\"consumer.override.isolation.level\":\"read_committed\"}}"
check source-running poll runs "s$RUN"
check sink-running poll runs "k$RUN"
check eos-copies poll has_lines "$D/out2.txt" 500
check eos-same cmp "$D/in.txt" "$D/out2.txt"
check offsets-rest poll has_offsets
check pause curl -sf -m 15 -X PUT "$REST/connectors/s$RUN/pause"
check resume curl -sf -m 15 -X PUT "$REST/connectors/s$RUN/resume"
stop
seq 501 700 | sed 's/^/line /' >> "$D/in.txt"
check worker-restart distributed
check resumes poll has_lines "$D/out2.txt" 700
sleep 3 # for what should not come
check resumes-same cmp "$D/in.txt" "$D/out2.txt"
summary
