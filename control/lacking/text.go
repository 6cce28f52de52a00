package lacking

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Texts are the contents of the node's two files; nil where there is none. The first line says what it is, a line a replica behind it has its
// topic's id and its number.
type Texts struct {
	List []byte
	// Begun are those of the list that were begun anew. It is written before List, so that it never has one which would be taken for begun anew
	// when it comes to the list another time. Releases that do not know the file take these replicas for damaged.
	Begun []byte
}

const (
	listHead  = "ringmill lacking replicas 1\n"
	begunHead = "ringmill replicas begun anew 1\n"
)

// ErrBegun is of a damaged Texts.Begun: replicas that are empty could be counted on.
var ErrBegun = errors.New("the list of replicas that were begun anew is damaged")

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

// Texts are what the files are to say.
func (l *List) Texts() (t Texts) {
	for _, e := range l.order {
		if e.removed {
			continue
		}
		t.List = e.appendLine(t.List, listHead)
		if e.begun {
			t.Begun = e.appendLine(t.Begun, begunHead)
		}
	}
	return t
}

func (r Replica) appendLine(text []byte, head string) []byte {
	if text == nil {
		text = []byte(head)
	}
	return r.appendTo(text)
}

// read gives the replicas that a file names. sound is false if the file is damaged: it may have named any.
func read(text []byte, head string) (named map[Replica]bool, sound bool) {
	named = make(map[Replica]bool)
	if text == nil {
		return named, true
	}
	lines, sound := strings.CutPrefix(string(text), head)
	for line := range strings.Lines(lines) {
		r, ok := readReplica(line)
		if ok {
			named[r] = true
		}
		sound = sound && ok
	}
	return named, sound
}

// Load adds what an earlier run has found, of the replicas that the node has now. known says whether the high watermark of one is known: then its
// log has been fetched or led since it was begun anew, or is on a disk that is back. (Whether it is empty says nothing: a journal may have given it the
// first of its records again.) sound is false if the list is damaged: any replica was taken to be on it. The error is ErrBegun.
func (l *List) Load(t Texts, held []Replica, known func(Replica) bool) (sound bool, err error) {
	named, sound := read(t.List, listHead)
	begun, ok := read(t.Begun, begunHead)
	if !ok {
		return sound, ErrBegun
	}
	for _, r := range held {
		switch {
		case sound && !named[r]:
		case begun[r] && !known(r):
			l.BeginAnew(r)
		default:
			l.Set(r, wire.NoLeaderEpoch)
		}
	}
	return sound, nil
}
