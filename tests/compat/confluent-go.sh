#!/usr/bin/env bash
# confluent-kafka-go's integration tests (librdkafka inside, cgo): producer, groups, the widest admin API. PROTO=classic|consumer.
. "$(dirname "$0")/lib.sh"
V=${VERSION:-v2.11.1}; S=$CONF_CACHE/confluent-kafka-go-$V
go_unpack github.com/confluentinc/confluent-kafka-go/v2 "$V" "$S"
cd "$S/kafka" && cat > testconf.json <<J
{"Brokers":"$BOOTSTRAP","BrokersSasl":"","SaslUsername":"admin","SaslPassword":"admin-secret","SaslMechanism":"PLAIN",
 "TopicName":"conftest$RUN","GroupID":"conftestg$RUN","PerfMsgCount":20000,"PerfMsgSize":100,"Config":["api.version.request=true"]}
J
[ -x "$CONF_CACHE/ckgo-$V.test" ] || go test -c -o "$CONF_CACHE/ckgo-$V.test" . > "$OUT/build.txt" 2>&1 || { summary 0 1 0; exit 1; }
TEST_CONSUMER_GROUP_PROTOCOL=${PROTO:-classic} "$CONF_CACHE/ckgo-$V.test" -test.v=test2json -test.timeout "${TMO:-1200}s" 2> "$OUT/stderr" |
  go tool test2json -p ckgo > "$OUT/out.json"
go_score "$OUT/out.json"
