package member

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// The transcripts of testdata drive a world of nodes by commands, and print what the nodes say, send and decide:
//
//	start nodes=(1,2,3) expect=3   new nodes, or ones that were stopped
//	stop nodes=(1)                 kill -9
//	lose nodes=(1)                 kill -9, and the disk is gone: the next start is of another directory
//	gossip nodes=(1,2)             these see each other, and nobody else; without nodes all that are up
//	tick ms=1000 nodes=(1)         time passes for these, or for all
//	deliver                        everything in the air, and what that brings about
//	drop                           everything in the air is lost
//	keep, late                     what is in the air is held back, and comes again
//	settle                         quorum directories are made where that was decided
//	fail node=1                    its join failed
//	status                         what each node waits for
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := &play{world: newWorld(t, 1)}
		p.log = func(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }
		datadriven.RunTest(t, path, p.run)
	})
}

type play struct {
	*world
	out      strings.Builder
	kept     []packet
	clusters []string // as they came up, to print them by number
}

func (p *play) run(t *testing.T, d *datadriven.TestData) string {
	p.out.Reset()
	expect, ms := 1, 0
	d.MaybeScanArgs(t, "expect", &expect)
	d.MaybeScanArgs(t, "ms", &ms)
	p.now += time.Duration(ms) * time.Millisecond
	switch d.Cmd {
	case "deliver":
		p.deliverAll()
	case "drop":
		p.air = nil
	case "keep":
		p.kept, p.air = p.air, nil
	case "late":
		p.air = append(p.air, p.kept...)
	default:
		for _, n := range p.chosen(t, d, expect) {
			p.do(t, d, n)
		}
	}
	return p.numbered(p.out.String())
}

// chosen are the nodes that a command names, or all that are up.
func (p *play) chosen(t *testing.T, d *datadriven.TestData, expect int) (chosen []*node) {
	var ids []int
	d.MaybeScanArgs(t, "nodes", &ids)
	if ids == nil {
		return slices.DeleteFunc(slices.Clone(p.nodes), func(n *node) bool { return !n.up() })
	}
	for _, id := range ids {
		n := p.live(id)
		if n == nil {
			n = p.add(id, expect)
		}
		chosen = append(chosen, n)
	}
	return chosen
}

func (p *play) do(t *testing.T, d *datadriven.TestData, n *node) {
	switch d.Cmd {
	case "start":
		p.start(n, never)
	case "stop":
		p.stop(n)
	case "lose":
		p.stop(n)
		n.dead = true
	case "gossip":
		var seen []Info
		for _, m := range p.chosen(t, d, 0) {
			seen = append(seen, m.info())
		}
		p.see(n, seen, never)
	case "tick":
		p.world.run(n, n.b.Tick(p.now), never)
	case "settle":
		p.settle(n)
	case "fail":
		n.joins = ""
		n.b.JoinFailed()
	case "status":
		p.log("%d: %s", n.id, n.b.Status())
	default:
		d.Fatalf(t, "no such command")
	}
}

func (p *play) deliverAll() {
	for len(p.air) > 0 {
		next := p.air[0]
		p.air = p.air[1:]
		p.deliver(next, never)
	}
}

// numbered prints a cluster's random id as the number of its appearance.
func (p *play) numbered(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\"/,", r) }) {
		if len(word) == 22 && !slices.Contains(p.clusters, word) {
			p.clusters = append(p.clusters, word)
		}
	}
	for i, c := range p.clusters {
		text = strings.ReplaceAll(text, c, fmt.Sprintf("cluster-%d", i+1))
	}
	return text
}
