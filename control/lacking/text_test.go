package lacking

import (
	"slices"
	"testing"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/wire"
)

// A list is read to the letter: one that is damaged may have named any replica.
func TestReadToTheLetter(t *testing.T) {
	id := wire.TopicID{1}.String()
	for text, sound := range map[string]bool{
		Head:                            true,
		Head + id + " 7\n":              true,
		"":                              false,
		Head + id + " 7":                false,
		Head + id + " 7x\n":             false,
		Head + id + " 7 8\n":            false,
		Head + id + " -7\n":             false,
		Head + id + " +7\n":             false,
		Head + id + "\n":                false,
		Head + "x 7\n":                  false,
		"ringmill lacking replicas 2\n": false,
	} {
		l := NewList(10)
		if l.Read([]byte(text)) != sound || l.Has(replica(7)) != (sound && text != Head) {
			t.Errorf("%q: %v", text, l.named)
		}
	}
}

// What was written is read again, and of a list of none there is no file.
func TestText(t *testing.T) {
	l := NewList(10)
	if text := l.Text(); text != nil {
		t.Errorf("%q", text)
	}
	l.Set(Replica{wire.TopicID{1}, 1000}, 5)
	l.Set(Replica{wire.TopicID{2}, 0}, 6)
	again := NewList(10)
	if !again.Read(l.Text()) {
		t.Errorf("%q is damaged", l.Text())
	}
	want := []controller.LackingReplica{{Topic: wire.TopicID{1}, Partition: 1000, Since: wire.NoLeaderEpoch}, {Topic: wire.TopicID{2}, Since: wire.NoLeaderEpoch}}
	if some, _ := again.Tell(); !slices.Equal(some, want) {
		t.Errorf("%v", some)
	}
	l.Remove(Replica{wire.TopicID{1}, 1000})
	l.Remove(Replica{wire.TopicID{2}, 0})
	if text := l.Text(); text != nil {
		t.Errorf("%q", text)
	}
}
