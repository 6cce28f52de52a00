package member

import (
	"strings"
	"time"
)

// A kind of line is said at most throttleBurst times in throttleInterval: enough to see who comes and goes, and no flood
// while a node is away. throttleKinds bounds the kinds that are remembered; there are a few dozen.
const (
	throttleInterval = time.Minute
	throttleBurst    = 3
	throttleKinds    = 512
)

// throttle counts lines by kind.
type throttle struct {
	kinds map[string]*window
}

// window is an interval of one kind.
type window struct {
	since          time.Duration
	count, leftOut int
}

// admit reports whether a line may be said, and how many of its kind were left out before.
func (t *throttle) admit(kind string, now time.Duration) (leftOut int, ok bool) {
	w := t.kinds[kind]
	switch {
	case w == nil:
		if t.kinds == nil || len(t.kinds) >= throttleKinds {
			t.kinds = make(map[string]*window)
		}
		w = &window{since: now}
		t.kinds[kind] = w
	case now-w.since > throttleInterval:
		leftOut = w.leftOut
		*w = window{since: now}
	}
	if w.count++; w.count > throttleBurst {
		w.leftOut++
		return 0, false
	}
	return leftOut, true
}

// kindOf leaves out of a line what differs between those of one kind: digits, and with them addresses and times.
func kindOf(line string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, line)
}
