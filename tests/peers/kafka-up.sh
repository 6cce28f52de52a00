#!/usr/bin/env bash
# Starts Apache Kafka 4.1.1 in KRaft combined mode on loopback. Idempotent per NAME.
#   PORT=19092           PLAINTEXT listener of node 1; node n uses PORT+10*(n-1), the controller one port above
#   NODES=1              how many combined broker and controller nodes the cluster begins with
#   NODE=n               only node n of them, or a later one that joins; default: all
#   PORTS="p1 p2 p3"     their PLAINTEXT listeners, where they do not follow from PORT
#   DYNAMIC=0            1: a quorum whose voters can be changed (kraft.version 1), as of a cluster that is new in Kafka 4
#   CLUSTER_ID=          the cluster's id, where nodes of one cluster have data of their own; default: kept with the data
#   NAME=k$PORT          data under $KAFKA_DATA/$NAME, pids in node*.pid there
#   HEAP=1g              512m when NODES=3
#   PARTS=1              num.partitions
#   AUTOCREATE=true      auto.create.topics.enable
#   AUTH=0               1: SASL_PLAINTEXT on PORT+2 (PLAIN and SCRAM), SSL on PORT+3, SASL_SSL on PORT+4, and an authorizer
#                        that lets ANONYMOUS do everything; users and passwords as the suites name them
#   BASEID=1             node.id of the first node
#   EXTRA="k=v k=v"      more lines for server.properties; the last line of a key wins
#   FOREGROUND=0         1: become the node (NODE, or 1) instead of starting it in the background
set -euo pipefail
. "$(dirname "$0")/jars.sh"
PORT=${PORT:-19092}; NODES=${NODES:-1}; NAME=${NAME:-k$PORT}; AUTH=${AUTH:-0}; AUTOCREATE=${AUTOCREATE:-true}
HEAP=${HEAP:-$([ "$NODES" -gt 1 ] && echo 512m || echo 1g)}; PARTS=${PARTS:-1}; BASEID=${BASEID:-1}; DYNAMIC=${DYNAMIC:-0}
read -ra PORTS <<< "${PORTS:-}"
D=$KAFKA_DATA/$NAME; mkdir -p "$D"
CP="$KAFKA_LIBS/*"
RF=$([ "$NODES" -ge 3 ] && echo 3 || echo 1); ISR=$([ "$NODES" -ge 3 ] && echo 2 || echo 1)
LOGGING=(-Dlog4j2.configurationFile="$D/log4j2.properties")

port_of() { if [ "$1" -le ${#PORTS[@]} ]; then echo "${PORTS[$1 - 1]}"; else echo $((PORT + 10 * ($1 - 1))); fi; }

# the controllers that the cluster begins with, each as printf has it of id, address and directory id
controllers() {
  local all="" i
  for i in $(seq 1 "$NODES"); do
    # shellcheck disable=SC2059 # the format is the caller's
    all+="${all:+,}$(printf "$1" "$((i - 1 + BASEID))" "127.0.0.1:$(($(port_of "$i") + 1))" "$(printf 'directory-of-node-%03dA' "$i")")"
  done
  echo "$all"
}

write_log4j() {
  cat > "$D/log4j2.properties" <<L
status=error
appender.f.type=File
appender.f.name=f
appender.f.fileName=\${sys:kafka.logfile}
appender.f.layout.type=PatternLayout
appender.f.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=${LOGLEVEL:-WARN}
rootLogger.appenderRef.f.ref=f
L
}

# a cluster id is 16 random bytes in URL-safe base64, and never starts with a dash
cluster_id() {
  if [ -n "${CLUSTER_ID:-}" ]; then echo "$CLUSTER_ID"; return; fi
  until [ -s "$D/cluster.id" ] && ! grep -q '^-' "$D/cluster.id"; do
    head -c 16 /dev/urandom | base64 | tr '+/' '-_' | cut -c1-22 > "$D/cluster.id"
  done
  cat "$D/cluster.id"
}

# one certificate authority and one server certificate for localhost
make_keys() {
  local store=(-storetype PKCS12 -storepass changeit)
  keytool -genkeypair -alias ca -keyalg RSA -keysize 2048 -dname CN=test-ca -ext bc:c -validity 3650 -keystore "$D/ca.p12" "${store[@]}"
  keytool -exportcert -rfc -alias ca -keystore "$D/ca.p12" -storepass changeit > "$D/ca.pem"
  keytool -genkeypair -alias srv -keyalg RSA -keysize 2048 -dname CN=localhost -validity 3650 -keystore "$D/ks.p12" "${store[@]}"
  keytool -certreq -alias srv -keystore "$D/ks.p12" -storepass changeit |
    keytool -gencert -alias ca -keystore "$D/ca.p12" -storepass changeit -rfc -validity 3650 -ext san=dns:localhost,ip:127.0.0.1 > "$D/srv.pem"
  keytool -importcert -noprompt -alias ca -file "$D/ca.pem" -keystore "$D/ks.p12" -storepass changeit
  keytool -importcert -noprompt -alias srv -file "$D/srv.pem" -keystore "$D/ks.p12" -storepass changeit
  keytool -importcert -noprompt -alias ca -file "$D/ca.pem" -keystore "$D/ts.p12" "${store[@]}"
}

auth_properties() {
  local plain='org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin-secret" user_alice="alice-secret" user_adminplain="admin-secret" user_testuser="testpass";'
  local scram='org.apache.kafka.common.security.scram.ScramLoginModule required;'
  cat <<P
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_plaintext.plain.sasl.jaas.config=$plain
listener.name.sasl_ssl.plain.sasl.jaas.config=$plain
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=$scram
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config=$scram
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=$scram
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=$scram
ssl.keystore.location=$D/ks.p12
ssl.keystore.password=changeit
ssl.key.password=changeit
ssl.truststore.location=$D/ts.p12
ssl.truststore.password=changeit
ssl.client.auth=requested
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin;User:adminplain;User:adminscram;User:testuser
allow.everyone.if.no.acl.found=false
P
}

# server.properties of node n; later lines win, so EXTRA comes last
write_properties() {
  local n=$1 p; p=$(port_of "$n")
  local listeners="PLAINTEXT://127.0.0.1:$p" quorum i
  if [ "$AUTH" = 1 ]; then
    for i in SASL_PLAINTEXT:2 SSL:3 SASL_SSL:4; do listeners+=",${i%:*}://127.0.0.1:$((p + ${i#*:}))"; done
  fi
  quorum=controller.quorum.voters=$(controllers '%s@%s%.0s')
  if [ "$DYNAMIC" = 1 ]; then quorum=controller.quorum.bootstrap.servers=$(controllers '%.0s%s%.0s'); fi
  cat <<P
process.roles=broker,controller
node.id=$((n - 1 + BASEID))
broker.rack=rack-$n
$quorum
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners=$listeners,CONTROLLER://127.0.0.1:$((p + 1))
advertised.listeners=$listeners
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
log.dirs=$D/log$n
num.partitions=$PARTS
default.replication.factor=$RF
offsets.topic.replication.factor=$RF
offsets.topic.num.partitions=${OFFSETS_PARTS:-10}
transaction.state.log.replication.factor=$RF
transaction.state.log.min.isr=$ISR
transaction.state.log.num.partitions=${TXN_PARTS:-10}
share.coordinator.state.topic.replication.factor=$RF
share.coordinator.state.topic.min.isr=$ISR
share.coordinator.state.topic.num.partitions=5
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=$AUTOCREATE
replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=33554432
offsets.topic.segment.bytes=10485760
transaction.state.log.segment.bytes=10485760
P
  if [ "$AUTH" = 1 ]; then auth_properties; fi
  for i in ${EXTRA:-}; do echo "$i"; done
}

format() {
  local n=$1 users=() quorum=()
  if [ "$DYNAMIC" = 1 ]; then
    quorum=(--initial-controllers "$(controllers '%s@%s:%s')")
    [ "$n" -le "$NODES" ] || quorum=(--no-initial-controllers)
  fi
  if [ "$AUTH" = 1 ]; then
    users=(--add-scram 'SCRAM-SHA-256=[name=admin,password=admin-secret]' --add-scram 'SCRAM-SHA-512=[name=admin,password=admin-secret]'
      --add-scram 'SCRAM-SHA-256=[name=adminscram,password=admin-secret-256]' --add-scram 'SCRAM-SHA-512=[name=adminscram,password=admin-secret-512]')
  fi
  java -cp "$CP" -Dkafka.logfile="$D/tool.log" "${LOGGING[@]}" kafka.tools.StorageTool format --ignore-formatted -t "$(cluster_id)" -c "$D/node$n.properties" "${quorum[@]}" "${users[@]}" \
    > "$D/format$n.out" 2>&1 || { cat "$D/format$n.out"; exit 1; }
}

alive() { [ -f "$D/node$1.pid" ] && kill -0 "$(cat "$D/node$1.pid")" 2>/dev/null; }

start() {
  local n=$1
  local argv=(java "-Xmx$HEAP" "-Xms$HEAP" -XX:+UseG1GC -Djava.awt.headless=true -Dkafka.logfile="$D/server$n.log" "${LOGGING[@]}" -cp "$CP" kafka.Kafka "$D/node$n.properties")
  if [ "${FOREGROUND:-0}" = 1 ]; then exec "${argv[@]}"; fi
  setsid "${argv[@]}" > "$D/node$n.out" 2>&1 < /dev/null &
  echo $! > "$D/node$n.pid"
}

await() {
  local n=$1
  for _ in $(seq 1 480); do # on a busy machine a start takes minutes
    if (exec 3<> "/dev/tcp/127.0.0.1/$(port_of "$n")") 2>/dev/null; then return; fi
    alive "$n" || { echo "node $n died"; tail -20 "$D/node$n.out" "$D/server$n.log"; exit 1; }
    sleep 0.5
  done
  echo "node $n did not listen within four minutes"; exit 1
}

write_log4j
if [ "$AUTH" = 1 ] && [ ! -f "$D/ks.p12" ]; then make_keys > /dev/null 2>&1; fi
read -ra STARTED <<< "${NODE:-$(seq -s ' ' 1 "$NODES")}"
for n in "${STARTED[@]}"; do
  if alive "$n"; then echo "node $n is up already (pid $(cat "$D/node$n.pid"))"; continue; fi
  write_properties "$n" > "$D/node$n.properties"
  [ -f "$D/log$n/meta.properties" ] || format "$n"
  start "$n"
done
for n in "${STARTED[@]}"; do await "$n"; done
sleep 1
b=""; for n in $(seq 1 "$NODES"); do b+="${b:+,}127.0.0.1:$(port_of "$n")"; done
echo "BOOTSTRAP=$b"
