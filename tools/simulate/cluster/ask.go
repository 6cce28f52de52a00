package cluster

import (
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
)

const (
	clientPatience = 800 * time.Millisecond // request.timeout.ms of clients
	clientBackoff  = 50 * time.Millisecond  // retry.backoff.ms
)

// ask carries a request to a node and its answer back on a connection of their own. serve runs on the node and gives its answer
// as what the asker then does; lost runs instead if there is none in time.
func (c *Cluster) ask(from *world.Process, to *Node, what string, patience time.Duration, serve func(reply func(func())), lost func()) {
	conn := c.network.Connect(from, to.process)
	done := false
	finish := func(fn func()) {
		if !done {
			done = true
			fn()
		}
	}
	conn.Send(what, func() {
		serve(func(answer func()) { conn.Answer(what+" answer", func() { finish(answer) }) })
	})
	from.After(patience, func() { finish(func() { conn.Close(); lost() }) })
}
