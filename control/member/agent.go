package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/serf/serf"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// Config is what an Agent is started with.
type Config struct {
	Info      Info
	Dir       string     // where the keyring and the addresses of other nodes are kept, state/serf; "" keeps nothing
	Files     segment.FS // what the keyring is kept by; only with Dir
	Listen    string     // host:port for TCP and UDP; an empty host is every interface, port 0 a free one
	Advertise string     // host:port for the others; "" is Listen, or the host of Info.Addr where that is every interface
	Seeds     []string   // host:port of other agents, each asked until it answers
	Key       string     // 32 bytes in base64; "" if the keyring has one, or Listen is a loopback address
	Log       *slog.Logger
}

// Agent tells other nodes that this one is there, and knows which others are. All of it is a hint. Its methods may be called
// from any goroutine.
type Agent struct {
	serf    *serf.Serf
	log     *agentLog
	merges  *mergeDelegate
	events  chan serf.Event
	changed chan struct{} // holds at most one token
	stop    context.CancelFunc
	settle  context.CancelFunc // ends the search for others alone
	stopped sync.Once
}

// eventBacklog is how many events of serf wait for the agent's goroutine, which only looks at the members afresh: what is
// dropped beyond that loses nothing.
const eventBacklog = 64

// ErrPortInUse is the error of a start at a port where something else listens.
var ErrPortInUse = errors.New("the port is in use")

// Start opens the gossip port and begins to look for the others. The error says what to change: an address, a key, a tag
// that is too long. It is ErrPortInUse if the port is another's.
func Start(cfg Config) (*Agent, error) {
	log := newAgentLog(cfg.Log)
	a := &Agent{
		log: log, merges: newMergeDelegate(cfg.Info, log),
		events: make(chan serf.Event, eventBacklog), changed: make(chan struct{}, 1),
	}
	conf, err := a.serfConfig(cfg)
	if err != nil {
		return nil, err
	}
	known, err := snapshotAddresses(conf.SnapshotPath, conf.NodeName)
	if err != nil {
		return nil, err
	}
	if a.serf, err = serf.Create(conf); err != nil {
		return nil, fmt.Errorf("gossip at %s: %w", cfg.Listen, bindError(err))
	}
	a.merges.located(a.Addr())
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	go a.watch(ctx)
	ctx, a.settle = context.WithCancel(ctx)
	if len(cfg.Seeds)+len(known) > 0 {
		go a.seek(ctx, cfg.Seeds, known)
	}
	return a, nil
}

// bindError is what the kernel says of an address, of which serf gives the text alone, behind the words of three layers.
func bindError(err error) error {
	_, why, found := strings.Cut(err.Error(), ": bind: ")
	switch {
	case !found:
		return err
	case why == syscall.EADDRINUSE.Error():
		return ErrPortInUse
	}
	return errors.New(why)
}

// nodeName is what a node is called among serf's members. Two nodes of one id have the same, which is how serf notices.
func nodeName(id wire.NodeID) string { return "node-" + strconv.Itoa(int(id)) }

// Addr is the gossip address that the others use, as host:port.
func (a *Agent) Addr() string {
	n := a.serf.Memberlist().LocalNode()
	return net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
}

// Members lists the nodes that are there, this one included, by node id.
func (a *Agent) Members() []Info {
	var found []Info
	for _, p := range a.alive() {
		found = append(found, p.info)
	}
	return found
}

// alive lists serf's members that answer and are ringmill nodes, by node id.
func (a *Agent) alive() []peer {
	var found []peer
	for _, m := range a.serf.Members() {
		if p := peerOf(&m); m.Status == serf.StatusAlive && p.readable {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(x, y peer) int { return cmp.Compare(x.info.NodeID, y.info.NodeID) })
	return found
}

// alone reports whether no other member answers.
func (a *Agent) alone() bool { return len(a.alive()) < 2 }

// Changed holds a token after Members may have changed. It is for one reader.
func (a *Agent) Changed() <-chan struct{} { return a.changed }

// SetInfo tells the others what is new about this node. It returns once the news is on its way, a second at most; the error
// is about a tag that is too long, or nobody who heard of it in time: they will at the next exchange of states.
func (a *Agent) SetInfo(info Info) error {
	a.merges.told(info)
	if err := a.serf.SetTags(info.Tags()); err != nil {
		return fmt.Errorf("gossip of node %d: %w", info.NodeID, err)
	}
	return nil
}

// watch turns serf's events into tokens, until the agent stops. It looks at the members now and then as well: serf has no event for a node
// that it took for one that leaves, by the word about an earlier run of it, and takes for an alive one again.
func (a *Agent) watch(ctx context.Context) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	var told []Info
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-a.events:
			a.tell(e)
		case <-again.C:
			if slices.Equal(a.Members(), told) {
				continue
			}
		}
		told = a.Members()
		a.merges.seen(a.alive())
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
}

// lookAgain is how often serf's members are looked at without an event: a fraction of what a start takes.
const lookAgain = 500 * time.Millisecond

// tell logs who came and went.
func (a *Agent) tell(e serf.Event) {
	event, ok := e.(serf.MemberEvent)
	if !ok {
		return // user events and queries of others have no meaning here
	}
	message := map[serf.EventType]string{
		serf.EventMemberJoin: "node is there", serf.EventMemberLeave: "node has left", serf.EventMemberFailed: "node does not answer",
	}[event.Type]
	for i := range event.Members {
		if p := peerOf(&event.Members[i]); message != "" && p.readable {
			a.log.told(slog.LevelInfo, message, p.name, "node", int(p.info.NodeID), "gossip", p.addr, "address", p.info.Addr)
		}
	}
}

// Leave tells the others that this node goes on purpose, and stops the agent. It takes about a second at most; without it
// they find out by missing answers.
func (a *Agent) Leave() error {
	if a.alone() { // serf would wait for somebody to hear it
		return a.Shutdown()
	}
	a.settle()
	err := a.serf.Leave()
	if shutdownErr := a.Shutdown(); err == nil {
		err = shutdownErr
	}
	return err
}

// Shutdown stops the agent and closes its port. The others will think that the node has failed, unless it left.
func (a *Agent) Shutdown() (err error) {
	a.stopped.Do(func() {
		a.stop()
		err = a.serf.Shutdown()
	})
	return err
}

// How long a seed that does not answer is let be: from a second, doubled up to half a minute, give or take a fifth so that
// nodes that start together do not ask together.
const (
	seekFirst = time.Second
	seekMost  = 30 * time.Second
)
