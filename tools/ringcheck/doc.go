// Command ringcheck judges what clients saw of a node: it reads histories of sends and polls and says whether any record
// that was acknowledged is missing, twice, out of order or changed.
//
//	ringcheck [-o text|json] [-min-acked N] HISTORY...
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
//	I1  no acknowledged record is lost: each ok send is in the final log, at its offset
//	I2  no record of an idempotent producer is there twice
//	I3  no record is there whose send definitely failed
//	I4  order: the counters of one idempotent sender grow with the offsets of its partition
//	I5  one offset holds one record, over all polls and the final log
//	I6  real time: a send that began after another one was acknowledged gets the higher offset; a poll that began after a
//	    record was acknowledged, and covers its offset, returns it
//	G   no gap: the final log has a record at every offset from start to end (these histories have no transactions
//	    and no compaction, so each offset is a record)
//
// Exit status: 0 all hold, 1 a violation, with its shortest witness, 2 no judgement: unreadable histories, or too few
// acknowledged records to mean anything.
//
// # Memory
//
// A partition is judged alone. A send is 40 bytes and a record that was read 16, in one flat array each; presence and
// duplicates are bitmaps by (process, counter). Nothing has an object or a map entry of its own: a million sends with
// their final log take 100 MB and 3 s.
package main
