//go:build invariants

package node

// poison overwrites a returned buffer, so that a reader that comes too late is seen.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

// checkReturned holds that everything a loop lent came back to it by its end.
func checkReturned(l *Loop) {
	if out := l.outstanding(); out != "" {
		panic("BUG: not returned: " + out)
	}
}
