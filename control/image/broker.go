package image

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/ringmill/ringmill/wire"
)

// Endpoint is where a node is reached on one of its listeners.
type Endpoint struct {
	Listener string `json:"name"`
	Host     string `json:"host"`
	Port     int32  `json:"port"`
	Protocol string `json:"securityProtocol"` // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
}

// Broker is one registered node of the cluster, as its newest BrokerRecord says (KIP-631). It is never changed once it is
// published.
type Broker struct {
	ID          wire.NodeID      `json:"brokerId"`
	Epoch       wire.BrokerEpoch `json:"brokerEpoch"`   // Image.Version of the record that registered this incarnation
	Incarnation wire.UUID        `json:"incarnationId"` // of one run of the node's process
	DirectoryID wire.UUID        `json:"directoryId"`   // of the directory of its quorum state
	Endpoints   []Endpoint       `json:"endPoints"`
	Rack        string           `json:"rack,omitempty"` // "": none
	// Fenced nodes are offered to no client, lead nothing and join no in-sync set.
	Fenced bool `json:"fenced"`
	// ShuttingDown nodes are in a controlled shutdown: they keep what they have until it is moved, and get nothing new.
	ShuttingDown bool `json:"inControlledShutdown,omitempty"`
	// Draining nodes lead nothing that another can lead, and get nothing new, by an operator's word, which outlives a restart.
	Draining bool `json:"draining,omitempty"`
	// Emptying nodes are draining, and their replicas are moved to others as well.
	Emptying bool                `json:"emptying,omitempty"`
	Version  string              `json:"version,omitempty"`  // of the program
	Features map[string][2]int16 `json:"features,omitempty"` // lowest and highest level, by name
	LogDirs  []wire.UUID         `json:"logDirs,omitempty"`
}

// Active reports whether new replicas and leaders may be placed on the node: it is neither fenced, nor on its way out.
func (b *Broker) Active() bool { return !b.Fenced && !b.ShuttingDown && !b.Draining }

// Endpoint gives where the node is reached on the listener of that name.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// BrokerRecord registers a node, or replaces all that is known of it. A new incarnation comes with a higher epoch.
type BrokerRecord struct{ Broker }

// RemoveBrokerRecord unregisters a node. Partition states may still name it among their replicas: what becomes of those is the
// controller's business.
type RemoveBrokerRecord struct {
	ID wire.NodeID `json:"brokerId"`
}

// The reasons of a *RecordError of a BrokerRecord or RemoveBrokerRecord.
var (
	ErrBrokerID         = errors.New("a broker's id is not negative")
	ErrBrokerEpochFalls = errors.New("the broker epoch is below the present one, or the incarnation changed without a higher one")
	ErrNoBroker         = errors.New("no such broker")
)

// Broker gives the registered node of that id, nil if there is none.
func (m *Image) Broker(id wire.NodeID) *Broker {
	at, found := findBroker(m.brokers, id)
	if !found {
		return nil
	}
	return m.brokers[at]
}

// Brokers yields the registered nodes in the order of their ids, fenced ones too.
func (m *Image) Brokers() iter.Seq[*Broker] { return slices.Values(m.brokers) }

// BrokerCount is how many nodes are registered; 0 in the image of a standalone node.
func (m *Image) BrokerCount() int { return len(m.brokers) }

func findBroker(brokers []*Broker, id wire.NodeID) (at int, found bool) {
	return slices.BinarySearchFunc(brokers, id, func(b *Broker, id wire.NodeID) int { return cmp.Compare(b.ID, id) })
}

// setBroker copies the list of nodes, which are few.
func (e *editor) setBroker(b Broker) error {
	if err := b.check(); err != nil {
		return err
	}
	at, found := findBroker(e.next.brokers, b.ID)
	if !found {
		e.next.brokers = slices.Insert(slices.Clone(e.next.brokers), at, &b)
		return nil
	}
	present := e.next.brokers[at]
	if b.Epoch < present.Epoch || b.Epoch == present.Epoch && b.Incarnation != present.Incarnation {
		return ErrBrokerEpochFalls
	}
	e.next.brokers = slices.Clone(e.next.brokers)
	e.next.brokers[at] = &b
	return nil
}

func (e *editor) removeBroker(id wire.NodeID) error {
	at, found := findBroker(e.next.brokers, id)
	if !found {
		return ErrNoBroker
	}
	e.next.brokers = slices.Delete(slices.Clone(e.next.brokers), at, at+1)
	return nil
}

func (b *Broker) check() error {
	if b.ID < 0 {
		return ErrBrokerID
	}
	if b.Epoch < 0 {
		return ErrBrokerEpochFalls
	}
	texts := []string{b.Rack, b.Version}
	for _, e := range b.Endpoints {
		texts = append(texts, e.Listener, e.Host, e.Protocol)
	}
	for name := range b.Features {
		texts = append(texts, name)
	}
	if !slices.ContainsFunc(texts, invalidUTF8) {
		return nil
	}
	return ErrNotUTF8
}

func invalidUTF8(s string) bool { return !utf8.ValidString(s) }
