package limits

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// Every item does something, says how much, and leaves nothing; where there is no io_uring it says so.
func TestItems(t *testing.T) {
	for name, measure := range map[string]func(context.Context, Options) ([]Limit, error){"disk": Disk, "loop": Loop} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), Each: 50 * time.Millisecond}
			told := 0
			o.Progress = func(Limit) { told++ }
			all, err := measure(t.Context(), o)
			if err != nil || len(all) != told {
				t.Fatalf("%d limits, %d told: %v", len(all), told, err)
			}
			for _, l := range all {
				t.Logf("%-60s %12.0f/s %14.0f B/s p50 %.1f us, %.3f s of CPU in %.3f s %s", l.Name, l.OperationsPerSecond, l.BytesPerSecond, l.Latency.P50Us, l.CPUSeconds, l.Seconds, l.Missing)
				if l.Missing != "" && strings.Contains(l.Name, "uring") {
					continue
				}
				if l.Missing != "" || l.OperationsPerSecond <= 0 || l.BytesPerSecond < l.OperationsPerSecond || l.Seconds < o.Each.Seconds() {
					t.Errorf("%+v", l)
				}
				if timed := !strings.HasPrefix(l.Name, "page cache"); timed != (l.Latency.Count > 0) {
					t.Errorf("%s: %d latencies", l.Name, l.Latency.Count)
				}
			}
			if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// What goes wrong ends it with the item's name; an interruption is one.
func TestItemsEnd(t *testing.T) {
	if all, err := Disk(t.Context(), Options{Dir: "/nowhere", Each: time.Millisecond}); err == nil || len(all) > 0 || !strings.Contains(err.Error(), "append of 1 MiB") {
		t.Errorf("%v, %v", all, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Dir: t.TempDir(), Each: time.Minute}
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Loop(ctx, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// An item that the machine does not have is told of, and the others are measured.
func TestMissing(t *testing.T) {
	o := Options{Each: time.Millisecond}
	all, err := measure(t.Context(), o, []item{
		{"one", answered(1, engineEcho("none of them"))},
		{"two", func(_ context.Context, _ Options, c *count) error { c.begin(); c.operations++; return nil }},
	})
	if err != nil || len(all) != 2 || all[0].Missing == "" || strings.Contains(all[0].Missing, "\n") || all[1].OperationsPerSecond <= 0 {
		t.Errorf("%+v, %v", all, err)
	}
}
