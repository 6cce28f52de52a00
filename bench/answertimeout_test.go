package bench

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A node that takes a connection and says nothing is waited for as long as the run has patience, and no longer than any is.
func TestSilentNode(t *testing.T) {
	for patience, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, time.Millisecond: leadersTimeoutMin, time.Minute: askTimeout, 0: askTimeout} {
		synctest.Test(t, func(t *testing.T) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				t.Cleanup(func() { _ = theirs.Close() })
				go func() { _, _ = theirs.Read(make([]byte, 1<<16)) }()
				return ours, nil
			}
			c := &cluster{addresses: []string{"silent:1"}, dial: dial, topic: "t", patience: patience}
			start := time.Now()
			made, err := c.create(t.Context(), 1, 1, nil)
			if took := time.Since(start); err == nil || made.ours || took != want {
				t.Errorf("patience %v: %+v, %v after %v, want %v", patience, made, err, took, want)
			}
		})
	}
}
