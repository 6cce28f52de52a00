package node

// waitingCalls are the requests that state machines have under way, by the handle under which each answers; the owning
// goroutine's. What is called must not block.
type waitingCalls[H ~uint64, R any] struct {
	calls map[H]func(R)
	last  H
}

func newWaitingCalls[H ~uint64, R any]() waitingCalls[H, R] {
	return waitingCalls[H, R]{calls: make(map[H]func(R))}
}

// add gives the handle of a call of whose result then is to hear.
func (w *waitingCalls[H, R]) add(then func(R)) H {
	w.last++
	w.calls[w.last] = then
	return w.last
}

// take ends a call and gives who is to hear of it; nil if it is not under way.
func (w *waitingCalls[H, R]) take(h H) func(R) {
	then := w.calls[h]
	delete(w.calls, h)
	return then
}
