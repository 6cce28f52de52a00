package node

import (
	"time"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// The pause between two attempts to read a state while the share coordinator is not ready doubles from the first to the last.
const (
	shareLoadPauseMin = 5 * time.Millisecond
	shareLoadPauseMax = 500 * time.Millisecond
)

// shareLoadsMax is how many states are read at once: a member may ask for all partitions of a topic that has 100,000.
const shareLoadsMax = 64

// startLoad has a share partition's state read, when it is its turn.
func (s *shareService) startLoad(sp *sharePart) {
	if s.loading == shareLoadsMax {
		s.unread = append(s.unread, sp)
		return
	}
	s.loading++
	go s.load(sp)
}

// nextLoad goes on with those that wait, when one was read.
func (s *shareService) nextLoad() {
	s.loading--
	for len(s.unread) > 0 && s.loading < shareLoadsMax {
		sp := s.unread[0]
		if s.unread = s.unread[1:]; !sp.dropped {
			s.startLoad(sp)
		}
	}
}

// load reads a share partition's state, in a goroutine of its own, and hands it to the service.
func (s *shareService) load(sp *sharePart) {
	defer s.inbox.put(s.nextLoad)
	epoch := sp.part.published.leaderEpoch.Load()
	for pause := shareLoadPauseMin; ; pause = min(2*pause, shareLoadPauseMax) {
		state, ok := s.readState(sp.key, &epoch)
		switch {
		case !ok:
			return
		case state.Code == wire.None:
			initial, code := s.initialOffset(sp, state)
			if code != wire.None {
				state.Code, state.Message = code, "the offset to begin at cannot be found"
			}
			s.inbox.put(func() { s.loaded(sp, epoch, state, initial) })
			return
		case state.Code != wire.CoordinatorLoadInProgress && state.Code != wire.CoordinatorNotAvailable && state.Code != wire.NotCoordinator:
			s.inbox.put(func() { s.loaded(sp, epoch, state, wire.NoOffset) })
			return
		}
		if !s.node.sleep(pause) {
			return
		}
	}
}

// readState reads a state as its partition's leader; false if the node stops. A node that stands alone leads whatever the state
// says: where a partition's epoch was lost with records that had it, the state's holds.
func (s *shareService) readState(key share.Key, epoch *int32) (share.Result, bool) {
	if !s.node.ShareStateTopicReady() {
		return share.Result{Code: wire.CoordinatorNotAvailable}, true
	}
	state, ok := s.ask(share.Operation{Kind: share.Read, Key: key, LeaderEpoch: *epoch})
	if !ok || state.Code != wire.FencedLeaderEpoch || s.node.cluster != nil {
		return state, ok
	}
	summary, ok := s.ask(share.Operation{Kind: share.ReadSummary, Key: key})
	if !ok || summary.Code != wire.None {
		return summary, ok
	}
	*epoch = max(summary.LeaderEpoch, *epoch+1)
	return s.ask(share.Operation{Kind: share.Read, Key: key, LeaderEpoch: *epoch})
}

// ask has the share coordinator do an operation, and waits; false if the node stops.
func (s *shareService) ask(op share.Operation) (share.Result, bool) {
	result := make(chan share.Result, 1)
	s.node.shareLog.submit(op, func(r share.Result) { result <- r })
	select {
	case r := <-result:
		return r, true
	case <-s.node.quit:
		return share.Result{}, false
	}
}

// loaded begins a share partition with its state, or fails those who wait for it.
func (s *shareService) loaded(sp *sharePart, epoch int32, state share.Result, initial wire.Offset) {
	if sp.dropped {
		return
	}
	if state.Code != wire.None {
		s.node.log.throttled("a share partition cannot be loaded", "share partition", sp.key.String(), "error", state.Code, "message", state.Message)
		for _, f := range sp.waiters {
			f.fail(sp.key, loadCode(state.Code))
		}
		s.drop(sp)
		return
	}
	c := s.node.Config()
	cfg := share.PartitionConfig{MaxDeliveries: int16(c.ShareDeliveriesMax), MaxRecordLocks: int64(c.ShareRecordLocksMax)}
	machine, fx := share.NewPartition(s.node.nowMS(), cfg, epoch, state, initial)
	sp.machine = machine
	s.apply(sp, fx)
	s.wake(sp)
}

// loadCode is what a client is told of a state that could not be read (SharePartition.fetchPersisterError).
func loadCode(code wire.ErrorCode) wire.ErrorCode {
	switch code {
	case wire.GroupIDNotFound, wire.UnknownTopicOrPartition, wire.KafkaStorageError:
		return code
	case wire.FencedLeaderEpoch, wire.FencedStateEpoch:
		return wire.NotLeaderOrFollower
	}
	return wire.UnknownServerError
}

// initialOffset is where a group begins to read a partition that it has no start offset of (share.auto.offset.reset). Where
// nothing is as young as a duration asks for, that is the end; Kafka 4.1 fails until there is.
func (s *shareService) initialOffset(sp *sharePart, state share.Result) (wire.Offset, wire.ErrorCode) {
	if state.StartOffset != wire.NoOffset {
		return wire.NoOffset, wire.None
	}
	n := s.node
	reset, _ := config.ParseOffsetReset(n.shareConfig(sp.key.Group).ShareAutoOffsetReset)
	logStart, highWatermark, _ := partitionView{sp.part}.Offsets()
	switch {
	case reset.Earliest:
		return logStart, wire.None
	case !reset.ByDuration:
		return highWatermark, wire.None
	}
	off, _, _, found, err := partitionView{sp.part}.OffsetForTime(wallNow() - wire.Timestamp(reset.DurationMS))
	switch {
	case err != nil:
		return wire.NoOffset, wire.KafkaStorageError
	case !found:
		return highWatermark, wire.None
	}
	return off, wire.None
}

// shareConfig is what a share group goes by.
func (n *Node) shareConfig(group string) config.GroupConfig {
	return n.Config().Group(n.Image().GroupOverrides(group))
}
