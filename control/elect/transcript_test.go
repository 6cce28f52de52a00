package elect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// The transcripts of testdata change one partition by commands:
//
//	partition replicas=(..) isr=(..) elr=(..) last=(..) adding=(..) removing=(..) leader=N [recovering]
//	              sets it, at leader epoch 100 and partition epoch 200
//	change [isr=(..)] [replicas=(..)] [adding=(..)] [removing=(..)] [recovering=true|false] [lost=N] [wiped|lacking] [election=preferred|unclean] [min-isr=N]
//	       [unfit=(..)] [reluctant=(..)] [keep]
//	              prints what becomes of it; with keep it is that from then on. "(all)" stands for every node. min-isr is 2 if it is not given
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var state image.PartitionState
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "partition":
				state = readState(t, d)
				return ""
			case "change":
				return change(t, d, &state)
			}
			return "unknown command"
		})
	})
}

func readState(t *testing.T, d *datadriven.TestData) image.PartitionState {
	return image.PartitionState{Replicas: nodes(t, d, "replicas"), ISR: nodes(t, d, "isr"), ELR: nodes(t, d, "elr"), LastKnownELR: nodes(t, d, "last"),
		Adding: nodes(t, d, "adding"), Removing: nodes(t, d, "removing"), Leader: number(t, d, "leader", wire.NoNode), LeaderEpoch: 100, PartitionEpoch: 200,
		Recovering: d.HasArg("recovering")}
}

func change(t *testing.T, d *datadriven.TestData, state *image.PartitionState) string {
	unfit, reluctant := nodes(t, d, "unfit"), nodes(t, d, "reluctant")
	allUnfit := slices.Contains(argument(d, "unfit"), "all")
	c := NewChange(state, int(number(t, d, "min-isr", 2)), func(n wire.NodeID) Fitness {
		switch {
		case allUnfit || n < 0 || slices.Contains(unfit, n):
			return Unfit
		case slices.Contains(reluctant, n):
			return Reluctant
		}
		return Fit
	})
	for name, list := range map[string]*[]wire.NodeID{"isr": &c.ISR, "replicas": &c.Replicas, "adding": &c.Adding, "removing": &c.Removing} {
		if d.HasArg(name) {
			*list = nodes(t, d, name)
		}
	}
	if d.HasArg("recovering") {
		c.Recovering = slices.Contains(argument(d, "recovering"), "true")
	}
	c.Lost, c.Wiped, c.Lacking = number(t, d, "lost", wire.NoNode), d.HasArg("wiped"), d.HasArg("lacking")
	switch strings.Join(argument(d, "election"), "") {
	case "preferred":
		c.Election = Preferred
	case "unclean":
		c.Election = Unclean
	}
	before, asked := *state, c.ISR
	after, changed := c.State()
	if !changed {
		return "no change"
	}
	check(t, &before, &after, asked, c.MinISR)
	if d.HasArg("keep") {
		*state = after
	}
	return show(&after)
}

// check is the invariants of doc.go, one by one.
func check(t *testing.T, before, after *image.PartitionState, asked []wire.NodeID, minISR int) {
	t.Helper()
	if after.Leader != wire.NoNode && !after.InSync(after.Leader) || !containsAll(after.Replicas, after.ISR) || !containsAll(after.Replicas, after.ELR) ||
		slices.ContainsFunc(after.ELR, after.InSync) {
		t.Errorf("E1: %s", show(after))
	}
	rise := after.LeaderEpoch - before.LeaderEpoch
	if after.PartitionEpoch != before.PartitionEpoch+1 || rise < 0 || rise > 1 || after.Leader != before.Leader && rise != 1 {
		t.Errorf("E2: %s after %s", show(after), show(before))
	}
	hadAll := slices.Concat(asked, before.ISR, before.ELR) // asked is what the leader says of itself
	if after.Leader != before.Leader && after.Leader != wire.NoNode && !after.Recovering && !slices.Contains(hadAll, after.Leader) {
		t.Errorf("E3: %s after %s", show(after), show(before))
	}
	if len(after.ISR) >= minISR && len(after.ELR) > 0 {
		t.Errorf("E4: %s", show(after))
	}
}

func show(s *image.PartitionState) string {
	out := fmt.Sprintf("replicas=%v isr=%v leader=%d epoch=%d/%d", s.Replicas, s.ISR, s.Leader, s.LeaderEpoch, s.PartitionEpoch)
	for _, list := range []struct {
		name string
		ids  []wire.NodeID
	}{{"elr", s.ELR}, {"last", s.LastKnownELR}, {"adding", s.Adding}, {"removing", s.Removing}} {
		if len(list.ids) > 0 {
			out += fmt.Sprintf(" %s=%v", list.name, list.ids)
		}
	}
	if s.Recovering {
		out += " recovering"
	}
	return out
}

func argument(d *datadriven.TestData, name string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return a.Vals
		}
	}
	return nil
}

func nodes(t *testing.T, d *datadriven.TestData, name string) (ids []wire.NodeID) {
	for _, v := range argument(d, name) {
		if v == "" || v == "all" {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, wire.NodeID(n))
	}
	return ids
}

func number(t *testing.T, d *datadriven.TestData, name string, otherwise wire.NodeID) wire.NodeID {
	if ids := nodes(t, d, name); len(ids) == 1 {
		return ids[0]
	}
	return otherwise
}
