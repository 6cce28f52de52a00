#!/usr/bin/env bash
# kafka-python's integration tests from its sdist: admin, consumer groups including KIP-848, producer including transactions.
. "$(dirname "$0")/lib.sh"
V=${VERSION:-3.0.12}; S=$CONF_CACHE/kafka_python-$V; VENV=$CONF_CACHE/venv-kp
[ -d "$S" ] || (cd "$CONF_CACHE" && pip download -q --no-deps --no-binary :all: -d sd "kafka-python==$V" && tar xzf "sd/kafka_python-$V.tar.gz")
[ -x "$VENV/bin/pytest" ] || { python3 -m venv "$VENV" &&
  "$VENV/bin/pip" -q install pytest pytest-timeout pytest-mock lz4 zstandard python-snappy crc32c async-generator; }
touch "$S/test/__init__.py"
# the sdist lacks test/service.py, which starts brokers; with one that runs already, this much of it is used
cat > "$S/test/service.py" <<'P'
class ExternalService:
    def __init__(self, host, port): self.host, self.port, self.child = host, port, self
    def open(self): pass
    def close(self): pass
    def is_alive(self): return True
    def dump_logs(self): pass


class SpawnedService:
    def __init__(self, *args, **kwargs): raise RuntimeError('no broker is started here')
P
mkdir -p "$S/servers/4.1.1/kafka-bin" # only looked for
cd "$S" && KAFKA_URI=kafka://${BOOTSTRAP%%,*} KAFKA_VERSION=4.1.1 PYTHONPATH=. timeout "${TMO:-900}" "$VENV/bin/pytest" -q -p no:cacheprovider --timeout 60 -rA \
  test/integration/test_admin_integration.py test/integration/test_consumer_integration.py test/integration/test_producer_integration.py > "$OUT/out.txt" 2>&1
sed -nE 's/^PASSED (\S+).*/ok \1/p; s/^(FAILED|ERROR) (\S+).*/FAIL \2/p' "$OUT/out.txt"
summary "$(grep -c ^PASSED "$OUT/out.txt")" "$(grep -cE '^(FAILED|ERROR)' "$OUT/out.txt")" "$(grep -c ^SKIPPED "$OUT/out.txt")"
