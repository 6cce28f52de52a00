package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// feature is one of Kafka's features: the levels that can be asked for, and the one that is in force.
type feature struct {
	name     string
	min, max int16
	// level is what is finalized; 0 is not told of.
	level func(b Broker) int16
	// alterable: UpdateFeatures sets it.
	alterable bool
	// clustered: a node of its own does not have it. lasting: it is never lowered.
	clustered, lasting bool
}

// highest is the highest level that this release knows.
func (f *feature) highest(b Broker) int16 {
	if f.name == FormatFeature {
		return b.Config().FormatMax
	}
	return f.max
}

// FormatFeature is the level of ringmill's own formats, of metadata records and of what is in state/. A release writes them as the level that
// is finalized says, whatever newer ones it knows, so that the release before it can be started again until an operator finalizes.
const FormatFeature = "ringmill.format"

// formatFirst is the level of a cluster that never finalized another.
const formatFirst int16 = 1

// FormatLevel is the level of ringmill.format that the cluster has.
func FormatLevel(m *image.Image) int16 {
	if level, set := m.FeatureLevel(FormatFeature); set {
		return level
	}
	return formatFirst
}

// features are those that are built, each finalized at its highest level, as in a new Kafka 4.1 cluster; share.version too,
// which Kafka 4.2 is the first to have at 1.
var features = []feature{
	// group.version: clients and tools that see it finalized take the consumer protocol for theirs to use (KIP-848).
	{name: "group.version", min: 0, max: 1, level: groupVersion},
	// transaction.version: clients that see it finalized at 2 add no partitions to their transactions and get a new epoch
	// at the end of each (KIP-890).
	{name: "transaction.version", min: 0, max: 2, level: always(2)},
	// share.version: at 1 there are share groups (KIP-932).
	{name: shareVersionName, min: 0, max: 1, level: shareVersion, alterable: true},
	// metadata.version: tools take the version of the cluster from it; 27 is 4.1-IV1, the last of 4.1, 7 is 3.3-IV3.
	{name: "metadata.version", min: 7, max: 27, level: always(27)},
	// kraft.version: at 1 the voters can be changed (KIP-853).
	{name: "kraft.version", min: 0, max: 1, level: always(1), clustered: true},
	// eligible.leader.replicas.version: at 1 the last replicas in sync lose nothing when they are gone (KIP-966).
	{name: "eligible.leader.replicas.version", min: 0, max: 1, level: always(1), clustered: true},
	// 0 is that nobody has finalized a level, which is formatFirst.
	{name: FormatFeature, min: 0, level: formatLevel, alterable: true, clustered: true, lasting: true},
}

func formatLevel(b Broker) int16 { return FormatLevel(b.Image()) }

// served reports whether a node has the feature.
func (f *feature) served(b Broker) bool { return !f.clustered || b.Clustered() }

func always(level int16) func(Broker) int16 { return func(Broker) int16 { return level } }

// groupVersion is 0 where the node's configuration leaves the consumer protocol out.
func groupVersion(b Broker) int16 {
	if servesConsumerProtocol(b) {
		return 1
	}
	return 0
}

// shareVersionName is Kafka's name of the feature.
const shareVersionName = "share.version"

// shareVersion is what the metadata says, and 1 where it says nothing.
func shareVersion(b Broker) int16 {
	if level, set := b.Image().FeatureLevel(shareVersionName); set {
		return level
	}
	return 1
}

// SupportedFeature is a feature that this release knows, at levels from Min to Max.
type SupportedFeature struct {
	Name     string
	Min, Max int16
}

// SupportedFeatures are those that a node of a cluster registers with.
func SupportedFeatures(b Broker) (all []SupportedFeature) {
	for i := range features {
		all = append(all, SupportedFeature{features[i].name, features[i].min, features[i].highest(b)})
	}
	return all
}

// featureNamed is a feature that the node has; nil for others.
func featureNamed(b Broker, name string) *feature {
	for i := range features {
		if features[i].name == name && features[i].served(b) {
			return &features[i]
		}
	}
	return nil
}

// fillFeatures tells of the features. Up to version 3 a supported feature whose lowest level is 0 is left out, which
// clients of that time would not accept (KAFKA-17492). The epoch is the offset of the last metadata record.
func fillFeatures(b Broker, resp *kmsg.ApiVersionsResponse, v wire.APIVersion) {
	resp.FinalizedFeaturesEpoch = int64(b.Image().Version()) - 1
	for i := range features {
		f := &features[i]
		if !f.served(b) {
			continue
		}
		if v > apiVersionsFeaturesFrom || f.min > 0 {
			s := kmsg.NewApiVersionsResponseSupportedFeature()
			s.Name, s.MinVersion, s.MaxVersion = f.name, f.min, f.highest(b)
			resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		}
		if level := f.level(b); level > 0 {
			s := kmsg.NewApiVersionsResponseFinalizedFeature()
			s.Name, s.MinVersionLevel, s.MaxVersionLevel = f.name, level, level
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, s)
		}
	}
}
