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
		if v.here && c.ready() {
			return nil, errControllerHere
		}
		if !v.here && v.address != "" {
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
		case <-c.node.draining:
			return nil, errNoController
		case <-c.node.quit:
			return nil, errStopping
		}
	}
}

// ready tells whether this node, the controller, has followed the metadata to all that has been decided so far; it waits for that. Requests are
// answered from the node's image, and a controller that has only just started or won its election may not have one of what exists.
func (c *cluster) ready() bool {
	return c.follower.await(c.follower.latest().Version(), followPatience)
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

// answerOrForward answers a request that is the controller's to answer: here, if this node is that and was so after the request came, or as
// the controller says. Where there is none the answer says NOT_CONTROLLER.
func (c *cluster) answerOrForward(frame []byte, broker api.Broker, req *api.Request, gone <-chan struct{}) ([]byte, error) {
	for mark := c.quorum.mark(); ; {
		body, err := c.forward(req, gone)
		switch {
		case err == nil:
			return append(frame, body...), nil
		case errors.Is(err, errGone) || errors.Is(err, errStopping):
			return nil, err
		case !errors.Is(err, errControllerHere):
			c.node.log.throttled("a request for the controller is answered without it", "api", req.Header.Key.String(), "error", err)
			return api.Answer(frame, broker, req)
		}
		answer, err := api.Answer(frame, broker, req)
		if err != nil || c.confirm(mark) == wire.None {
			return answer, err
		}
		frame = answer[:len(frame)]
	}
}

// forwarded answers a request that another node has forwarded, if this node is the controller and was so after the request came.
func (c *cluster) forwarded(body []byte) (a forwardAnswer) {
	mark := c.quorum.mark()
	f, err := readForward(body)
	switch {
	case err != nil:
		a.code, a.message = wire.InvalidRequest, err.Error()
	case !c.quorum.view.Load().here || !c.ready():
		a.code = wire.NotController
	case !api.ForController(f.header.Key):
		a.code, a.message = wire.InvalidRequest, "the controller does not answer requests of this kind for others"
	default:
		req := api.Request{Header: f.header, Body: f.body, Client: f.client}
		if a.body, err = api.Answer(nil, c.node, &req); err != nil {
			a.code, a.message = wire.InvalidRequest, err.Error()
		} else if code := c.confirm(mark); code != wire.None {
			return forwardAnswer{peerRefusal: peerRefusal{code: code}}
		}
		a.throttleMS, a.version = req.ThrottleMS, c.node.Image().Version()
	}
	return a
}
