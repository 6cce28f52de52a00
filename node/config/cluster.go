package config

import (
	"encoding/base64"
	"net"
	"slices"
	"strconv"
	"strings"
)

// gossipPort is where serf's own agent listens, and a node unless ringmill.gossip.listen says otherwise.
const gossipPort = "7946"

// gossipKeyBytes is the length of an AES-256 key.
const gossipKeyBytes = 32

// rackAwareSelector is the class of Kafka's own that picks a replica in the consumer's rack (KIP-392).
const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// Cluster reports whether the configuration alone makes the node one of several: it has seeds, expects others, or begins a cluster with
// what it has. A node that has been one of a cluster stays one without any of these (it has state/quorum).
func (c *Config) Cluster() bool {
	return c.BootstrapExpect > 1 || len(c.Seeds) > 0 || c.BootstrapAlone == AloneBegin
}

// InterBroker is the index in Listeners and AdvertisedListeners of the listener that other nodes connect to.
func (c *Config) InterBroker() int {
	for i, l := range c.Listeners {
		if strings.EqualFold(l.Name, c.InterBrokerListener) {
			return i
		}
	}
	return 0
}

// RackAwareReads reports whether consumers are told of a replica in their rack to read from.
func (c *Config) RackAwareReads() bool { return c.ReplicaSelector == rackAwareSelector }

// buildCluster checks the addresses that nodes find each other by, and puts in what follows from the listeners.
func (c *Config) buildCluster() error {
	for i, seed := range c.Seeds {
		address, ok := withGossipPort(seed)
		if !ok {
			return c.errorAt("seeds", printable(strconv.Quote(seed))+" is not an address", "write host:port, as in 10.0.0.7:7946, separated by commas")
		}
		c.Seeds[i] = address
	}
	if c.GossipListen == "" {
		c.GossipListen = net.JoinHostPort(c.Listeners[0].Host, gossipPort)
		c.setDerived("ringmill.gossip.listen", c.GossipListen)
	}
	for _, key := range []string{"ringmill.gossip.listen", "ringmill.gossip.advertise"} {
		if address, _ := c.text(key); address != "" && !reachableGossip(key, address) {
			return c.errorAt(key, "not an address", "write host:port, as in 10.0.0.7:7946")
		}
	}
	if c.Authorizer && c.Cluster() && !slices.Contains(c.SuperUsers, "User:ANONYMOUS") {
		return c.errorAt("super.users", "the nodes of a cluster ask each other without authentication, and would be refused before they know any ACL", "add User:ANONYMOUS, and keep their listener from others")
	}
	if c.InterBrokerListener != "" && !strings.EqualFold(c.Listeners[c.InterBroker()].Name, c.InterBrokerListener) {
		return c.errorAt("inter.broker.listener.name", "no listener is called that", "name one of listeners")
	}
	return nil
}

// withGossipPort completes a seed that is a host alone.
func withGossipPort(seed string) (string, bool) {
	if host, _, ok := splitAddress(seed); ok {
		return seed, host != ""
	}
	host := strings.Trim(seed, "[]")
	if host == "" || strings.ContainsAny(host, "/ ") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return "", false
	}
	return net.JoinHostPort(host, gossipPort), true
}

// reachableGossip: an empty host is every interface to listen at, and no address to advertise.
func reachableGossip(key, address string) bool {
	host, _, ok := splitAddress(address)
	return ok && (host != "" || key == "ringmill.gossip.listen")
}

// splitAddress takes host:port apart.
func splitAddress(address string) (host string, port int, ok bool) {
	host, text, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsAny(host, "/ ") {
		return "", 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return host, int(n), err == nil
}

// gossipKey allows a key of AES-256 in base64.
type gossipKey struct{}

func (gossipKey) Problem(v any) (string, string) {
	if key, err := base64.StdEncoding.DecodeString(v.(string)); err != nil || len(key) != gossipKeyBytes {
		return "not 32 bytes in base64", ""
	}
	return "", ""
}

func (gossipKey) String() string { return "32 bytes in base64" }
