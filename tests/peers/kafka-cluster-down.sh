#!/usr/bin/env bash
# Ends what kafka-cluster-up.sh started: PORT and NAME as there, the rest as kafka-down.sh has it (WIPE, NODE, SIG).
export PORT=${PORT:-19092}; export NAME=${NAME:-cluster-$PORT}
exec "$(dirname "$0")/kafka-down.sh"
