#!/usr/bin/env bash
# segmentio/kafka-go's own tests: some 45 request kinds at old, fixed versions. Twelve of them want the node at localhost:9092. Their getOffsets calls a
# nil function, whose panic ended the package's tests wherever they were; here it has what ConsumerGroupConfig.Validate sets.
. "$(dirname "$0")/lib.sh"
V=${VERSION:-v0.4.51}; B=${BOOTSTRAP%%,*}; S=$CONF_CACHE/kafka-go-$V-$(tr -c 'A-Za-z0-9\n' _ <<< "$B")
go_unpack github.com/segmentio/kafka-go "$V" "$S"
cd "$S" && grep -rlE 'localhost:909[23]|TCP\("localhost"\)' --include=*.go . | grep -v address_test |
  xargs -r sed -i "s/localhost:9092/$B/g; s/TCP(\"localhost\")/TCP(\"$B\")/g"
sed -i "s/Host: \"localhost\", Port: 9092/Host: \"${B%:*}\", Port: ${B##*:}/" dialer_test.go
sed -i 's/^\tconn, err := cg.coordinator()$/\tcg.config.Topics = []string{config.Topic}\n\tif err := cg.config.Validate(); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tconn, err := cg.coordinator() \/\/ mended/' reader_test.go
export KAFKA_VERSION=${KAFKA_VERSION:-3.7.0} KAFKA_SKIP_NETTEST=1
go test -json -p 1 -count=1 -timeout "${TMO:-900}s" . ./topics ./testing > "$OUT/out.json" 2> "$OUT/stderr"
go_score "$OUT/out.json"
