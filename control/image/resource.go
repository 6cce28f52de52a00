package image

import "fmt"

// Resource is what a configuration belongs to.
type Resource struct {
	Type ResourceType `json:"type"`
	Name string       `json:"name"` // a topic's name, a broker's number or "" for all brokers, a group's id, a subscription's name
}

// ResourceType is a kind of resource (org.apache.kafka.common.config.ConfigResource.Type).
type ResourceType int8

// The resource types that keep a configuration.
const (
	TopicResource         ResourceType = 2
	BrokerResource        ResourceType = 4
	ClientMetricsResource ResourceType = 16
	GroupResource         ResourceType = 32
)

var resourceNames = map[ResourceType]string{
	TopicResource: "topic", BrokerResource: "broker", ClientMetricsResource: "client-metrics", GroupResource: "group",
}

// known reports whether a configuration can be kept for such resources.
func (t ResourceType) known() bool { return resourceNames[t] != "" }

// String gives the word that stands in the file.
func (t ResourceType) String() string {
	if name := resourceNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("resource type %d", int8(t))
}

// MarshalText is String, for the file.
func (t ResourceType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText writes for a known type.
func (t *ResourceType) UnmarshalText(text []byte) error {
	for known, name := range resourceNames {
		if name == string(text) {
			*t = known
			return nil
		}
	}
	return fmt.Errorf("unknown resource type %q", text)
}
