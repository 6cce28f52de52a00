"""An idempotent producer of librdkafka that sends numbered records until SIGTERM, and writes the history that tools/ringcheck reads.

numbered.py BOOTSTRAP TOPIC PARTITIONS PROCESS BYTES PACE_MS HISTORY

Records are those of package load: process, counter, CRC-32 of the padding mixed with both, padding. The process's number for a partition is
PROCESS + partition.
"""
import json
import signal
import struct
import sys
import time
import zlib

from confluent_kafka import Producer

HEADER = 12


def value(process, counter, size):
    padding = bytes((counter + i) & 0xFF for i in range(HEADER, size))
    return struct.pack(">III", process, counter, zlib.crc32(padding) ^ process ^ counter) + padding


class Numbered:
    def __init__(self, bootstrap, topic, partitions, process, size, pace, history):
        self.topic, self.partitions, self.process, self.size, self.pace = topic, int(partitions), int(process), int(size), int(pace) / 1000
        self.history = open(history, "w", buffering=1)  # a line at a time
        self.stopped, self.failed = False, False
        self.producer = Producer({
            "bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "message.timeout.ms": 240_000,
            "request.timeout.ms": 3000, "socket.timeout.ms": 6000, "reconnect.backoff.max.ms": 500, "queue.buffering.max.messages": 500,
            "topic.metadata.refresh.interval.ms": 1000,
        })

    def send(self, number):
        partition, counter = number % self.partitions, number // self.partitions
        event = {"op": "send", "t0": time.monotonic_ns(), "proc": self.process + partition, "topic": self.topic, "part": partition,
                 "counter": counter, "idempotent": True}

        def done(err, message):
            event["t1"] = time.monotonic_ns()
            if err is None:
                event["res"], event["offset"] = "ok", -1 if message.offset() is None else message.offset()  # see ringcheck, I1
            else:
                event["res"], self.failed = "info", True
                print(f"record {event['proc']}/{counter} was given up: {err}", file=sys.stderr, flush=True)
            self.history.write(json.dumps(event) + "\n")

        while True:
            try:
                self.producer.produce(self.topic, value(event["proc"], counter, self.size), partition=partition, on_delivery=done)
                return
            except BufferError:  # as many as it may have are under way
                self.producer.poll(0.1)

    def run(self):
        number = 0
        while not self.stopped:
            self.send(number)
            number += 1
            self.producer.poll(self.pace)
        left = self.producer.flush(240)
        self.history.close()
        return 1 if left or self.failed else 0


def main():
    numbered = Numbered(*sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: setattr(numbered, "stopped", True))
    sys.exit(numbered.run())


main()
