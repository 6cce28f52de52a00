import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Copies what a topic holds into another in transactions, one a checkpoint: FlinkCopy BROKER FROM TO. */
public class FlinkCopy {
  public static void main(String[] args) throws Exception {
    var text = new SimpleStringSchema();
    var from = KafkaSource.<String>builder().setBootstrapServers(args[0]).setTopics(args[1]).setGroupId(args[1])
        .setStartingOffsets(OffsetsInitializer.earliest()).setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(text).build();
    var to = KafkaSink.<String>builder().setBootstrapServers(args[0])
        .setRecordSerializer(KafkaRecordSerializationSchema.builder().setTopic(args[2]).setValueSerializationSchema(text).build())
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE).setTransactionalIdPrefix(args[1])
        .setProperty("transaction.timeout.ms", "600000").build();
    var flink = StreamExecutionEnvironment.createLocalEnvironment(1);
    flink.enableCheckpointing(1000);
    flink.fromSource(from, WatermarkStrategy.noWatermarks(), "from").sinkTo(to);
    flink.execute("copy");
    System.exit(0);
  }
}
