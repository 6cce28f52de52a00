package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// Registration is a BrokerRegistration (62), and what our nodes say beside it.
type Registration struct {
	Request     *kmsg.BrokerRegistrationRequest
	DirectoryID wire.UUID // of the directory of its quorum state
	Version     string    // of the program
	// CleanShutdown: the run before this one ended in good order, all that it had is there.
	CleanShutdown bool
	// Locked: the process has the directory's lock, so that no earlier run of the node lives.
	Locked bool
	// Durable: the node's flush policy is commit, an unclean stop cost nothing that others count on.
	Durable bool
	// TellsLost: it names every replica whose log is gone, as a LackingReplica, before it wants to be let into service. What is left in its
	// other log directories counts.
	TellsLost bool
}

// RegisterBroker answers a BrokerRegistration. A new incarnation begins fenced, out of every in-sync set, and under a new broker epoch;
// one that is registered already keeps its epoch and its state and has the rest replaced. The Refusal says what the response has only
// the code of: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION (another incarnation is alive), INVALID_REGISTRATION (log
// directories), UNSUPPORTED_VERSION (features).
func (c *Controller) RegisterBroker(m *image.Image, now time.Duration, r Registration) ([]image.Record, *kmsg.BrokerRegistrationResponse, Refusal) {
	req := r.Request
	resp := kmsg.NewPtrBrokerRegistrationResponse()
	resp.Version, resp.BrokerEpoch = req.Version, int64(wire.NoBrokerEpoch)
	if why := c.checkRegistration(m, now, r); why.Code != wire.None {
		resp.ErrorCode = int16(why.Code)
		return nil, resp, why
	}
	b, existing := registered(r), m.Broker(wire.NodeID(req.BrokerID))
	again := existing != nil && existing.Incarnation == b.Incarnation
	b.Epoch, b.Fenced = wire.BrokerEpoch(m.Version()), true
	if again {
		b.Epoch, b.Fenced, b.ShuttingDown = existing.Epoch, existing.Fenced, existing.ShuttingDown
	}
	if existing != nil {
		b.Draining, b.Emptying = existing.Draining, existing.Emptying
	} else {
		b.Draining, b.Emptying = configuredDrain(m, b.ID)
	}
	s := c.begin(m)
	if err := s.try(image.BrokerRecord{Broker: b}); err != nil {
		resp.ErrorCode = int16(wire.InvalidRegistration)
		return nil, resp, Refusal{wire.InvalidRegistration, err.Error()}
	}
	resp.BrokerEpoch = int64(b.Epoch)
	if again {
		c.session(b.ID, now).lastContact = now
	} else {
		s.leaveEarlierRun(&b, existing, r)
		c.sessions[b.ID] = newSession(now)
	}
	return s.records, resp, Refusal{}
}

// leaveEarlierRun takes a node out of what its earlier run was in. It stays eligible if it has all that run had acknowledged: after
// a clean stop, or with a log that is durable before anybody is told. A node without its directories, or one that nobody knows, has nothing.
func (s *step) leaveEarlierRun(b, existing *image.Broker, r Registration) {
	switch {
	case existing == nil || !hasDirectories(b, existing, r):
		s.lose(b.ID, true)
	case r.CleanShutdown || r.Durable:
		s.leaveISR(b.ID)
	default:
		s.lose(b.ID, false)
	}
}

// hasDirectories reports whether b has what existing had, at least; but for log directories that are gone, where b tells itself what was in them.
func hasDirectories(b, existing *image.Broker, r Registration) bool {
	lacks := func(dir wire.UUID) bool { return !slices.Contains(b.LogDirs, dir) }
	return existing.DirectoryID == b.DirectoryID && (r.TellsLost || !slices.ContainsFunc(existing.LogDirs, lacks))
}

// registered gives what a registration says of a node.
func registered(r Registration) image.Broker {
	req := r.Request
	b := image.Broker{ID: wire.NodeID(req.BrokerID), Incarnation: req.IncarnationID, DirectoryID: r.DirectoryID, Version: r.Version}
	if req.Rack != nil {
		b.Rack = *req.Rack
	}
	for _, l := range req.Listeners {
		b.Endpoints = append(b.Endpoints, image.Endpoint{Listener: l.Name, Host: l.Host, Port: int32(l.Port), Protocol: protocolName(l.SecurityProtocol)})
	}
	for _, f := range req.Features {
		if b.Features == nil {
			b.Features = make(map[string][2]int16)
		}
		b.Features[f.Name] = [2]int16{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	for _, dir := range req.LogDirs {
		b.LogDirs = append(b.LogDirs, dir)
	}
	return b
}

// securityProtocols are the names by id (org.apache.kafka.common.security.auth.SecurityProtocol).
var securityProtocols = [...]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

func protocolName(id int16) string {
	if id >= 0 && int(id) < len(securityProtocols) {
		return securityProtocols[id]
	}
	return ""
}

// checkRegistration judges a registration. Beyond Kafka's rules, a run that has locked the directory of the one before it need not wait until
// that one's session is over.
func (c *Controller) checkRegistration(m *image.Image, now time.Duration, r Registration) Refusal {
	req := r.Request
	if m.ClusterID() != req.ClusterID {
		return Refusal{wire.InconsistentClusterID, fmt.Sprintf("Expected cluster ID %s, but got cluster ID %s", m.ClusterID(), req.ClusterID)}
	}
	existing := m.Broker(wire.NodeID(req.BrokerID))
	another := existing != nil && existing.Incarnation != req.IncarnationID
	if another && !(r.Locked && existing.DirectoryID == r.DirectoryID) && c.hasValidSession(existing, now) {
		return Refusal{wire.DuplicateBrokerRegistration, "Another broker is registered with that broker id."}
	}
	if req.BrokerID < 0 || slices.ContainsFunc(req.Listeners, func(l kmsg.BrokerRegistrationRequestListener) bool { return protocolName(l.SecurityProtocol) == "" }) {
		return Refusal{wire.InvalidRegistration, "The broker id is negative, or a listener has an unknown security protocol."}
	}
	if why := checkLogDirs(m, req); why.Code != wire.None {
		return why
	}
	return checkFeatures(m, req)
}

// checkLogDirs: each directory has an identity of its own in the whole cluster (KIP-858).
func checkLogDirs(m *image.Image, req *kmsg.BrokerRegistrationRequest) Refusal {
	if len(req.LogDirs) == 0 {
		return Refusal{wire.InvalidRegistration, "No directories specified in request"}
	}
	if slices.ContainsFunc(req.LogDirs, reservedDirectory) {
		return Refusal{wire.InvalidRegistration, "Reserved directory ID in request"}
	}
	for i, dir := range req.LogDirs {
		if slices.Contains(req.LogDirs[:i], dir) {
			return Refusal{wire.InvalidRegistration, "Duplicate directory ID in request"}
		}
		for b := range m.Brokers() {
			if b.ID != wire.NodeID(req.BrokerID) && slices.Contains(b.LogDirs, wire.UUID(dir)) {
				return Refusal{wire.InvalidRegistration, fmt.Sprintf("Broker %d is already registered with directory %s", b.ID, wire.UUID(dir))}
			}
		}
	}
	return Refusal{}
}

// reservedDirectory: the first 100 ids stand for no directory (org.apache.kafka.common.DirectoryId).
func reservedDirectory(dir [16]byte) bool {
	for _, b := range dir[:15] {
		if b != 0 {
			return false
		}
	}
	return dir[15] < 100
}

// metadataVersion is the feature that brokers which do not name it are taken to know the first level of only.
const (
	metadataVersion        = "metadata.version"
	metadataVersionMinimum = 7 // 3.3-IV3, MetadataVersion.MINIMUM_VERSION of Kafka 4
)

// checkFeatures: the node must know every feature at the level at which the cluster has it.
func checkFeatures(m *image.Image, req *kmsg.BrokerRegistrationRequest) Refusal {
	ranges := make(map[string][2]int16, len(req.Features))
	for _, f := range req.Features {
		ranges[f.Name] = [2]int16{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	if _, named := ranges[metadataVersion]; !named {
		ranges[metadataVersion] = [2]int16{metadataVersionMinimum, metadataVersionMinimum}
	}
	for name, level := range m.Features() {
		if _, named := ranges[name]; !named && level != 0 {
			ranges[name] = [2]int16{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		level, set := m.FeatureLevel(name)
		if !set && name == metadataVersion {
			level = ranges[name][0] // nobody said yet
		}
		if known := ranges[name]; level < known[0] || level > known[1] {
			return Refusal{wire.UnsupportedVersion, fmt.Sprintf("Unable to register because the broker does not support finalized version %d of %s. "+
				"The broker wants a version between %d and %d, inclusive.", level, name, known[0], known[1])}
		}
	}
	return Refusal{}
}
