package member

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func sample() *Proposal {
	return &Proposal{Attempt: 7, ClusterID: "cluster", Initial: []byte("x"), Voters: []Voter{
		{NodeID: 1, DirectoryID: wire.UUID{1}, Addr: "a:1"}, {NodeID: 2, DirectoryID: wire.UUID{2}, Addr: "b:2"},
	}}
}

func TestStateIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []state{
		{self: sample().Voters[0]},
		{self: sample().Voters[0], attempts: 7, phase: promised, proposal: sample()},
		{self: sample().Voters[1], attempts: 1, phase: committed, proposal: sample()},
	} {
		got, err := readState(want.appendTo(nil))
		if err != nil || got.self != want.self || got.attempts != want.attempts || got.phase != want.phase ||
			(got.proposal == nil) != (want.proposal == nil) || got.proposal != nil && !got.proposal.equal(want.proposal) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

// A state that is damaged anywhere is refused: a promise that is forgotten could be given twice.
func TestDamagedStateIsRefused(t *testing.T) {
	s := state{self: sample().Voters[0], attempts: 7, phase: promised, proposal: sample()}
	good := s.appendTo(nil)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, err := readState(bad); !errors.Is(err, ErrState) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if _, err := readState(good[:i]); !errors.Is(err, ErrState) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

func TestStateOfAnotherIsRefused(t *testing.T) {
	s := state{self: sample().Voters[0]}
	saved := s.appendTo(nil)
	for _, self := range []Voter{{NodeID: 2, Addr: "a:1"}, {NodeID: 1, DirectoryID: wire.UUID{9}, Addr: "a:1"}} {
		cfg := BootstrapConfig{Self: self, Expect: 3, Rand: rand.New(rand.NewPCG(1, 1))}
		if _, _, err := OpenBootstrap(0, cfg, saved); !errors.Is(err, ErrState) {
			t.Errorf("%+v: %v", self, err)
		}
	}
}

// The directory id is drawn once.
func TestDirectoryIDIsKept(t *testing.T) {
	cfg := BootstrapConfig{Self: Voter{NodeID: 1, Addr: "a:1"}, Expect: 3, Rand: rand.New(rand.NewPCG(1, 1))}
	b, eff, err := OpenBootstrap(0, cfg, nil)
	if err != nil || eff.Save == nil || b.Self().DirectoryID.IsZero() {
		t.Fatalf("%+v, %+v, %v", b.Self(), eff, err)
	}
	again, later, err := OpenBootstrap(0, cfg, eff.Save)
	if err != nil || later.Save != nil || again.Self() != b.Self() {
		t.Errorf("%+v, %+v, %v", again.Self(), later, err)
	}
}

// A promise of a node that then came to a cluster on another way is given up for good.
func TestPromiseEndsWithTheQuorum(t *testing.T) {
	s := state{self: sample().Voters[0], attempts: 7, phase: promised, proposal: sample()}
	cfg := BootstrapConfig{Self: s.self, Expect: 2, HasQuorum: true, Rand: rand.New(rand.NewPCG(1, 1))}
	b, eff, err := OpenBootstrap(0, cfg, s.appendTo(nil))
	if err != nil || eff.Save == nil {
		t.Fatalf("%+v, %v", eff, err)
	}
	if saved, err := readState(eff.Save); err != nil || saved.phase != fresh || saved.attempts != 7 {
		t.Errorf("saved %+v, %v", saved, err)
	}
	if a, _ := b.Request(0, Request{Kind: Ask, Proposal: sample()}); a.Kind != Released {
		t.Errorf("asked, it says %s", a.Kind)
	}
}

func FuzzReadMessages(f *testing.F) {
	f.Add(Request{Kind: Promise, Proposal: sample()}.AppendTo(nil))
	f.Add(Answer{Kind: Refused, Reason: "because"}.AppendTo(nil))
	f.Add([]byte{0, 1, 4, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, src []byte) {
		if r, err := ReadRequest(src); err == nil && !bytes.Equal(r.AppendTo(nil), src) {
			t.Errorf("request %+v", r)
		}
		if a, err := ReadAnswer(src); err == nil && !bytes.Equal(a.AppendTo(nil), src) {
			t.Errorf("answer %+v", a)
		}
		if s, err := readState(src); err == nil && !bytes.Equal(s.appendTo(nil), src) {
			t.Errorf("state %+v", s)
		}
	})
}
