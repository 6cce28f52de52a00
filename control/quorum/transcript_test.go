package quorum

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The transcripts of testdata drive a cluster by commands. Each prints what has happened at the members meanwhile.
//
//	cluster voters=N learners=M     a new cluster; the learners' nodes are made and not yet members
//	elect                           ticks until a leader is ready
//	tick [n=N]                      N ticks everywhere
//	propose [at=N]                  the lines of the input, at the leader or at member N
//	change KIND n=N [at=M]          a change of member N, proposed by the leader or by member M
//	transfer to=N                   the leadership
//	isolate n=N...                  nothing reaches these members or leaves them, but among themselves
//	heal                            everything reaches everybody
//	cut n=N                         the power of member N goes
//	kill n=N                        member N's process ends
//	start n=N                       member N opens its directory
//	damage n=N at=K                 flips a bit of byte K of the last segment of member N, which is down
//	compact n=N                     member N makes a snapshot
//	status n=N                      what member N knows
//	state                           what each member has applied
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		p := &play{}
		datadriven.RunTest(t, path, p.run)
	})
}

// play is a transcript's cluster and what has happened in it since the last command.
type play struct {
	*cluster
	isolated []int
	events   []string
	places   map[int]string // what each member last said of its leader and term
	number   uint64         // of the last proposal
}

func (p *play) run(t *testing.T, d *datadriven.TestData) string {
	if p.cluster != nil {
		p.tb = t
	}
	p.events = nil
	if err := p.command(t, d); err != nil {
		p.event("error: %v", err)
	}
	if len(p.events) == 0 {
		return "ok\n"
	}
	return strings.Join(p.events, "\n") + "\n"
}

func (p *play) event(format string, args ...any) {
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

func (p *play) command(t *testing.T, d *datadriven.TestData) error {
	n := func(key string, otherwise int) int {
		value := otherwise
		d.MaybeScanArgs(t, key, &value)
		return value
	}
	switch d.Cmd {
	case "cluster":
		p.begin(t, n("voters", 3), n("learners", 0))
	case "elect":
		p.elect()
	case "tick":
		for range n("n", 1) {
			p.tick()
		}
	case "propose":
		return p.propose(p.at(n("at", 0)), strings.Fields(d.Input))
	case "change":
		return p.change(p.at(n("at", 0)), d.CmdArgs[0].Key, testKey(n("n", 0)))
	case "transfer":
		err := p.at(0).q.TransferLeadership(testKey(n("to", 0)))
		p.settle()
		return err
	case "isolate":
		p.isolated = nil
		for _, v := range d.CmdArgs[0].Vals {
			p.isolated = append(p.isolated, int(v[0]-'0'))
		}
	case "heal":
		p.isolated = nil
	case "compact":
		m := p.at(n("n", 0))
		return m.q.Compact(m.machine.index, m.machine.encode())
	case "status":
		p.status(p.at(n("n", 0)).q.Status())
	case "state":
		for _, m := range p.members {
			p.event("%d: %s", m.n, strings.Join(m.machine.lines, " "))
		}
	default:
		return p.misfortune(t, d, p.at(n("n", 0)), n("at", 0))
	}
	return nil
}

func (p *play) misfortune(t *testing.T, d *datadriven.TestData, m *member, at int) error {
	switch d.Cmd {
	case "cut":
		m.fs, m.q, m.last = m.fs.Crash(), nil, Effects{}
	case "kill":
		m.fs.Kill()
		m.q, m.last = nil, Effects{}
	case "start":
		delete(p.places, m.n)
		err := p.tryOpen(m)
		p.settle()
		return err
	case "damage":
		f, err := list(m.fs, testDir)
		must(t, err)
		must(t, m.fs.Damage(testDir+"/"+logName(f.bases[len(f.bases)-1]), int64(at), 1))
	default:
		t.Fatalf("no command %s", d.Cmd)
	}
	return nil
}

func (p *play) begin(t *testing.T, voters, learners int) {
	p.cluster, p.places, p.isolated = newCluster(t, 1, voters, Config{TrailingEntries: -1}), map[int]string{}, nil
	for n := voters + 1; n <= voters+learners; n++ {
		p.add(n, nil)
	}
	p.lose = func(m Message) bool {
		return slices.Contains(p.isolated, int(m.From)) != slices.Contains(p.isolated, int(m.To))
	}
	p.applied, p.ready = p.sawEntry, p.sawReady
	p.failed = func(m *member, err error) {
		p.event("%d: stops: %v", m.n, err)
		m.q, m.last = nil, Effects{}
	}
}

func (p *play) sawEntry(m *member, e Entry) {
	if e.Change != nil {
		p.event("%d: applies %d/%d: %s %d, number %d of %d", m.n, e.Index, e.Term, e.Change.Kind, e.Change.Member.NodeID, e.Proposal, e.Origin)
		return
	}
	p.event("%d: applies %d/%d: %s, number %d of %d", m.n, e.Index, e.Term, e.Data, e.Proposal, e.Origin)
}

func (p *play) sawReady(m *member, eff Effects) {
	place := fmt.Sprintf("term %d, leader %d", eff.Term, eff.Leader)
	if eff.LeaderReady {
		place += ", ready"
	}
	if place != p.places[m.n] {
		p.places[m.n] = place
		p.event("%d: %s", m.n, place)
	}
	if eff.Snapshot != nil && len(decodeMachine(eff.Snapshot).lines) > 0 {
		p.event("%d: installs a snapshot: %s", m.n, strings.Join(decodeMachine(eff.Snapshot).lines, " "))
	}
}

// at gives member n, or the leader.
func (p *play) at(n int) *member {
	if n > 0 {
		return p.members[n-1]
	}
	if m := p.leader(); m != nil {
		return m
	}
	p.tb.Fatal("there is no leader")
	return nil
}

func (p *play) propose(m *member, lines []string) error {
	for _, line := range lines {
		p.number++
		if err := m.q.Propose(p.number, []byte(line)); err != nil {
			return err
		}
	}
	p.settle()
	return nil
}

func (p *play) change(m *member, kind string, key ReplicaKey) (err error) {
	p.number++
	switch kind {
	case AddLearner.String():
		err = m.q.AddLearner(p.number, Member{ReplicaKey: key})
	case AddVoter.String():
		err = m.q.AddVoter(p.number, key)
	case RemoveVoter.String():
		err = m.q.RemoveVoter(p.number, key)
	case Remove.String():
		err = m.q.Remove(p.number, key)
	case Update.String():
		err = m.q.Update(p.number, key, []Endpoint{{Listener: "L", Host: "h", Port: 1}})
	}
	p.settle()
	return err
}

func (p *play) status(s Status) {
	p.event("leader %d of term %d, commit %d, applied %d, last %d, snapshot %d", s.Leader.NodeID, s.Term, s.Commit, s.Applied, s.LastIndex, s.SnapshotIndex)
	for _, m := range s.Members {
		role := "learner"
		if m.Voter {
			role = "voter"
		}
		p.event("  %d %s: match %d, active %v, fetched %d and caught up %d ticks ago", m.NodeID, role, m.Match, m.Active, m.SinceFetch, m.SinceCaughtUp)
	}
}
