package config

import "slices"

// ConfigSource says which layer a value comes from. The numbers are DescribeConfigs' (KIP-226).
type ConfigSource int8

// The layers of a broker's and of a topic's, strongest first, and the sources of resources that have none.
const (
	DynamicTopicConfig         ConfigSource = 1
	DynamicBrokerConfig        ConfigSource = 2 // set for this node
	DynamicDefaultBrokerConfig ConfigSource = 3 // set for all nodes
	StaticBrokerConfig         ConfigSource = 4 // file, environment or flag
	DefaultConfig              ConfigSource = 5
	DynamicBrokerLoggerConfig  ConfigSource = 6 // a logger's level
	DynamicClientMetricsConfig ConfigSource = 7
	DynamicGroupConfig         ConfigSource = 8
)

// at returns a property's value in one layer of the broker's; ok is false if the layer has none, or null.
func (c *Config) at(layer ConfigSource, name string) (value string, ok bool) {
	switch layer {
	case DynamicBrokerConfig:
		value, ok = c.node[name]
	case DynamicDefaultBrokerConfig:
		value, ok = c.cluster[name]
	case StaticBrokerConfig:
		var s setting
		s, ok = c.static[name]
		value = s.value
	case DefaultConfig:
		return c.defaultOf(name)
	}
	return value, ok
}

func (c *Config) defaultOf(name string) (string, bool) {
	if v, ok := c.derived[name]; ok {
		return v, true
	}
	p := brokerTable[name]
	return p.Default, !p.Nullable
}

// layers are those of a broker, strongest first.
var layers = []ConfigSource{DynamicBrokerConfig, DynamicDefaultBrokerConfig, StaticBrokerConfig, DefaultConfig}

// text is a property's value in the strongest layer that has one; ok is false if it is null.
func (c *Config) text(name string) (string, bool) {
	for _, layer := range layers {
		if v, ok := c.at(layer, name); ok {
			return v, true
		}
	}
	return "", false
}

// Value is the text of a broker property as it is in force; ok is false if it is null or there is no such property.
func (c *Config) Value(name string) (string, bool) {
	p, known := brokerTable[name]
	if !known {
		return "", false
	}
	v, ok := c.text(name)
	return canonical(p.Type, v), ok
}

// alternatives are properties that mean the same in other units, strongest first. DescribeConfigs lists them together.
var alternatives = [][]string{
	{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
	{"log.roll.ms", "log.roll.hours"},
	{"log.roll.jitter.ms", "log.roll.jitter.hours"},
}

// alternativesOf lists name and what else can stand for it. log.flush.interval.ms takes its default from another
// property, which does not take it back.
func alternativesOf(name string) []string {
	if name == "log.flush.interval.ms" {
		return []string{name, "log.flush.scheduler.interval.ms"}
	}
	for _, names := range alternatives {
		if slices.Contains(names, name) {
			return names
		}
	}
	return []string{name}
}
