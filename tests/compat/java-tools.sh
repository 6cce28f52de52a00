#!/usr/bin/env bash
# Apache Kafka 4.1.1's own workload and admin tools, each step checked by its result.
. "$(dirname "$0")/lib.sh"
B=$BOOTSTRAP; T=org.apache.kafka.tools
j() { timeout "${ONE:-90}" java -Xmx256m -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile="$HERE/../peers/log4j2-quiet.properties" -cp "$KAFKA_LIBS/*" "$@"; }
topics() { j $T.TopicCommand --bootstrap-server "$B" "$@"; }
groups() { j $T.consumer.group.ConsumerGroupCommand --bootstrap-server "$B" "$@"; }
configs() { j kafka.admin.ConfigCommand --bootstrap-server "$B" "$@"; }
perf() { j $T.ProducerPerformance --throughput -1 "$@" | tail -1; }
new() { topics --create --topic "$1" --partitions "$2" --replication-factor "$RF" "${@:3}"; }
A=jt-a$RUN; C=jt-b$RUN; IN=jt-in$RUN; TO=jt-out$RUN

create() { new "$A" 4 && new "$C" 2 && new "jt-c$RUN" 1 --config cleanup.policy=compact; }
describe() { [ "$(topics --describe --topic "$A" | grep -c 'Partition: ')" = 4 ]; }
verifiable_producer() {
  [ "$(j $T.VerifiableProducer --bootstrap-server "$B" --topic "$A" --max-messages 5000 --throughput -1 --acks -1 | grep -c producer_send_success)" = 5000 ]
}
verifiable_consumer() {
  local out=$OUT/consumed-$1
  j $T.VerifiableConsumer --bootstrap-server "$B" --topic "$A" --group-id "g-$1-$RUN" --max-messages 5000 --reset-policy earliest --group-protocol "$1" > "$out"
  grep -q '"name":"shutdown_complete"' "$out" && [ "$(grep '"name":"records_consumed"' "$out" | grep -o '"count":[0-9]*' | cut -d: -f2 | paste -sd+ | bc)" -ge 5000 ]
}
perf_producer() { perf --topic "$A" --num-records 20000 --record-size 200 --producer-props bootstrap.servers="$B" compression.type="$1" acks=all | grep -q '^20000 records sent'; }
perf_consumer() { j $T.ConsumerPerformance --bootstrap-server "$B" --topic "$A" --messages 105000 --timeout 20000 --hide-header | awk -F', ' '{exit !($5 >= 105000)}'; }
perf_txn() { perf --topic "$A" --num-records 20000 --record-size 100 --transactional-id "tp$RUN" --transaction-duration-ms 200 --producer-props bootstrap.servers="$B" | grep -q '^20000 records sent'; }
e2e() { j $T.EndToEndLatency "$B" "$C" 500 all 100 | grep -q Percentiles; }
inputs() { new "$IN" 1 && new "$TO" 1 && perf --topic "$IN" --num-records 3000 --record-size 50 --producer-props bootstrap.servers="$B"; }
copier() {
  j $T.TransactionalMessageCopier --broker-list "$B" --transactional-id "tmc$RUN" --input-topic "$IN" --input-partition 0 --output-topic "$TO" \
    --consumer-group "tmcg$RUN" --max-messages 3000 --transaction-size 100 --enable-random-aborts || true
  [ "$(j $T.consumer.ConsoleConsumer --bootstrap-server "$B" --topic "$TO" --from-beginning --isolation-level read_committed --timeout-ms 8000 | wc -l)" = 3000 ]
}
group_describe() { groups --describe --group "g-classic-$RUN" | grep -q "$A"; }
group_reset() { groups --reset-offsets --group "g-classic-$RUN" --topic "$A" --to-earliest --execute | grep -q "$A"; }
group_delete() { groups --delete --group "g-classic-$RUN" | grep -q success; }
alter_configs() {
  configs --alter --entity-type topics --entity-name "$C" --add-config retention.ms=60000 &&
    configs --describe --entity-type topics --entity-name "$C" | grep -q retention.ms=60000
}
get_offsets() { j $T.GetOffsetShell --bootstrap-server "$B" --topic "$IN" | grep -qx "$IN:0:3000"; }
delete_records() {
  printf '{"partitions":[{"topic":"%s","partition":0,"offset":1000}],"version":1}' "$IN" > "$OUT/records.json"
  j $T.DeleteRecordsCommand --bootstrap-server "$B" --offset-json-file "$OUT/records.json" | grep -q 'low_watermark: 1000'
}
add_partitions() { topics --alter --topic "$C" --partitions 5 && [ "$(topics --describe --topic "$C" | grep -c 'Partition: ')" = 5 ]; }
log_dirs() { j $T.LogDirsCommand --bootstrap-server "$B" --describe --topic-list "$A" | grep -q "\"partition\":\"$A-0\""; }
api_versions() { j $T.BrokerApiVersionsCommand --bootstrap-server "$B" | grep -q 'Fetch(1)'; }
cluster_id() { j $T.ClusterTool cluster-id --bootstrap-server "$B" | grep -q 'Cluster ID'; }
features() { j $T.FeatureCommand --bootstrap-server "$B" describe | grep -q 'Feature:'; }
txn_list() { j $T.TransactionsCommand --bootstrap-server "$B" list | grep -q "tmc$RUN"; }
txn_producers() { j $T.TransactionsCommand --bootstrap-server "$B" describe-producers --topic "$TO" --partition 0 | grep -q ProducerId; }
quotas() {
  configs --alter --entity-type clients --entity-name "q$RUN" --add-config producer_byte_rate=1048576 &&
    configs --describe --entity-type clients --entity-name "q$RUN" | grep -q producer_byte_rate
}
delete() { topics --delete --topic "jt-.*$RUN"; }

check create create
check describe describe
check verifiable-producer verifiable_producer
for p in classic consumer; do check "verifiable-consumer-$p" verifiable_consumer "$p"; done
for c in none gzip snappy lz4 zstd; do check "perf-producer-$c" perf_producer "$c"; done
check perf-consumer perf_consumer
check perf-producer-txn perf_txn
check e2e-latency e2e
check copier-input inputs
check txn-message-copier copier
check groups group_describe
check group-reset group_reset
check group-delete group_delete
check configs alter_configs
check get-offsets get_offsets
check delete-records delete_records
check add-partitions add_partitions
check log-dirs log_dirs
check api-versions api_versions
check cluster-id cluster_id
check features features
check txn-list txn_list
check txn-describe-producers txn_producers
check quotas quotas
check delete delete
summary
