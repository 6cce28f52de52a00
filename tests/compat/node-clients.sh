#!/usr/bin/env bash
# kafkajs 2.2.4 (an old client, early API versions) and @platformatic/kafka 2.12.1 (a new one, latest versions, KIP-848).
. "$(dirname "$0")/lib.sh"
N=$CONF_CACHE/node-clients
[ -d "$N/node_modules/kafkajs" ] || { mkdir -p "$N" && cd "$N" && npm init -y > /dev/null &&
  npm i --silent --no-audit --no-fund --ignore-scripts kafkajs@2.2.4 @platformatic/kafka@2.12.1; }
NODE_DIR=$N KAFKAJS_NO_PARTITIONER_WARNING=1 timeout "${TMO:-300}" node "$HERE/clients/node.mjs" "$BOOTSTRAP" 2> "$OUT/stderr"
