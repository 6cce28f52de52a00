"""kafka-python against a node: kafkapython.py BOOTSTRAP [NAME-REGEXP]. Output as confluent.py's."""
import re
import sys
import time
import uuid

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

BOOTSTRAP = sys.argv[1]
WANTED = re.compile(sys.argv[2] if len(sys.argv) > 2 else '')
RUN = uuid.uuid4().hex[:8]
CHECKS = []


def check(f):
    CHECKS.append((f.__name__.replace('_', '-'), f))
    return f


def send(topic, count, **config):
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, **config)
    futures = [producer.send(topic, b'v%d' % i, key=b'k', headers=[('h', b'1')]) for i in range(count)]
    offsets = [f.get(30).offset for f in futures]
    producer.close()
    assert offsets == list(range(count)), offsets[:3]


def consume(topic, count, **config):
    consumer = KafkaConsumer(topic, bootstrap_servers=BOOTSTRAP, auto_offset_reset='earliest', consumer_timeout_ms=20000, **config)
    out = []
    for message in consumer:
        out.append(message)
        if len(out) == count:
            break
    assert len(out) == count, f'{len(out)} of {count} records'
    return consumer, out


@check
def produce_gzip_consume_group():
    topic = f'kp-gzip-{RUN}'
    send(topic, 200, compression_type='gzip', acks='all')
    consumer, got = consume(topic, 200, group_id=f'kp-{RUN}', enable_auto_commit=False)
    assert [m.value for m in got] == [b'v%d' % i for i in range(200)] and got[0].headers
    consumer.commit()
    assert consumer.committed(TopicPartition(topic, 0)) == 200
    consumer.close()


@check
def produce_idempotent():
    topic = f'kp-idempotent-{RUN}'
    send(topic, 200, enable_idempotence=True)
    consume(topic, 200)[0].close()


@check
def offsets_by_time():
    topic = f'kp-time-{RUN}'
    send(topic, 10)
    consumer = KafkaConsumer(bootstrap_servers=BOOTSTRAP)
    partition, now = TopicPartition(topic, 0), int(time.time() * 1000)
    assert consumer.beginning_offsets([partition])[partition] == 0
    assert consumer.end_offsets([partition])[partition] == 10
    assert consumer.offsets_for_times({partition: now - 3600000})[partition].offset == 0
    assert consumer.offsets_for_times({partition: now + 3600000})[partition] is None
    consumer.close()


@check
def admin_topics():
    admin, topic = KafkaAdminClient(bootstrap_servers=BOOTSTRAP), f'kp-admin-{RUN}'
    admin.create_topics([NewTopic(topic, 3, 1)])
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    admin.close()


passed = failed = 0
for name, f in CHECKS:
    if not WANTED.search(name):
        continue
    try:
        f()
        passed += 1
        print('ok', name, flush=True)
    except Exception as error:
        failed += 1
        print(f'FAIL {name} {error!r:.200}', flush=True)
print(f'{passed} passed, {failed} failed, 0 skipped')
