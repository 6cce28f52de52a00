package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// A verification of which nothing was acknowledged is no success, and all of it was an outage.
func TestBenchVerifyOfNothing(t *testing.T) {
	s := benchtest.New(1, benchtest.Constant(4*time.Second)) // when nobody waits any more
	t.Cleanup(s.Close)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"text", "json"} {
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
		code := a.run(t.Context(), []string{"bench", "verify", "-b", s.Addresses()[0], "-o", output, "--duration", "200ms", "--timeout", "1s", "--replication-factor", "1"})
		if code != statusFailed || !strings.Contains(errs.String(), "nothing was acknowledged") {
			t.Errorf("status %d: %s%s", code, out.String(), errs.String())
		}
		if output == "text" {
			if strings.Contains(out.String(), "RIGHT") || !strings.Contains(out.String(), "NOTHING TO JUDGE") {
				t.Error(out.String())
			}
			continue
		}
		var v bench.Verdict
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Sent == 0 || v.Unknown != v.Sent || v.OutageSeconds < 0.2 {
			t.Errorf("%+v", v)
		}
	}
}
