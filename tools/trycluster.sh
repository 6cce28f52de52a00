#!/usr/bin/env bash
# Three nodes of one cluster on 127.0.0.1, to try it out: Kafka's protocol on ports 9092, 9192 and 9292, data in DIR/node-N.
# They end with this script.
# usage: trycluster.sh RINGMILL [DIR]
set -euo pipefail
ringmill=$1
dir=${2:-data/cluster}
mkdir -p "$dir"
pids=()
stop() {
  trap - INT TERM EXIT
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
}
trap stop INT TERM EXIT
for i in 1 2 3; do
  n=$((i - 1))
  "$ringmill" serve --listen "127.0.0.1:$((9092 + 100 * n))" --data "$dir/node-$i" \
    --set "node.id=$i" --set ringmill.bootstrap.expect=3 --set "ringmill.http.listen=127.0.0.1:$((9644 + n))" \
    --set "ringmill.gossip.listen=127.0.0.1:$((7946 + n))" --join 127.0.0.1:7946 --join 127.0.0.1:7947 --join 127.0.0.1:7948 \
    >>"$dir/node-$i.log" 2>&1 &
  pids+=($!)
  echo "node $i: 127.0.0.1:$((9092 + 100 * n)), process ${pids[n]}, log $dir/node-$i.log"
done
echo "try: $ringmill cluster status, $ringmill topic create t -p 3 -r 3, kill -9 one of them; ^C ends all"
wait
