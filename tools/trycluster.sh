#!/usr/bin/env bash
# Three nodes of one cluster on 127.0.0.1, to try it out: Kafka's protocol on ports 9092, 9192 and 9292, data in DIR/node-N.
# They end with this script. For a node that ended it gives the command that starts it again; one that cannot start, as where its ports are in use, ends it.
# usage: trycluster.sh RINGMILL [DIR]
set -euo pipefail
ringmill=$1
dir=${2:-data/cluster}
mkdir -p "$dir"
declare -A nodes # the number of each node by its process
stop() {
  trap - INT TERM EXIT
  for pid in "${!nodes[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null
}
trap 'stop; exit' INT TERM
trap stop EXIT
# serve I: has command be what runs node I.
serve() {
  local n=$(($1 - 1))
  command=("$ringmill" serve --listen "127.0.0.1:$((9092 + 100 * n))" --data "$dir/node-$1"
    --set "node.id=$1" --set ringmill.bootstrap.expect=3 --set "ringmill.http.listen=127.0.0.1:$((9644 + n))"
    --set "ringmill.gossip.listen=127.0.0.1:$((7946 + n))" --join 127.0.0.1:7946 --join 127.0.0.1:7947 --join 127.0.0.1:7948)
}
for i in 1 2 3; do
  serve "$i"
  "${command[@]}" >>"$dir/node-$i.log" 2>&1 &
  nodes[$!]=$i
  echo "node $i: 127.0.0.1:$((9092 + 100 * (i - 1))), process $!, log $dir/node-$i.log"
done
echo "try: $ringmill cluster status, $ringmill topic create t -p 3 -r 3, kill -9 one of them; ^C ends all"
readonly refused=2 # the status of a node that did not start
while ((${#nodes[@]} > 0)); do
  pid= status=0
  wait -n -p pid 2>/dev/null || status=$? # bash tells of a killed process in words of its own
  i=${nodes[$pid]}
  if ((status == refused)); then
    printf '\nnode %s did not start, and the others are ended\n  %s\n' "$i" "$(tail -n 1 "$dir/node-$i.log")" >&2
    exit 1
  fi
  unset "nodes[$pid]"
  serve "$i"
  printf '\nnode %s has ended; the last line of its log is\n  %s\nstart it again, in another terminal, with\n  ' "$i" "$(tail -n 1 "$dir/node-$i.log")"
  printf '%q ' "${command[@]}"
  echo
done
