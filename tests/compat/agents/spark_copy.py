"""Copies what a topic holds into another by structured streaming: spark_copy.py BROKER FROM TO JARS SCRATCH."""
import glob
import sys

from pyspark.sql import SparkSession

broker, source, target, jars, scratch = sys.argv[1:]
jars = [jar for jar in glob.glob(jars + '/*.jar') if 'hadoop-client' not in jar and 'slf4j' not in jar]  # pyspark has its own
spark = (SparkSession.builder.master('local[1]').config('spark.jars', ','.join(jars)).config('spark.ui.enabled', 'false')
         .config('spark.driver.memory', '600m').config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
         .config('spark.sql.shuffle.partitions', '1').getOrCreate())
lines = (spark.readStream.format('kafka').option('kafka.bootstrap.servers', broker).option('subscribe', source)
         .option('startingOffsets', 'earliest').load())
query = (lines.selectExpr('key', 'value').writeStream.format('kafka').option('kafka.bootstrap.servers', broker).option('topic', target)
         .option('checkpointLocation', scratch + '/checkpoint').trigger(availableNow=True).start())
query.awaitTermination(200)
spark.stop()
