# sourced: Apache Kafka 4.1.1's jars in $KAFKA_LIBS (Maven, once, into the cache), data under $KAFKA_DATA
CONF_CACHE=${CONF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ringmill-conformance}
mkdir -p "$CONF_CACHE"
KAFKA_LIBS=${KAFKA_LIBS:-$CONF_CACHE/kafka/libs}
KAFKA_DATA=${KAFKA_DATA:-$CONF_CACHE/kafka/data}
PEERS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fetch_jars() (
  exec 9> "$CONF_CACHE/kafka-jars.lock" && flock 9
  [ -d "$KAFKA_LIBS" ] && exit 0
  mkdir -p "$(dirname "$KAFKA_LIBS")" && rm -rf "$KAFKA_LIBS.part"
  mvn -q -B -f "$PEERS/pom.xml" dependency:copy-dependencies -DoutputDirectory="$KAFKA_LIBS.part" && mv "$KAFKA_LIBS.part" "$KAFKA_LIBS"
)
[ -d "$KAFKA_LIBS" ] || fetch_jars || { echo "Apache Kafka's jars could not be fetched by mvn" >&2; exit 3; }
