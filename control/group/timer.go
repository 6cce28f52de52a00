package group

// timerKind says what happens when a timer's deadline passes.
type timerKind uint8

const (
	timerSession           timerKind = iota // a member's session: it is removed unless it waits for a join or a sync
	timerPendingMember                      // a member id that was handed out and never joined with
	timerInitialJoin                        // group.initial.rebalance.delay.ms of a group that was empty
	timerJoin                               // the rebalance timeout while members are awaited
	timerSync                               // the rebalance timeout while the members' SyncGroups are awaited
	timerShrink                             // a loaded group is larger than group.max.size and has to rebalance
	timerConsumerSession                    // a consumer group's member: it is fenced
	timerConsumerRebalance                  // its rebalance timeout while it has to revoke, or in the classic protocol to join again
	timerConsumerSync                       // its rebalance timeout after a JoinGroup, until its SyncGroup
	timerShareSession                       // a share group's member: it is fenced
	timerRewrite                            // records of a consumer group that could not be written
)

// timer is one deadline, embedded in the member or group that it belongs to. A group has one, because a group never
// awaits joins and syncs at once.
type timer struct {
	deadlineMS int64 // when it is due, monotonic
	keyMS      int64 // where it stands in the heap: never after deadlineMS, and earlier if it was moved lazily
	position   int   // index in the heap, or -1 while it is not armed
	kind       timerKind
	group      *group
	member     *member         // timerSession only
	consumer   *consumerMember // a consumer group's member's three
	share      *shareMember    // timerShareSession only
	memberID   string          // timerPendingMember only
}

// armed reports whether t is in the heap.
func (t *timer) armed() bool { return t.position >= 0 }

// timerHeap is a binary min-heap over keyMS. Moving a deadline later, which is what every heartbeat does, only writes
// deadlineMS: the heap learns of it when the old key comes up. A heartbeat thus costs no heap operation.
type timerHeap struct{ entries []*timer }

// arm sets t's deadline, whatever it was before.
func (h *timerHeap) arm(t *timer, deadlineMS int64) {
	t.deadlineMS = deadlineMS
	if t.armed() {
		if deadlineMS >= t.keyMS {
			return
		}
		t.keyMS = deadlineMS
		h.up(t.position)
		return
	}
	t.keyMS = deadlineMS
	t.position = len(h.entries)
	h.entries = append(h.entries, t)
	h.up(t.position)
}

// disarm takes t out of the heap; it does nothing if t is not armed.
func (h *timerHeap) disarm(t *timer) {
	if !t.armed() {
		return
	}
	i, last := t.position, len(h.entries)-1
	h.swap(i, last)
	h.entries[last] = nil
	h.entries = h.entries[:last]
	t.position = -1
	if i < last {
		h.down(i)
		h.up(i)
	}
}

// pop takes out the earliest timer that is due at nowMS, or nil. Timers that were moved later are put where they belong.
func (h *timerHeap) pop(nowMS int64) *timer {
	for len(h.entries) > 0 && h.entries[0].keyMS <= nowMS {
		t := h.entries[0]
		if t.deadlineMS <= nowMS {
			h.disarm(t)
			return t
		}
		t.keyMS = t.deadlineMS
		h.down(0)
	}
	return nil
}

// next is the earliest key: no timer is due before it.
func (h *timerHeap) next() (keyMS int64, ok bool) {
	if len(h.entries) == 0 {
		return 0, false
	}
	return h.entries[0].keyMS, true
}

func (h *timerHeap) swap(i, j int) {
	h.entries[i], h.entries[j] = h.entries[j], h.entries[i]
	h.entries[i].position, h.entries[j].position = i, j
}

func (h *timerHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.entries[parent].keyMS <= h.entries[i].keyMS {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *timerHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.entries); child++ {
			if h.entries[child].keyMS < h.entries[least].keyMS {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
