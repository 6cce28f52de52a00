package quorum

import "math/rand/v2"

// Config is what a quorum may be told. Zero fields but Rand get their defaults.
type Config struct {
	// Rand draws election timeouts. It must not be shared with another member whose timeouts must differ.
	Rand *rand.Rand

	// HeartbeatTicks is how many ticks a leader lets pass between heartbeats; 1 by default.
	HeartbeatTicks int
	// ElectionTicks is after how many ticks without a leader a voter seeks election, at the earliest; at the latest after
	// twice as many. A leader that hears from no majority for so long steps down. 10 by default.
	ElectionTicks int
	// SnapshotTicks is after how many ticks a snapshot that was sent counts as lost; 100 by default.
	SnapshotTicks int

	// MessageBytes is about how many bytes of entries a message carries, at least one entry; 1 MiB by default.
	MessageBytes int
	// InflightMessages bounds the messages with entries that a member has not answered; 64 by default.
	InflightMessages int
	// UncommittedBytesMax bounds what waits to be committed (ErrBusy); 32 MiB by default.
	UncommittedBytesMax int
	// ApplyBytes is about how many bytes of entries one Ready gives; 4 MiB by default.
	ApplyBytes int

	// CacheBytes bounds the entries that are kept in memory; older ones are read from disk. 8 MiB by default.
	CacheBytes int64
	// SegmentBytes is when a file of the log gets a successor; 16 MiB by default.
	SegmentBytes int64
	// SnapshotBytes is after how many bytes of entries Effects asks for a snapshot; by default 20 MiB, as Kafka's
	// metadata.log.max.record.bytes.between.snapshots.
	SnapshotBytes int64
	// TrailingEntries is how many entries below a snapshot Compact leaves for members that are a little behind; 1,000 by
	// default, and -1 for none.
	TrailingEntries int

	// NoRoom says that an error of the file system means a full disk: that passes (ErrFull). nil: none does.
	NoRoom func(error) bool
	// Warn gets what is worth an operator's line; nil drops it.
	Warn func(line string)
}

// EntryBytesMax bounds the data of one proposal.
const EntryBytesMax = 8 << 20

func (c Config) withDefaults() Config {
	setDefault(&c.HeartbeatTicks, 1)
	setDefault(&c.ElectionTicks, 10)
	setDefault(&c.SnapshotTicks, 100)
	setDefault(&c.MessageBytes, 1<<20)
	setDefault(&c.InflightMessages, 64)
	setDefault(&c.UncommittedBytesMax, 32<<20)
	setDefault(&c.ApplyBytes, 4<<20)
	setDefault(&c.CacheBytes, 8<<20)
	setDefault(&c.SegmentBytes, 16<<20)
	setDefault(&c.SnapshotBytes, 20<<20)
	setDefault(&c.TrailingEntries, 1000)
	c.TrailingEntries = max(c.TrailingEntries, 0)
	if c.Rand == nil {
		panic("BUG: quorum.Config without Rand")
	}
	return c
}

func setDefault[T int | int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
