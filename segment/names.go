package segment

import (
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Suffixes of the files in a partition's directory (Kafka's LogFileUtils). A file's name is 20 digits of base offset and a
// suffix; deleted, cleaned and swap come after the others.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"

	deletedSuffix = ".deleted"
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"
)

// offsetDigits is the width of a base offset in a file name: that of the largest int64, so that names sort as numbers.
const offsetDigits = 20

func fileName(dir string, base wire.Offset, suffix string) string {
	var buf [offsetDigits]byte
	digits := strconv.AppendInt(buf[:0], int64(base), 10)
	return dir + "/" + strings.Repeat("0", offsetDigits-len(digits)) + string(digits) + suffix
}

func logName(dir string, base wire.Offset) string { return fileName(dir, base, logSuffix) }

// parseFileName splits "00000000000000000042.index.swap" into 42 and ".index.swap"; ok is false for any other shape.
func parseFileName(name string) (base wire.Offset, suffix string, ok bool) {
	if len(name) <= offsetDigits || name[offsetDigits] != '.' {
		return 0, "", false
	}
	for _, c := range []byte(name[:offsetDigits]) {
		if c < '0' || c > '9' {
			return 0, "", false
		}
	}
	n, err := strconv.ParseInt(name[:offsetDigits], 10, 64)
	return wire.Offset(n), name[offsetDigits:], err == nil
}
