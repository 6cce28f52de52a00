// Package wire is ringmill's vocabulary: the words of Kafka's protocol as Go types, the table of API versions, headers, the
// hot codecs (Produce, Fetch, RecordBatch) as views over bytes, CRC-32C and compression.
//
// It holds no state, opens no file and no socket, and knows no policy: what is defined stands here, what is served and
// advertised is the node's. Everything else in the module may import it, so a word that two rooms share lives here and
// nowhere else. Cold messages are github.com/twmb/franz-go/pkg/kmsg's types; kmsg and Apache Kafka's own classes are the
// second and third opinion in this room's tests.
//
// The life of a Produce request's bytes:
//
//	frame in the loop's buffer   | key version correlation client [tags] | acks timeout topics ...................... |
//	ReadRequestHeader            └ RequestHeader ────────────────────────┘ body
//	ProduceRequest.Read                                                    └ Topics ─ Partitions ─ Records ┐ views
//	ReadProduced                                             RecordBatch: lengths, magic, counts, CRC ─────┘ a view
//	segment sets base offset, leader epoch (outside the CRC), append time (new CRC) through the view, and writes the bytes
//
// and of a Fetch response's, whose records never come into memory:
//
//	FetchResponse.AppendTo   dst: | ... partition 0 ... | ... partition 1 ... | ... |
//	                         pieces:          HeaderEnd ┘           HeaderEnd ┘
//	on the wire                   | ... partition 0 ... | records | ... partition 1 ... | records | ... |
//
// Nothing here retains a slice past the value that was given it, so the owner of a buffer decides alone when it is released.
// All of it may be called from any thread; one value is for one goroutine at a time.
//
// Invariants:
//
//	W1 bounded       nothing is allocated by a count or a length that the bytes claim, only by bytes that are there; what one
//	                 request may name is bounded by ElementsMax, what one batch may unfold to by Decompressor.Limit
//	W2 no surprise   no input makes a reader panic or read beyond its end (a fuzz test for each reader)
//	W3 steady        in a steady state the hot calls do not allocate (TestHotPathsDoNotAllocate)
//	W4 both ways     what is appended reads back as what it was, for every version of every message
//	W5 measured      a RecordBatch is as long as its length field says: it comes from ReadRecordBatch, ReadProduced or a builder
//
// Errors: a message that cannot be read is a *DecodeError (ErrMalformed), and its connection is out of step. Bytes that end
// inside a batch are ErrShortBatch, legal at the end of a fetch response or a log; any other bad batch is a *BatchError,
// which knows what a Produce response says about it. An ErrorCode is an outcome and no Go error.
package wire
