package member

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// starter is a node of its agent and its part in the agreement, on a clock that goes.
type starter struct {
	peers map[string]*starter // by address
	agent *Agent
	info  Info
	since time.Time

	mu      sync.Mutex
	b       *Bootstrap
	decided *Decision
}

// do runs an event and its effects; what is sent goes off by itself. Nothing is saved: nobody crashes here.
func (s *starter) do(event func(now time.Duration) Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eff := event(time.Since(s.since))
	for _, send := range eff.Send {
		go s.ask(send)
	}
	if eff.Decision != nil {
		s.decided = eff.Decision
		s.b.Joined()
		s.info.ClusterID, s.info.Bootstrapped = eff.Decision.ClusterID, true
		go func(info Info) { _ = s.agent.SetInfo(info) }(s.info)
	}
}

func (s *starter) ask(send Send) {
	to := s.peers[send.To.Addr]
	var a Answer
	to.do(func(now time.Duration) (eff Effects) {
		a, eff = to.b.Request(now, send.Request)
		return eff
	})
	s.do(func(now time.Duration) Effects { return s.b.Answer(now, send.To, send.Request, a) })
}

func (s *starter) decision() *Decision {
	s.do(func(now time.Duration) Effects { return s.b.Members(now, s.agent.Members()) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decided
}

// What agents tell is what the agreement needs: five nodes come up, three begin a cluster and two join it.
func TestAgentsBeginOneCluster(t *testing.T) {
	peers := make(map[string]*starter)
	var all []*starter
	var seeds []string
	for id := 1; id <= 5; id++ {
		s := &starter{peers: peers, info: info(id, ""), since: time.Now()}
		var err error
		self := Voter{NodeID: s.info.NodeID, DirectoryID: s.info.DirectoryID, Addr: s.info.Addr}
		if s.b, _, err = OpenBootstrap(0, BootstrapConfig{Self: self, Expect: 3, Rand: rand.New(rand.NewPCG(1, uint64(id)))}, nil); err != nil {
			t.Fatal(err)
		}
		s.agent = start(t, Config{Info: s.info, Seeds: seeds})
		seeds = []string{s.agent.Addr()}
		peers[s.info.Addr] = s
		all = append(all, s)
	}
	eventually(t, "all have decided", func() bool {
		missing := 0
		for _, s := range all {
			if s.decision() == nil {
				missing++
			}
		}
		return missing == 0
	})
	var began []Decision
	for _, s := range all {
		d := s.decision()
		if !d.Join {
			began = append(began, *d)
		}
		if d.ClusterID != all[0].decision().ClusterID {
			t.Errorf("node %d decides for cluster %s, node 1 for %s", s.info.NodeID, d.ClusterID, all[0].decision().ClusterID)
		}
	}
	if len(began) != 3 || !slices.Equal(began[0].Voters, began[1].Voters) || !slices.Equal(began[0].Voters, began[2].Voters) {
		t.Errorf("began by %+v", began)
	}
	for _, s := range all {
		eventually(t, "all know that all belong to it", func() bool {
			members := s.agent.Members()
			return len(members) == 5 && !slices.ContainsFunc(members, func(m Info) bool { return m.ClusterID != began[0].ClusterID })
		})
	}
}
