package config

import "strings"

// listenerPrefix begins the properties of one listener: listener.name.NAME.PROPERTY, with the name in small letters.
const listenerPrefix = "listener.name."

// listenerTable are the properties that a listener can have of its own; others under the prefix have no effect (retired.go).
var listenerTable = map[string]*Property{
	"max.connection.creation.rate": {Name: "max.connection.creation.rate", Type: Int, Check: atLeast(1), Update: ClusterWide},
}

// settable finds the row of a name that is a broker property, or one of a listener's; nil if it is neither.
func settable(name string) *Property {
	if p := brokerTable[name]; p != nil {
		return p
	}
	rest, ok := strings.CutPrefix(name, listenerPrefix)
	if _, property, named := strings.Cut(rest, "."); ok && named {
		return listenerTable[property]
	}
	return nil
}

// buildListenerRates reads max.connection.creation.rate of each listener; the node's is its default.
func (c *Config) buildListenerRates() error {
	c.ListenerConnectionRates = make(map[string]int, len(c.Listeners))
	for _, l := range c.Listeners {
		c.ListenerConnectionRates[l.Name] = c.ConnectionRateMax
		name := listenerPrefix + strings.ToLower(l.Name) + ".max.connection.creation.rate"
		for _, layer := range []ConfigSource{DynamicBrokerConfig, DynamicDefaultBrokerConfig, StaticBrokerConfig} {
			if text, ok := c.at(layer, name); ok {
				value, _ := parseValue(Int, text)
				c.ListenerConnectionRates[l.Name] = int(value.(int64))
				break
			}
		}
	}
	return nil
}
