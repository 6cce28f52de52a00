package config

import (
	"maps"
	"slices"
)

// Entry is one property as DescribeConfigs answers it (versions 1 to 4).
type Entry struct {
	Name      string
	Value     *string // nil for null, and for what is sensitive
	Source    ConfigSource
	Synonyms  []Synonym // strongest first; the first is in force
	Type      Type
	Doc       string
	ReadOnly  bool
	Sensitive bool
}

// Synonym is a value that a weaker layer, or another property that stands for this one, has.
type Synonym struct {
	Name   string
	Value  *string
	Source ConfigSource
}

// DescribeTopic lists a topic's properties in the order of their names, given those set on it.
func (c *Config) DescribeTopic(overrides map[string]string) []Entry {
	var entries []Entry
	for i := range table {
		if p := &table[i]; p.In(TopicScope) && !p.Internal {
			entries = append(entries, c.topicEntry(p, overrides))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return compareNames(a.Name, b.Name) })
	return entries
}

func (c *Config) topicEntry(p *Property, overrides map[string]string) Entry {
	var synonyms []Synonym
	if v, ok := overrides[p.Name]; ok {
		synonyms = append(synonyms, p.synonymAt(DynamicTopicConfig, v))
	}
	broker := p.BrokerSynonym
	if p.Scope == BothScopes {
		broker = p.Name
	}
	if broker != "" {
		synonyms = append(synonyms, c.synonyms(broker)...)
	}
	text, ok := c.topicText(overrides, p.Name)
	return p.entry(text, ok, synonyms)
}

// DescribeBroker lists this node's properties in the order of their names.
func (c *Config) DescribeBroker() []Entry {
	var entries []Entry
	for i := range table {
		if p := &table[i]; p.In(BrokerScope) && !p.Internal {
			text, ok := c.text(p.Name)
			e := p.entry(text, ok, c.synonyms(p.Name))
			e.ReadOnly = p.Update == ReadOnly
			entries = append(entries, e)
		}
	}
	for name := range dynamicOnly(c.node, c.cluster) {
		entries = append(entries, c.dynamicEntry(name, DynamicBrokerConfig, DynamicDefaultBrokerConfig))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return compareNames(a.Name, b.Name) })
	return entries
}

// DescribeCluster lists what is set dynamically for all nodes: the answer for a broker with an empty name.
func (c *Config) DescribeCluster() []Entry {
	var entries []Entry
	dynamic := dynamicOnly(c.cluster)
	for _, name := range slices.Sorted(maps.Keys(c.cluster)) {
		if _, only := dynamic[name]; only {
			entries = append(entries, c.dynamicEntry(name, DynamicDefaultBrokerConfig))
			continue
		}
		p := brokerTable[name]
		entries = append(entries, p.entry(c.cluster[name], true, []Synonym{p.synonymAt(DynamicDefaultBrokerConfig, c.cluster[name])}))
	}
	return entries
}

// dynamicOnly are the names in the layers that no file can set: Kafka's of that kind, and those of plug-ins.
func dynamicOnly(layers ...map[string]string) map[string]struct{} {
	names := make(map[string]struct{})
	for _, layer := range layers {
		for name := range layer {
			if _, static := brokerTable[name]; !static {
				names[name] = struct{}{}
			}
		}
	}
	return names
}

// dynamicEntry describes one of dynamicOnly over the layers, without documentation and as read-only, as Kafka does. Who knows what a
// plug-in's holds.
func (c *Config) dynamicEntry(name string, layers ...ConfigSource) Entry {
	p, known := dynamicTable[name]
	if !known {
		p = &Property{Name: name, Type: Unknown}
	}
	e := Entry{Name: name, Type: p.Type, Sensitive: p.Type.secret(), ReadOnly: true}
	for _, layer := range layers {
		if text, set := c.at(layer, name); set {
			e.Synonyms = append(e.Synonyms, p.synonymAt(layer, text))
		}
	}
	e.Value, e.Source = e.Synonyms[0].Value, e.Synonyms[0].Source
	return e
}

func (p *Property) entry(text string, ok bool, synonyms []Synonym) Entry {
	e := Entry{Name: p.Name, Source: DefaultConfig, Synonyms: synonyms, Type: p.Type, Doc: p.Documentation(), Sensitive: p.Type.secret()}
	if ok {
		e.Value = p.shownValue(text)
	}
	if len(synonyms) > 0 {
		e.Source = synonyms[0].Source
	}
	return e
}

func (p *Property) synonymAt(source ConfigSource, text string) Synonym {
	return Synonym{Name: p.Name, Value: p.shownValue(text), Source: source}
}

// shownValue is the canonical text, or nil for a secret.
func (p *Property) shownValue(text string) *string {
	if p.Type.secret() {
		return nil
	}
	v := canonical(p.Type, text)
	return &v
}

// synonyms lists a broker property's values over the layers, as Kafka does: in each, the property's own and those of what can stand
// for it, from the first of its own on.
func (c *Config) synonyms(name string) []Synonym {
	var found []Synonym
	for _, layer := range layers {
		for _, n := range alternativesOf(name) {
			if v, ok := c.at(layer, n); ok && (len(found) > 0 || n == name) {
				found = append(found, brokerTable[n].synonymAt(layer, v))
			}
		}
	}
	return found
}
