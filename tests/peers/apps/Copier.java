import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies each partition of a topic into that of another, exactly once, until SIGTERM, as the documentation of KafkaProducer has it: the
 * offsets of what was read are committed by the transaction that writes it. PROTOCOL is the group's, classic or consumer.
 *
 * <pre>Copier BOOTSTRAP FROM TO GROUP TRANSACTIONAL-ID PROTOCOL</pre>
 */
public final class Copier {
    private static volatile boolean stopped;

    private final String from, to;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;

    private Copier(String[] args) {
        from = args[1];
        to = args[2];
        Map<String, Object> reads = new HashMap<>(Map.of("bootstrap.servers", args[0], "group.id", args[3], "group.protocol", args[5],
            "enable.auto.commit", false, "auto.offset.reset", "earliest", "isolation.level", "read_committed", "max.poll.records", 100));
        if (args[5].equals("classic")) reads.putAll(Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 1000));
        consumer = new KafkaConsumer<>(reads, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        producer = new KafkaProducer<>(Map.of("bootstrap.servers", args[0], "transactional.id", args[4], "delivery.timeout.ms", 240_000,
            "max.block.ms", 240_000), new ByteArraySerializer(), new ByteArraySerializer());
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopped = true;
            try {
                ended.await();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }));
        while (!stopped) new Copier(args).run(); // a producer that cannot go on is replaced
        ended.countDown();
    }

    private void run() {
        try (consumer; producer) {
            producer.initTransactions();
            consumer.subscribe(List.of(from));
            while (!stopped) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                if (!records.isEmpty()) copy(records);
            }
        } catch (KafkaException fatal) {
            System.err.println("begins again: " + fatal);
        }
    }

    private void copy(ConsumerRecords<byte[], byte[]> records) {
        try {
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> r : records) producer.send(new ProducerRecord<>(to, r.partition(), r.key(), r.value()));
            producer.sendOffsetsToTransaction(records.nextOffsets(), consumer.groupMetadata());
            producer.commitTransaction();
        } catch (KafkaException failed) {
            System.err.println("takes back " + records.count() + " records: " + failed);
            producer.abortTransaction(); // throws what is fatal
            goBack();
        }
    }

    /** Has the records that were taken back read again. */
    private void goBack() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata next = committed.get(partition);
            if (next == null) consumer.seekToBeginning(List.of(partition));
            else consumer.seek(partition, next);
        }
    }
}
