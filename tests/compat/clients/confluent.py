"""confluent-kafka (librdkafka) against a node: confluent.py BOOTSTRAP [NAME-REGEXP].

Each check prints "ok NAME" or "FAIL NAME reason"; the last line counts them. Every topic has the run's own suffix.
"""
import re
import sys
import time
import uuid

from confluent_kafka import OFFSET_BEGINNING, Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   OffsetSpec, ResourceType)

BOOTSTRAP = sys.argv[1]
WANTED = re.compile(sys.argv[2] if len(sys.argv) > 2 else '')
RUN = uuid.uuid4().hex[:8]
ADMIN = AdminClient({'bootstrap.servers': BOOTSTRAP})
CHECKS = []


def check(name):
    def add(f):
        CHECKS.append((name, f))
        return f
    return add


def client(**config):
    return {'bootstrap.servers': BOOTSTRAP, **{k.replace('_', '.'): v for k, v in config.items()}}


def eventually(what, ok, patience=30):
    end = time.time() + patience
    while not ok():
        assert time.time() < end, what
        time.sleep(0.05)


def create(name, partitions=1, **config):
    topic = f'{name}-{RUN}'
    new = NewTopic(topic, partitions, 1, config={k.replace('_', '.'): v for k, v in config.items()})
    ADMIN.create_topics([new])[topic].result(20)

    def led():
        meta = ADMIN.list_topics(topic, timeout=10).topics[topic]
        return not meta.error and len(meta.partitions) == partitions and all(p.leader >= 0 for p in meta.partitions.values())
    eventually(f'{topic} has leaders', led)
    return topic


def produce(topic, count, partition=0, **config):
    failed = []
    producer = Producer(client(linger_ms=5, **config))
    for i in range(count):
        producer.produce(topic, b'v%d' % i, partition=partition, headers=[('h', b'%d' % i)],
                         on_delivery=lambda error, _: error and failed.append(error))
    assert producer.flush(40) == 0 and not failed, failed[:1]


def read(topic, count, partitions=(0,), patience=30, **config):
    consumer = Consumer(client(group_id=f'read-{uuid.uuid4().hex[:6]}', enable_auto_commit=False, **config))
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    out, end = [], time.time() + patience
    while len(out) < count and time.time() < end:
        for message in consumer.consume(500, 0.5):
            assert not message.error(), message.error()
            out.append(message)
    consumer.close()
    assert len(out) >= count, f'{len(out)} of {count} records'
    return out


def values(messages):
    return [m.value() for m in messages]


def idempotent_codec(codec):
    topic = create(f'codec-{codec}')
    produce(topic, 3000, compression_type=codec, enable_idempotence=True, acks='all')
    got = read(topic, 3000)
    assert values(got) == [b'v%d' % i for i in range(3000)]
    assert [m.offset() for m in got] == list(range(3000))
    assert got[7].headers() == [('h', b'7')]


for _codec in ('none', 'gzip', 'snappy', 'lz4', 'zstd'):
    check(f'idempotent-{_codec}')(lambda codec=_codec: idempotent_codec(codec))


@check('acks-0-1-all')
def acks():
    topic = create('acks')
    for level in ('0', '1', 'all'):
        produce(topic, 100, acks=level)
    read(topic, 300)


def group(protocol):
    topic, name = create(f'group-{protocol}', 6), f'group-{protocol}-{RUN}'
    for partition in range(6):
        produce(topic, 200, partition)
    config = client(group_id=name, auto_offset_reset='earliest', enable_auto_commit=False, group_protocol=protocol)
    if protocol == 'classic':
        config.update({'session.timeout.ms': 30000, 'partition.assignment.strategy': 'cooperative-sticky'})
    members = [Consumer(config) for _ in range(2)]
    for member in members:
        member.subscribe([topic])
    seen, end = set(), time.time() + 60
    while time.time() < end and (len(seen) < 1200 or not all(m.assignment() for m in members)):
        for member in members:
            for message in member.consume(200, 0.2):
                assert not message.error(), message.error()
                seen.add((message.partition(), message.offset()))
                member.commit(message, asynchronous=True)
    assert len(seen) == 1200, len(seen)
    assert sum(len(m.assignment()) for m in members) == 6 and all(m.assignment() for m in members)
    for member in members:
        member.commit(offsets=[TopicPartition(topic, p.partition, 200) for p in member.assignment()], asynchronous=False)
    described = ADMIN.describe_consumer_groups([name])[name].result(20)
    assert len(described.members) == 2, described.state
    for member in members:
        member.close()
    committed = list(ADMIN.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)]).values())[0].result(20)
    assert {p.offset for p in committed.topic_partitions} == {200}
    moved = ConsumerGroupTopicPartitions(name, [TopicPartition(topic, 0, 5)])
    ADMIN.alter_consumer_group_offsets([moved])[name].result(20)
    ADMIN.delete_consumer_groups([name])[name].result(20)


check('group-classic-cooperative')(lambda: group('classic'))
check('group-848')(lambda: group('consumer'))


@check('txn-commit-abort')
def transactions():
    topic = create('txn')
    producer = Producer(client(transactional_id=f'txn-{RUN}'))
    producer.init_transactions(30)
    for turn in range(6):
        producer.begin_transaction()
        for _ in range(10):
            producer.produce(topic, b'%d' % turn, partition=0)
        producer.flush(20)
        (producer.abort_transaction if turn % 2 else producer.commit_transaction)(30)
    committed = read(topic, 30, isolation_level='read_committed')
    assert values(committed) == [b'%d' % turn for turn in (0, 2, 4) for _ in range(10)]
    read(topic, 60, isolation_level='read_uncommitted')


@check('txn-fencing')
def fencing():
    topic, config = create('fence'), client(transactional_id=f'fence-{RUN}')
    old = Producer(config)
    old.init_transactions(30)
    old.begin_transaction()
    old.produce(topic, b'a', partition=0)
    old.flush(20)
    Producer(config).init_transactions(30)
    try:
        old.commit_transaction(30)
    except KafkaException as error:
        assert error.args[0].code() in (-144, 90, 47), error
        return
    raise AssertionError('not fenced')


@check('eos-consume-produce')
def exactly_once():
    source, target, name = create('eos-in'), create('eos-out'), f'eos-{RUN}'
    produce(source, 500)
    consumer = Consumer(client(group_id=name, auto_offset_reset='earliest', enable_auto_commit=False, isolation_level='read_committed'))
    consumer.subscribe([source])
    producer = Producer(client(transactional_id=f'eos-{RUN}'))
    producer.init_transactions(30)
    done, turn, end = 0, 0, time.time() + 60
    while done < 500 and time.time() < end:
        batch = [m for m in consumer.consume(100, 1.0) if not m.error()]
        if not batch:
            continue
        turn += 1
        producer.begin_transaction()
        for message in batch:
            producer.produce(target, message.value(), partition=0)
        offsets = [TopicPartition(source, 0, batch[-1].offset() + 1)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        if turn == 2:
            producer.abort_transaction(30)
            consumer.seek(TopicPartition(source, 0, batch[0].offset()))
        else:
            producer.commit_transaction(30)
            done += len(batch)
    assert consumer.committed([TopicPartition(source, 0)], 20)[0].offset == 500
    consumer.close()
    assert values(read(target, 500, isolation_level='read_committed')) == [b'v%d' % i for i in range(500)]


def offset_of(topic, spec):
    return list(ADMIN.list_offsets({TopicPartition(topic, 0): spec}).values())[0].result(20).offset


@check('list-offsets')
def list_offsets():
    topic, now = create('offsets'), int(time.time() * 1000)
    produce(topic, 100)
    assert offset_of(topic, OffsetSpec.earliest()) == 0
    assert offset_of(topic, OffsetSpec.latest()) == 100
    assert offset_of(topic, OffsetSpec.for_timestamp(now - 3600000)) == 0
    assert offset_of(topic, OffsetSpec.for_timestamp(now + 3600000)) == -1
    assert offset_of(topic, OffsetSpec.max_timestamp()) >= 0


@check('delete-records')
def delete_records():
    topic = create('delete-records')
    produce(topic, 100)
    ADMIN.delete_records([TopicPartition(topic, 0, 40)])[TopicPartition(topic, 0)].result(20)
    assert offset_of(topic, OffsetSpec.earliest()) == 40
    assert read(topic, 60)[0].offset() == 40


@check('configs-max-message')
def configs():
    topic = create('configs', max_message_bytes='20000')
    change = ConfigEntry('retention.ms', '123456', incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    ADMIN.incremental_alter_configs([resource])[resource].result(20)
    plain = ConfigResource(ResourceType.TOPIC, topic)

    def altered():
        found = ADMIN.describe_configs([plain])[plain].result(20)
        return found['retention.ms'].value == '123456' and found['max.message.bytes'].value == '20000'
    eventually('the altered value is described', altered)
    errors, producer = [], Producer(client())
    producer.produce(topic, b'x' * 50000, partition=0, on_delivery=lambda error, _: errors.append(error))
    producer.flush(20)
    assert errors[0].code() == 10, errors


@check('partitions-exists-delete')
def partitions():
    topic = create('partitions', 2)
    ADMIN.create_partitions([NewPartitions(topic, 4)])[topic].result(20)
    eventually('four partitions', lambda: len(ADMIN.list_topics(topic, timeout=10).topics[topic].partitions) == 4)
    try:
        ADMIN.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
    except KafkaException as error:
        assert error.args[0].code() == 36, error
    else:
        raise AssertionError('created twice')
    ADMIN.delete_topics([topic])[topic].result(20)


@check('cluster-describe')
def cluster():
    described = ADMIN.describe_cluster().result(20)
    assert described.cluster_id and len(described.nodes) >= 1
    assert ADMIN.list_consumer_groups().result(20) is not None


@check('log-append-time')
def log_append_time():
    topic = create('append-time', message_timestamp_type='LogAppendTime')
    producer = Producer(client())
    producer.produce(topic, b'x', partition=0, timestamp=1000)
    producer.flush(20)
    kind, at = read(topic, 1)[0].timestamp()
    assert kind == 2 and abs(at - time.time() * 1000) < 60000


@check('fifty-partitions')
def fifty():
    topic = create('fifty', 50)
    producer = Producer(client(linger_ms=10))
    for i in range(20000):
        producer.produce(topic, b'x' * 100, partition=i % 50)
    assert producer.flush(40) == 0
    read(topic, 20000, range(50), 60)


def main():
    passed = failed = 0
    for name, f in CHECKS:
        if not WANTED.search(name):
            continue
        start = time.time()
        try:
            f()
            passed += 1
            print(f'ok {name} {time.time() - start:.1f} s', flush=True)
        except Exception as error:
            failed += 1
            print(f'FAIL {name} {time.time() - start:.1f} s {error!r:.200}', flush=True)
    mine = [t for t in ADMIN.list_topics(timeout=10).topics if t.endswith(RUN)]
    for deletion in (ADMIN.delete_topics(mine) if mine else {}).values():
        try:
            deletion.result(20)
        except KafkaException:
            pass  # a check that failed half-way may have deleted it
    print(f'{passed} passed, {failed} failed, 0 skipped')


main()
