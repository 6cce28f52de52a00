package lacking

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Head is the first line of the file that has the list, a line a replica behind it: its topic's id and its number.
const Head = "ringmill lacking replicas 1\n"

// appendTo is the replica's line.
func (r Replica) appendTo(dst []byte) []byte {
	return fmt.Appendf(dst, "%s %d\n", r.Topic, r.Partition)
}

// readReplica reads what appendTo wrote, to the letter.
func readReplica(line string) (r Replica, ok bool) {
	id, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	topic, _ := wire.ParseUUID(id)
	index, _ := strconv.ParseInt(number, 10, 32)
	r = Replica{topic, wire.PartitionIndex(index)}
	return r, index >= 0 && string(r.appendTo(nil)) == line
}

// Text is what the file that has the list is to say; nil if it is to be removed.
func (l *List) Text() []byte {
	var text []byte
	for _, e := range l.order {
		if e.removed {
			continue
		}
		if text == nil {
			text = []byte(Head)
		}
		text = e.appendTo(text)
	}
	return text
}

// Read adds the replicas that a file names. sound is false if the file is damaged: it may have named any.
func (l *List) Read(text []byte) (sound bool) {
	lines, sound := strings.CutPrefix(string(text), Head)
	for line := range strings.Lines(lines) {
		r, ok := readReplica(line)
		if ok {
			l.Set(r, wire.NoLeaderEpoch)
		}
		sound = sound && ok
	}
	return sound
}
