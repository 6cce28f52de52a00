package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// A search whose node goes away says which topic it may have left there, also if it ends with a later run that could not begin.
func TestTuneTellsWhatIsLeftBehind(t *testing.T) {
	s := benchServer(t)
	var load benchLoadFlags
	load.trial = bench.Trial{Partitions: 1, ReplicationFactor: 1, Producers: 1, RecordBytes: 100, Rate: 100, MaxInFlight: 5, Acks: -1, Duration: 30 * time.Second, Patience: time.Second,
		Progress: func(bench.Second) { s.Stop(0) }} // when the first second is over
	restored := false
	at := target{addresses: s.Addresses(), leave: func() error { restored = true; return nil }}
	tuner := &tuner{load: &load, precision: 1.1, from: 100, with: func(context.Context, []bench.Setting) (target, error) { return at, nil }}
	_, err := tuner.measure(t.Context(), nil)
	if said := tuner.told(err); err == nil || said == nil || !strings.Contains(said.Error(), "it may be left behind") || !strings.Contains(said.Error(), s.Topics()[0]) {
		t.Errorf("%v: %v", err, said)
	}
	if !restored {
		t.Error("what was set was not put back")
	}
}
