package node

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/lacking"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// What ringmill's nodes say of themselves beside Kafka's BrokerRegistration and BrokerHeartbeat, in tagged fields that Kafka does not know. The tags are
// far above those that Kafka numbers.
const (
	tagDirectoryID   = 10000 // 16 bytes
	tagVersion       = 10001 // UTF-8
	tagCleanShutdown = 10002 // one byte, 1 for yes
	tagDurable       = 10003 // one byte, 1 for yes
	tagLocked        = 10004 // one byte, 1 for yes
	tagLacking       = 10005 // of a heartbeat: see appendLacking
	tagClock         = 10006 // of a heartbeat's answer: the controller's wall clock, Unix milliseconds, 8 bytes
	tagTellsLost     = 10007 // one byte, 1 for yes
	tagGone          = 10008 // of a heartbeat: those of tagLacking of which nothing is left, encoded as they are
)

// brokerRegistrationVersion is the newest that is sent: the first with log directories' ids and the previous epoch (KIP-858, KIP-966).
const brokerRegistrationVersion = 3

// registration is what the node tells the controller of itself, with all that Kafka's request has no field for.
func (c *cluster) registration() (*kmsg.BrokerRegistrationRequest, error) {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = brokerRegistrationVersion
	req.BrokerID, req.ClusterID, req.IncarnationID = int32(c.node.Config().NodeID), c.clusterID(), c.incarnation
	req.PreviousBrokerEpoch = -1
	for _, e := range c.endpoints() {
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port = e.Listener, e.Host, e.Port // PLAINTEXT, as all listeners are
		req.Listeners = append(req.Listeners, l)
	}
	if rack := c.node.Config().BrokerRack; rack != "" {
		req.Rack = &rack
	}
	for _, f := range api.SupportedFeatures(c.node) {
		supported := kmsg.NewBrokerRegistrationRequestFeature()
		supported.Name, supported.MinSupportedVersion, supported.MaxSupportedVersion = f.Name, f.Min, f.Max
		req.Features = append(req.Features, supported)
	}
	dirs, err := c.node.logDirIDs()
	if err != nil {
		return nil, err
	}
	for _, id := range dirs {
		req.LogDirs = append(req.LogDirs, id)
	}
	c.tellRegistration(req)
	return req, nil
}

// tellRegistration adds to a registration what Kafka's has no field for.
func (c *cluster) tellRegistration(req *kmsg.BrokerRegistrationRequest) {
	n := c.node
	clean := true
	for _, d := range n.dirs {
		clean = clean && d.clean
	}
	req.UnknownTags.Set(tagDirectoryID, c.directory[:])
	req.UnknownTags.Set(tagVersion, []byte(Version()))
	req.UnknownTags.Set(tagCleanShutdown, flag(clean))
	req.UnknownTags.Set(tagLocked, flag(true)) // openDirs has it
	req.UnknownTags.Set(tagDurable, flag(n.Config().FlushPolicy() == config.FlushCommit))
	req.UnknownTags.Set(tagTellsLost, flag(true)) // noteLost
}

func flag(yes bool) []byte {
	if yes {
		return []byte{1}
	}
	return []byte{0}
}

// readRegistration reads a registration with what was added to it.
func readRegistration(req *kmsg.BrokerRegistrationRequest) controller.Registration {
	r := controller.Registration{Request: req}
	req.UnknownTags.Each(func(tag uint32, value []byte) {
		switch yes := len(value) == 1 && value[0] == 1; tag {
		case tagDirectoryID:
			copy(r.DirectoryID[:], value)
		case tagVersion:
			r.Version = string(value)
		case tagCleanShutdown:
			r.CleanShutdown = yes
		case tagLocked:
			r.Locked = yes
		case tagDurable:
			r.Durable = yes
		case tagTellsLost:
			r.TellsLost = yes
		}
	})
	return r
}

// tellLacking names lacking replicas in a heartbeat.
func tellLacking(req *kmsg.BrokerHeartbeatRequest, some []controller.LackingReplica) {
	if len(some) == 0 {
		return
	}
	req.UnknownTags.Set(tagLacking, appendLacking(nil, some))
	gone := slices.DeleteFunc(slices.Clone(some), func(k controller.LackingReplica) bool { return !k.Gone })
	if len(gone) > 0 {
		req.UnknownTags.Set(tagGone, appendLacking(nil, gone))
	}
}

// lackingOf are the lacking replicas that a heartbeat names.
func lackingOf(req *kmsg.BrokerHeartbeatRequest) (some []controller.LackingReplica) {
	gone := make(map[lacking.Replica]bool)
	req.UnknownTags.Each(func(tag uint32, value []byte) {
		switch tag {
		case tagLacking:
			some = readLacking(value)
		case tagGone:
			for _, k := range readLacking(value) {
				gone[lacking.Replica{Topic: k.Topic, Partition: k.Partition}] = true
			}
		}
	})
	for i := range some {
		some[i].Gone = gone[lacking.Replica{Topic: some[i].Topic, Partition: some[i].Partition}]
	}
	return some
}

// logDirIDs are the identities of the log directories that have one (KIP-858).
func (n *Node) logDirIDs() (ids []wire.UUID, err error) {
	for _, d := range n.dirs {
		props, err := readMetaProperties(d)
		if err != nil {
			return nil, err
		}
		if props == nil {
			continue
		}
		if id, ok := wire.ParseUUID(props.DirectoryID); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
