package harness

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Place is where a node runs, how the test reaches it, and where it keeps its data. The zero value is this host's loopback, and a folder of
// the test.
type Place struct {
	Host  string   // the address that it listens on
	Enter []string // what its command line begins with, so that it runs there
	Data  string   // ringmill's --data
	Clock *Clock   // its wall clock; nil: the machine's
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
}

// at is one of the place's ports.
func (p Place) at(port int) string {
	return net.JoinHostPort(cmp.Or(p.Host, "127.0.0.1"), strconv.Itoa(port))
}

// Place is where the node runs.
func (n *Node) Place() Place { return n.options.Place }

// Seeds are what a client of the node, or of its cluster, is made with.
func (n *Node) Seeds() []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(n.Address)}
	if dial := n.options.Place.Dial; dial != nil {
		options = append(options, kgo.Dialer(dial))
	}
	return options
}

// web is a client of the node's HTTP pages, with a connection for each request.
func (n *Node) web(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: n.options.Place.Dial}}
}
