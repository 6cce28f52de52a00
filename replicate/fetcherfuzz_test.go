package replicate_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// fetcherModel is what a Fetcher should make of its partitions, and the session of the leader that it asks.
type fetcherModel struct {
	t   *testing.T
	f   *replicate.Fetcher
	now time.Duration
	// states has each partition's state by its index.
	states  map[wire.PartitionIndex]*modelPartition
	session map[wire.PartitionIndex]modelAsk
	open    bool
}

type modelPartition struct {
	ask      modelAsk
	settling bool
	until    time.Duration
}

type modelAsk struct {
	epoch wire.LeaderEpoch
	at    replicate.Position
}

const modelBackoff = 50 * time.Millisecond

func newFetcherModel(t *testing.T) *fetcherModel {
	return &fetcherModel{t: t, f: replicate.NewFetcher(replicate.FetcherConfig{Backoff: modelBackoff}),
		states: make(map[wire.PartitionIndex]*modelPartition), session: make(map[wire.PartitionIndex]modelAsk)}
}

func (m *fetcherModel) add(index wire.PartitionIndex, n byte) {
	ask := modelAsk{wire.LeaderEpoch(n % 3), replicate.Position{Offset: wire.Offset(n / 64), LastEpoch: wire.LeaderEpoch(n % 2)}}
	settled := n%5 > 0
	m.f.Add(replicate.FetchTarget{Ref: index, Index: index, Epoch: ask.epoch, Position: ask.at}, settled)
	m.states[index] = &modelPartition{ask: ask, settling: !settled, until: -1}
}

func (m *fetcherModel) ready(index wire.PartitionIndex, n byte) {
	at := replicate.Position{Offset: wire.Offset(n / 64), LastEpoch: wire.LeaderEpoch(n % 2)}
	m.f.Ready(wire.TopicID{}, index, at, 0)
	if p := m.states[index]; p != nil {
		p.ask.at, p.settling = at, false
	}
}

// next compares the leader's session after the request with what is due.
func (m *fetcherModel) next() {
	due := make(map[wire.PartitionIndex]modelAsk)
	for index, p := range m.states {
		if !p.settling && p.until <= m.now {
			due[index] = p.ask
		}
	}
	out := m.f.Out()
	r := m.f.Next(m.now, math.MaxInt64)
	if (r == nil) != (out || len(due) == 0) {
		m.t.Fatalf("request %v, one out %v, due %v", r != nil, out, due)
	}
	if r == nil {
		return
	}
	if r.SessionEpoch == 0 {
		clear(m.session)
	} else if !m.open {
		m.t.Fatal("a session goes on that the leader does not have")
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			m.session[p.Index] = modelAsk{p.CurrentLeaderEpoch, replicate.Position{Offset: p.FetchOffset, LastEpoch: p.LastFetchedEpoch}}
		}
	}
	for _, t := range r.Forgotten {
		for _, index := range t.Partitions {
			if _, has := m.session[index]; !has {
				m.t.Fatalf("%d is forgotten, which the session does not have", index)
			}
			delete(m.session, index)
		}
	}
	if !maps.Equal(m.session, due) {
		m.t.Fatalf("the session has %v, due is %v", m.session, due)
	}
}

// answer is what the leader says: by kind, nothing, news, records or an error, of the partition index.
func (m *fetcherModel) answer(index wire.PartitionIndex, kind byte) {
	if !m.f.Out() {
		return
	}
	r := wire.FetchResponseView{SessionID: int32(kind % 4)}
	m.open = r.SessionID != 0
	if kind%16 == 15 {
		r.ErrorCode, m.open = wire.FetchSessionIDNotFound, false
	}
	p := wire.FetchPartitionView{FetchPartitionResponse: wire.FetchPartitionResponse{Index: index}}
	switch kind / 16 % 4 {
	case 1:
		p.Records = []byte{0}
	case 2:
		p.ErrorCode = wire.NotLeaderOrFollower
	case 3:
		p.DivergingEpoch.Set = true
	}
	r.Topics = []wire.FetchTopicView{{Partitions: []wire.FetchPartitionView{p}}}
	actions, _ := m.f.Answer(m.now, &r)
	for _, a := range actions {
		s := m.states[a.Ref.(wire.PartitionIndex)]
		if s == nil || s.settling || s.until > m.now || s.ask != (modelAsk{a.Epoch, a.Position}) {
			m.t.Fatalf("an action on what is not asked for: %+v", a)
		}
		switch a.Kind {
		case replicate.FetchRecords, replicate.FetchDiverged:
			s.settling = true
		case replicate.FetchFailed:
			s.until = m.now + modelBackoff
		}
	}
}

// FuzzFetcher holds that the leader's session is what may be asked for, after every request and whatever happens.
func FuzzFetcher(f *testing.F) {
	f.Add([]byte("0a0b0c3d4e0f3g4h1i3j4k2l3m"))
	f.Add([]byte{0, 1, 0, 2, 3, 0, 4, 1, 3, 0, 1, 1, 3, 0, 4, 17, 2, 1, 3, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		m := newFetcherModel(t)
		for ; len(in) >= 2; in = in[2:] {
			index, n := wire.PartitionIndex(in[1]/7%5), in[1]
			switch in[0] % 8 {
			case 0:
				m.add(index, n)
			case 1:
				m.f.Remove(wire.TopicID{}, index)
				delete(m.states, index)
			case 2:
				m.ready(index, n)
			case 3, 4:
				m.next()
			case 5, 6:
				m.answer(index, n)
			case 7:
				if m.now += time.Duration(n) * time.Millisecond / 4; n%8 == 0 {
					m.f.Lost()
					m.open = false
				}
			}
		}
		if m.f.Len() != len(m.states) {
			t.Fatalf("%d partitions, want %d", m.f.Len(), len(m.states))
		}
	})
}
