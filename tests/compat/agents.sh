#!/usr/bin/env bash
# Agents and stream processors that take minutes to fetch or build: each sends 300 lines into the node and takes them out again.
# AGENTS="telegraf flume" picks.
. "$(dirname "$0")/lib.sh"
AGENTS=${AGENTS:-collectd telegraf telegraf-default flume camel flink spark aiokafka}
LINES=300

# jars NAME GROUP:ARTIFACT:VERSION... : with all that they need, into $CONF_CACHE/NAME/libs
jars() {
  local dir=$CONF_CACHE/$1 c; shift
  [ -d "$dir/libs" ] && return
  mkdir -p "$dir"
  { echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>compat</groupId><artifactId>agent</artifactId><version>1</version><dependencies>'
    for c in "$@"; do IFS=: read -r g a v <<< "$c"; echo "<dependency><groupId>$g</groupId><artifactId>$a</artifactId><version>$v</version></dependency>"; done
    echo '</dependencies></project>'; } > "$dir/pom.xml"
  mvn -q -B -f "$dir/pom.xml" dependency:copy-dependencies -DoutputDirectory="$dir/libs"
}

# venv NAME PACKAGE... : a virtual environment in $CONF_CACHE/NAME
venv() {
  local dir=$CONF_CACHE/$1; shift
  [ -e "$dir/done" ] || { python3 -m venv "$dir" && "$dir/bin/pip" -q install "$@" && touch "$dir/done"; }
}

# configured FILE : the agent's file of agents/ with the node, this run's topic and its folder filled in
configured() { sed "s|@BROKER@|$BOOTSTRAP|g; s|@TOPIC@|$TOPIC|g; s|@DIR@|$D|g" "$HERE/agents/$1" > "$D/$1"; }

distinct() { cat "$D"/$1 2> /dev/null | grep -ao 'line [0-9]*' | sort -u | wc -l; }

# until_back FILES COMMAND... : runs an agent until FILES, which it writes, hold every line
until_back() {
  local files=$1; shift
  (cd "$D" && exec "$@") > "$D/agent.txt" 2>&1 & local agent=$! rc=1
  for _ in $(seq 1 "${WAIT:-90}"); do
    [ "$(distinct "$files")" = $LINES ] && { rc=0; break; }
    sleep 1
  done
  kill "$agent" 2> /dev/null; wait "$agent" 2> /dev/null
  [ $rc = 0 ] || { tail -5 "$D/agent.txt"; echo "$(distinct "$files") of $LINES lines"; }
  return $rc
}

fill() { sed 's/^/line /' <(seq 1 $LINES) | kcat -b "$BOOTSTRAP" -t "$1" -P; }
topic_has_all() { [ "$(kcat -b "$BOOTSTRAP" -t "$1" -C -e -q -X isolation.level=read_committed | sort -u | wc -l)" = $LINES ]; }

collectd() {
  need /usr/lib/collectd/write_kafka.so collectd-core librdkafka1
  configured collectd.conf
  timeout 10 /usr/sbin/collectd -f -C "$D/collectd.conf" > "$D/agent.txt" 2>&1
  kcat -b "$BOOTSTRAP" -t "$TOPIC" -C -e -q | grep -q '"plugin":"memory"'
}

telegraf_binary() {
  local V=v1.37.2
  TELEGRAF=$CONF_CACHE/telegraf-$V/telegraf
  [ -x "$TELEGRAF" ] || GOFLAGS= GOBIN=$CONF_CACHE/telegraf-$V go install -tags \
    custom,inputs.tail,inputs.kafka_consumer,outputs.kafka,outputs.file,parsers.influx,parsers.value,serializers.influx "github.com/influxdata/telegraf/cmd/telegraf@$V"
}
telegraf() { telegraf_binary && configured telegraf.conf && until_back back.out "$TELEGRAF" --config telegraf.conf; }
# its consumer with the version that it has by default speaks Fetch v3, which Apache Kafka 4 has no more
telegraf_default() {
  telegraf_binary && configured telegraf.conf && sed -i '/version = /d' "$D/telegraf.conf" && until_back back.out "$TELEGRAF" --config telegraf.conf
}

flume() {
  jars flume org.apache.flume:flume-ng-node:1.11.0 org.apache.flume.flume-ng-sinks:flume-ng-kafka-sink:1.11.0 \
    org.apache.flume.flume-ng-sources:flume-kafka-source:1.11.0 org.apache.flume.flume-ng-sources:flume-taildir-source:1.11.0 || return
  configured flume.properties; mkdir -p "$D/out"
  until_back 'out/*' java -Xmx256m -cp "$CONF_CACHE/flume/libs/*" org.apache.flume.node.Application -n a -f flume.properties
}

camel() {
  local p=org.apache.camel V=4.22.0
  jars camel $p:camel-kafka:$V $p:camel-main:$V $p:camel-file:$V $p:camel-yaml-dsl:$V $p:camel-timer:$V $p:camel-core-languages:$V org.slf4j:slf4j-simple:2.0.17 || return
  configured camel.yaml
  until_back out.log java -Xmx256m -Dcamel.main.routesIncludePattern=file:camel.yaml -cp "$CONF_CACHE/camel/libs/*" org.apache.camel.main.Main
}

flink() {
  jars flink org.apache.flink:flink-connector-kafka:5.0.0-2.2 org.apache.flink:flink-streaming-java:2.2.0 org.apache.flink:flink-clients:2.2.0 \
    org.apache.flink:flink-connector-base:2.2.0 || return
  fill "$TOPIC" && cp "$HERE/agents/FlinkCopy.java" "$D" && javac -nowarn -cp "$CONF_CACHE/flink/libs/*" -d "$D" "$D/FlinkCopy.java" &&
    timeout 120 java -Xmx400m -cp "$D:$CONF_CACHE/flink/libs/*" FlinkCopy "$BOOTSTRAP" "$TOPIC" "$TOPIC-out" && topic_has_all "$TOPIC-out"
}

spark() {
  venv venv-spark pyspark==4.0.0 && jars spark org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 || return
  fill "$TOPIC" && SPARK_LOCAL_IP=127.0.0.1 timeout 240 "$CONF_CACHE/venv-spark/bin/python" "$HERE/agents/spark_copy.py" "$BOOTSTRAP" "$TOPIC" "$TOPIC-out" "$CONF_CACHE/spark/libs" "$D" &&
    topic_has_all "$TOPIC-out"
}

aiokafka() {
  venv venv-aiokafka aiokafka==0.14.0 && timeout 90 "$CONF_CACHE/venv-aiokafka/bin/python" "$HERE/agents/aiokafka_round.py" "$BOOTSTRAP" "$TOPIC" $LINES
}

need kcat kcat
for agent in $AGENTS; do
  D=$OUT/$agent TOPIC=$agent-$RUN; mkdir -p "$D"
  seq 1 $LINES | sed 's/^/line /' > "$D/app.log"
  check "$agent" "${agent//-/_}"
done
summary
