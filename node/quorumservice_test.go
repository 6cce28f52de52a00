package node

import (
	"testing"

	"github.com/ringmill/ringmill/control/quorum"
)

// Whoever sends messages of the quorum under ever other ids does not fill memory with their addresses; the last of them is answered.
func TestAddressesOfStrangersAreNotWithoutEnd(t *testing.T) {
	s := &quorumService{q: new(quorum.Quorum), learned: make(map[uint64]string)}
	for id := uint64(1); id <= 10*learnedMax; id++ {
		s.learn(id, "127.0.0.1:1")
		if len(s.learned) > learnedMax || s.addressOf(id) == "" {
			t.Fatalf("%d addresses after message %d, its own is %q", len(s.learned), id, s.addressOf(id))
		}
	}
}
