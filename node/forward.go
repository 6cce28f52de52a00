package node

import (
	"errors"
	"time"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// forwardTimeout is how long a request waits for a controller to answer it (Kafka's request.timeout.ms).
const forwardTimeout = 30 * time.Second

// forward has the controller answer a client's request, and gives the response's body; while no node is the controller it waits for
// one. When it has the answer this node has followed the metadata to what it led to, if that does not take long: a client
// that has made a topic finds it at the node that it asked.
func (c *cluster) forward(req *api.Request, gone <-chan struct{}) ([]byte, error) {
	f := forwardRequest{cluster: c.clusterID(), client: req.Client, header: req.Header, body: req.Body}
	deadline := time.Now().Add(forwardTimeout)
	for pause := peerBackoffMin; ; pause = min(2*pause, peerBackoffMax) {
		v := c.quorum.view.Load()
		if v.here {
			return nil, errControllerHere
		}
		if v.address != "" {
			a, err := c.forwardTo(v.address, &f, time.Until(deadline))
			if err == nil && a.code == wire.None {
				req.ThrottleMS = max(req.ThrottleMS, a.throttleMS)
				c.follower.await(a.version, followPatience)
				return a.body, nil
			}
			if err == nil && a.code != wire.NotController {
				return nil, errors.New("node: the controller refused a request: " + a.message)
			}
		}
		if time.Now().Add(pause).After(deadline) {
			return nil, errNoController
		}
		select {
		case <-time.After(pause):
		case <-gone:
			return nil, errGone
		case <-c.node.quit:
			return nil, errStopping
		}
	}
}

// followPatience is how long an answer of the controller is held back until this node has followed the metadata to it.
const followPatience = 5 * time.Second

// errControllerHere says that this node is the controller itself.
var errControllerHere = errors.New("node: this node is the controller")

func (c *cluster) forwardTo(addr string, f *forwardRequest, timeout time.Duration) (forwardAnswer, error) {
	body, err := c.peers.callRaw(addr, wire.RequestHeader{Key: wire.KeyForward}, f.appendTo(nil), timeout)
	if err != nil {
		return forwardAnswer{}, err
	}
	return readForwardAnswer(body)
}

// forwarded answers a request that another node has forwarded, if this node is the controller.
func (c *cluster) forwarded(body []byte) (a forwardAnswer) {
	f, err := readForward(body)
	switch {
	case err != nil:
		a.code, a.message = wire.InvalidRequest, err.Error()
	case !c.quorum.view.Load().here:
		a.code = wire.NotController
	case !api.ForController(f.header.Key):
		a.code, a.message = wire.InvalidRequest, "the controller does not answer requests of this kind for others"
	default:
		req := api.Request{Header: f.header, Body: f.body, Client: f.client}
		if a.body, err = api.Answer(nil, c.node, &req); err != nil {
			a.code, a.message = wire.InvalidRequest, err.Error()
		}
		a.throttleMS, a.version = req.ThrottleMS, c.node.Image().Version()
	}
	return a
}
