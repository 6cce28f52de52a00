package image

import (
	"errors"
	"reflect"
	"testing"
)

func FuzzReadRecord(f *testing.F) {
	for _, r := range []Record{topic("a.b", 1), RemoveTopicRecord{id(1)}, PartitionsRecord{id(1), 2}, ProducerIDsRecord{5},
		ClusterRecord{"c", 1}, config(TopicResource, "a", "k", "\x00<\"\u2028"), noConfig(GroupResource, "g", "k")} {
		f.Add(appendRecord(nil, r))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := readRecord(value)
		if err != nil {
			return
		}
		again, err := readRecord(appendRecord(nil, r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v came back as %+v, error %v", r, again, err)
		}
	})
}

// FuzzReplay looks for logs that panic, and for Images that are not what their own log leads to.
func FuzzReplay(f *testing.F) {
	records := []Record{topic("a.b", 1), config(TopicResource, "a.b", "k", "v"), PartitionsRecord{id(1), 2}, ClusterRecord{"c", 1}}
	f.Add(appendBatch(nil, 0, records))
	f.Add(appendBatch(appendBatch(nil, 7, records[:2]), 9, records[2:]))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := replay("log", data)
		if err != nil {
			var e *CorruptionError
			if !errors.As(err, &e) {
				t.Errorf("error %v", err)
			}
			return
		}
		if live := appendLive(nil, r.image); len(live) > 0 {
			checkReplay(t, live, r.image)
		}
	})
}
