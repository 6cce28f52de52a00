"""Sends lines idempotently and takes them in a group that commits: aiokafka_round.py BROKER TOPIC COUNT."""
import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

broker, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sent = {b'line %d' % i for i in range(1, count + 1)}


async def main():
    async with AIOKafkaProducer(bootstrap_servers=broker, acks='all', enable_idempotence=True, compression_type='gzip') as producer:
        for line in sorted(sent):
            await producer.send(topic, line)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=broker, group_id=topic, auto_offset_reset='earliest', enable_auto_commit=False)
    async with consumer:
        got = []
        while len(got) < count:
            for records in (await asyncio.wait_for(consumer.getmany(timeout_ms=1000), 30)).values():
                got += [record.value for record in records]
        await consumer.commit()
        committed = [await consumer.committed(p) for p in consumer.assignment()]
    assert sorted(got) == sorted(sent), f'{len(got)} lines'
    assert sum(offset or 0 for offset in committed) == count, committed


asyncio.run(main())
