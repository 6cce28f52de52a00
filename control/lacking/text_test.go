package lacking

import (
	"errors"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/wire"
)

func unknown(Replica) bool { return false }

// A list is read to the letter: one that is damaged may have named any replica.
func TestReadToTheLetter(t *testing.T) {
	id := replica(7).Topic.String()
	held := []Replica{replica(7), replica(8)}
	for text, want := range map[string][]Replica{
		listHead:                        nil,
		listHead + id + " 7\n":          {replica(7)},
		listHead + id + " 9\n":          nil,
		"":                              held,
		listHead + id + " 7":            held,
		listHead + id + " 7x\n":         held,
		listHead + id + " 7 8\n":        held,
		listHead + id + " -7\n":         held,
		listHead + id + " +7\n":         held,
		listHead + id + "\n":            held,
		listHead + "x 7\n":              held,
		"ringmill lacking replicas 2\n": held,
	} {
		l := NewList(10)
		sound, err := l.Load(Texts{List: []byte(text)}, held, unknown)
		if damaged := len(want) == 2; sound == damaged || err != nil || l.Len() != len(want) || len(want) == 1 && !l.Has(want[0]) {
			t.Errorf("%q: sound %v, %v, %d on the list", text, sound, err, l.Len())
		}
	}
	for _, text := range []string{"", listHead, begunHead + id + " 7", begunHead + id + " 7 8\n"} {
		if _, err := NewList(10).Load(Texts{Begun: []byte(text)}, held, unknown); !errors.Is(err, ErrBegun) {
			t.Errorf("%q of those begun anew: %v", text, err)
		}
	}
}

// What was written is taken up again: a replica whose log was begun anew is that as long as its high watermark is not known.
func TestTexts(t *testing.T) {
	l := NewList(10)
	if texts := l.Texts(); texts.List != nil || texts.Begun != nil {
		t.Errorf("of none: %q", texts)
	}
	l.Set(replica(0), 5)
	l.BeginAnew(replica(1))
	l.BeginAnew(replica(2))
	l.BeginAnew(replica(3))
	texts := l.Texts()
	id := replica(0).Topic.String() + " "
	if string(texts.Begun) != begunHead+id+"1\n"+id+"2\n"+id+"3\n" {
		t.Errorf("%q", texts.Begun)
	}
	again := NewList(10)
	sound, err := again.Load(texts, []Replica{replica(0), replica(1), replica(2)}, func(r Replica) bool { return r == replica(2) })
	if !sound || err != nil {
		t.Errorf("%q: %v, %v", texts, sound, err)
	}
	since := wire.NoLeaderEpoch
	want := []controller.LackingReplica{{Topic: wire.TopicID{1}, Partition: 0, Since: since}, {Topic: wire.TopicID{1}, Partition: 1, Since: since, Gone: true}, {Topic: wire.TopicID{1}, Partition: 2, Since: since}}
	if some, _ := again.Tell(); !slices.Equal(some, want) {
		t.Errorf("%v", some)
	}
	// what is not on the list was not begun anew, whatever an earlier list said
	stale := NewList(10)
	if _, err := stale.Load(Texts{List: NewList(0).Texts().List, Begun: texts.Begun}, []Replica{replica(1)}, unknown); err != nil || stale.Len() != 0 {
		t.Errorf("%v, %d on the list", err, stale.Len())
	}
}

// Whatever the files say, what is taken up of them is written as it is read again.
func FuzzTexts(f *testing.F) {
	l := NewList(10)
	l.Set(replica(0), 5)
	l.BeginAnew(replica(1))
	f.Add(l.Texts().List, l.Texts().Begun)
	f.Add([]byte(listHead), []byte(begunHead+replica(1).Topic.String()+" 1"))
	held := []Replica{replica(0), replica(1), replica(2)}
	f.Fuzz(func(t *testing.T, list, begun []byte) {
		first, second := NewList(10), NewList(10)
		if _, err := first.Load(Texts{list, begun}, held, unknown); err != nil {
			return
		}
		sound, err := second.Load(first.Texts(), held, unknown)
		told, _ := first.Tell()
		again, _ := second.Tell()
		if !sound || err != nil || !slices.Equal(told, again) {
			t.Errorf("%v, then sound %v, %v, %v", told, sound, err, again)
		}
	})
}
