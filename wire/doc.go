// Package wire is ringmill's vocabulary: the words of Kafka's protocol as Go types, frames, the table of API
// versions, the hot codecs (Produce, Fetch, RecordBatch) as views over bytes, CRC32C and compression.
//
// It holds no state, opens no file and no socket. Everything else in the module may import it, so a word that two
// rooms share lives here and nowhere else.
//
// The life of a request's bytes: a frame arrives in a buffer that the loop owns; ReadRequestHeader splits it into a
// RequestHeader and a body; ReadProduceRequest or ReadFetchRequest lay a view over the body without copying; a
// RecordBatch is a view over the same bytes again. Nothing here retains a slice past the call that was given it,
// so the owner of the buffer decides alone when it is released.
//
// Cold messages are github.com/twmb/franz-go/pkg/kmsg's types; kmsg is also the second opinion in this room's tests.
package wire
