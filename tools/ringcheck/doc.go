// Command ringcheck judges what clients saw of a node: it reads histories of sends and polls and says whether any record
// that was acknowledged is missing, twice, out of order or changed.
//
//	ringcheck [-txn] [-o text|json] [-min-acked N] HISTORY...
//
// A history is JSON Lines, one file a client process, times in nanoseconds of one monotonic clock:
//
//	{"op":"send","t0":10,"t1":20,"proc":1,"res":"ok","topic":"t","part":0,"counter":7,"offset":42,"idempotent":true}
//	{"op":"send","t0":10,"t1":20,"proc":1,"res":"fail","topic":"t","part":0,"counter":8}
//	{"op":"send","t0":10,"t1":20,"proc":1,"res":"info","topic":"t","part":0,"counter":9}
//	{"op":"poll","t0":30,"t1":40,"proc":2,"res":"ok","topic":"t","part":0,"from":0,"recs":[[42,1,7]]}
//	{"op":"final","t1":90,"topic":"t","part":0,"start":0,"end":43,"recs":[[42,1,7]]}
//
// A record's value is {process, counter}: who sent it, and that sender's number for it, which only grows for one partition. An
// offset, a process and a counter make one entry of recs. "info" is a send whose outcome is unknown and is
// never counted as failed. The lines "final" of a partition, after all faults are over, are what is really in its log from
// offset start to end; there may be several with consecutive ranges.
//
// # Invariants
//
//	I1  no acknowledged record is lost: each ok send is in the final log, at its offset. The offset -1 is that of a client that was
//	    not told: librdkafka takes what was answered to a later batch for what it has no answer to; such a record is anywhere
//	I2  no record of an idempotent producer is there twice
//	I3  no record is there whose send definitely failed
//	I4  order: the counters of one idempotent sender grow with the offsets of its partition
//	I5  one offset holds one record, over all polls and the final log
//	I6  real time: a send that began after another one was acknowledged gets the higher offset; a poll that began after a
//	    record was acknowledged, and covers its offset, returns it
//	G   no gap: the final log has a record at every offset from start to end (these histories have no transactions
//	    and no compaction, so each offset is a record)
//
// # Clusters
//
// Histories of several nodes have these lines too:
//
//	{"op":"leader","t1":50,"topic":"t","part":0,"epoch":3,"node":2}                            some node's metadata: who leads in an epoch
//	{"op":"mark","t0":50,"t1":51,"topic":"t","part":0,"epoch":3,"node":2,"high":43}            a leader's answer in an epoch: records below are safe
//	{"op":"replica","topic":"t","part":0,"node":2,"end":43,"sum":"5f1e"}                       in the end: a checksum of all batches that its files have
//	{"op":"fault","t0":20,"t1":30,"kind":"kill -9 of the leader","bit":true}                   what was done; bit: whether that changed anything
//	{"op":"admin","t0":5,"t1":9,"proc":7,"kind":"create","key":"u","value":"3","res":"ok"}     an operation on a topic's metadata
//
// Operations are create (value: partitions), delete, grow (value: partitions), alter (value: one property's new value) and read (value: what
// was found, "absent" or "partitions/property"). Outcomes are ok, exists, absent, refused, and info where there was no answer.
//
//	I7   published high watermarks never go back: no leader answers with less than one of its epoch or of an older one had
//	     answered before it was asked; and nothing that was published is missing in the final log. (A leader that does not know yet
//	     that it is none may answer with what was true in its epoch: I8 and I1 say that it acknowledges nothing.)
//	I8   one leader an epoch: all metadata agree, and nobody else answers in it
//	I12  in the end all replicas have the same bytes, up to the end of the log
//	I13  operations on a topic are linearizable (porcupine): there is one order of them in which all have the outcomes that they
//	     had, and each lies between its begin and its end. One that was refused may have had its effect within that time and
//	     have been repeated between nodes, as in Apache Kafka
//
// A fault that did not bite leaves nothing to judge: exit status 2.
//
// # Transactions
//
// With -txn the histories are of transactional producers, loops and readers with isolation read_committed. A process writes each
// line before it does what the line says, or once it was told: one that is killed leaves what it asked for. A process that is
// started again has another number, and the transactional id that it had.
//
//	{"op":"init","t0":1,"t1":2,"proc":1,"id":"a"}                        an answered InitProducerId
//	{"op":"begin","t0":3,"proc":1,"txn":0,"topic":"t","recs":[[0,7]]}    it is going to send counter 7 to partition 0
//	{"op":"begin","t0":3,"proc":2,"txn":0,"topic":"u","from":"t","group":"g","recs":[[0,8,0,42]]}   made from offset 42 of t-0
//	{"op":"end","t0":4,"proc":1,"txn":0,"commit":true,"recs":[[7,42]]}   about to ask; counter 7 was acknowledged at offset 42
//	{"op":"ended","t1":5,"proc":1,"txn":0,"res":"ok"}                    or "fail", definitely not; or "info", unknown
//	{"op":"read","proc":3,"topic":"t","part":0,"stable":44,"high":44,"recs":[[42,1,7]]}
//	{"op":"committed","group":"g","topic":"t","part":0,"offset":43}      the group's offset, asked for over time
//	{"op":"final","topic":"t","part":0,"stable":44,"end":44,"recs":[[42,1,7]]}
//
// A transaction whose commit was never asked for is aborted: by its process, or by the coordinator after its timeout. A reader begins
// at the start of the log.
//
//	T1   each record of a committed transaction is in the final log, in all partitions, at the offset that was acknowledged
//	T2   no record of an aborted transaction is in the final log or was ever seen by a reader
//	T3   a transaction whose outcome is unknown is there as a whole or not at all
//	T4   no record is there twice
//	T5   the counters of one process grow with the offsets of a partition
//	T6   what a reader saw of a partition is a gapless beginning of its final log
//	T7   no reader's offset or last stable offset goes back; a record lies below the last stable offset, that not over the
//	     high watermark
//	T8   a transaction that began after another process had taken the transactional id over is not committed
//	T9   no record is there that nobody sent, or in another partition than it was sent to
//	T10  every transaction is decided in the end: the last stable offset is the end
//	L1   a group's committed offset agrees with what it made: something from each offset below, nothing from above
//	L2   a group's committed offset never goes back
//	L3   nothing is made twice from one offset, or from an offset that has no committed record
//	L4   what is made from one partition keeps its order
//
// Exit status: 0 all hold, 1 a violation, with its shortest witness, 2 no judgement: unreadable histories, too few
// acknowledged records to mean anything, or a fault that did not bite.
//
// # Memory
//
// A partition is judged alone. A send is 40 bytes and a record that was read 16, in one flat array each; presence and
// duplicates are bitmaps by (process, counter). Nothing has an object or a map entry of its own: a million sends with
// their final log take 100 MB and 3 s.
package main
