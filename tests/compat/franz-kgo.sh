#!/usr/bin/env bash
# franz-go's own integration tests (pkg/kgo): produce and fetch chains through groups with exact-once checks, all assignors, static
# members, KIP-848, transactions. RECORDS (upstream: 500000), MAXPARTS, RUN_TESTS (a regexp).
. "$(dirname "$0")/lib.sh"
V=${VERSION:-v1.22.3}; S=$CONF_CACHE/franz-go-$V
go_unpack github.com/twmb/franz-go "$V" "$S"
TESTS=${RUN_TESTS:-'^(TestPing|TestIssue.*|TestConsume.*|Test848.*|TestDirectPartitionPurge|TestAddRemovePartitions|TestPause.*|TestPooling|TestGroupSimple|TestGroupETL|TestHookPollStart|TestPollWait.*|TestLookbackMilli|TestClient_Produce.*)$'}
cd "$S/pkg/kgo" && go test -c -o "$CONF_CACHE/kgo-$V.test" . > "$OUT/build.txt" 2>&1 || { summary 0 1 0; exit 1; }
# PATTERN SECONDS
run_tests() {
  KGO_SEEDS=$BOOTSTRAP KGO_TEST_RF=$RF KGO_TEST_RECORDS=${RECORDS:-20000} KGO_TEST_MAX_TOPIC_PARTS=${MAXPARTS:-8} KGO_TEST_UNSAFE=1 KGO_LOG_LEVEL=none \
    "$CONF_CACHE/kgo-$V.test" -test.v=test2json -test.timeout "$2s" -test.run "$1" 2>> "$OUT/stderr" | go tool test2json -p kgo >> "$OUT/out.json"
}
run_tests "$TESTS" "${TMO:-400}"
run_tests '^TestTxnEtl$' "${TXN_TMO:-150}" # apart, as it takes long
go_score "$OUT/out.json"
