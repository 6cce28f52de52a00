import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.zip.CRC32;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * An idempotent producer of Apache Kafka's client that sends numbered records until SIGTERM, and writes the history that tools/ringcheck
 * reads: Numbered BOOTSTRAP TOPIC PARTITIONS PROCESS BYTES PACE_MS HISTORY.
 *
 * Records are those of package load: process, counter, CRC-32 of the padding mixed with both, padding. The process's number for a
 * partition is PROCESS + partition.
 */
public final class Numbered {
    private static final int HEADER = 12;

    private final String topic;
    private final int partitions, process, size;
    private final long pace;
    private final BufferedWriter history;
    private volatile boolean stopped;
    private volatile boolean failed;

    private Numbered(String[] args) throws IOException {
        topic = args[1];
        partitions = Integer.parseInt(args[2]);
        process = Integer.parseInt(args[3]);
        size = Integer.parseInt(args[4]);
        pace = Long.parseLong(args[5]);
        history = Files.newBufferedWriter(Path.of(args[6]));
    }

    public static void main(String[] args) throws Exception {
        Numbered numbered = new Numbered(args);
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            numbered.stopped = true;
            try {
                ended.await();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(numbered.failed ? 1 : 0); // a signal's own status would be 143
        }));
        numbered.run(args[0]);
        ended.countDown();
    }

    private void run(String bootstrap) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "enable.idempotence", true, "acks", "all",
            "delivery.timeout.ms", 240_000, "request.timeout.ms", 3000, "reconnect.backoff.max.ms", 500, "metadata.max.age.ms", 1000,
            "buffer.memory", 2_000_000L, "max.block.ms", 240_000L);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int number = 0; !stopped; number++) {
                send(producer, number);
                Thread.sleep(pace);
            }
        } // waits for what is under way
        history.close();
    }

    private void send(KafkaProducer<byte[], byte[]> producer, int number) {
        int partition = number % partitions, counter = number / partitions, sender = process + partition;
        long began = System.nanoTime(); // CLOCK_MONOTONIC
        producer.send(new ProducerRecord<>(topic, partition, null, value(sender, counter)), (metadata, error) -> {
            if (error != null) {
                failed = true;
                System.err.println("record " + sender + "/" + counter + " was given up: " + error);
            }
            note(String.format("{\"op\":\"send\",\"t0\":%d,\"t1\":%d,\"proc\":%d,\"res\":\"%s\",\"topic\":\"%s\",\"part\":%d,\"counter\":%d,"
                + "\"offset\":%d,\"idempotent\":true}%n", began, System.nanoTime(), sender, error == null ? "ok" : "info", topic, partition,
                counter, error == null ? metadata.offset() : 0));
        });
    }

    private void note(String line) {
        try {
            history.write(line);
        } catch (IOException fault) {
            throw new IllegalStateException(fault);
        }
    }

    private byte[] value(int sender, int counter) {
        byte[] value = new byte[size];
        for (int i = HEADER; i < size; i++) value[i] = (byte) (counter + i);
        CRC32 sum = new CRC32();
        sum.update(value, HEADER, size - HEADER);
        ByteBuffer.wrap(value).putInt(sender).putInt(counter).putInt((int) sum.getValue() ^ sender ^ counter);
        return value;
    }
}
