package config

import (
	"maps"
	"net"
	"slices"
	"strings"
)

// Source says where a configuration comes from. A later line wins over an earlier one.
type Source struct {
	File   string   // server.properties, or "" for none
	Env    []string // "NAME=value", as os.Environ gives them; only RINGMILL_* is looked at
	Listen string   // --listen: host:port, or "" for none
	Data   string   // --data: directory, or "" for none
	Join   []string // --join: gossip addresses of other nodes
	Set    []string // --set: "key=value", the last of a key wins
}

// Load reads the sources into a checked Config. It opens no file but Source.File and nothing on the network.
//
// The notices tell, in order of their keys, what was accepted and has no effect. An *Error names the first setting that
// cannot be used.
func Load(src Source) (*Config, []Notice, error) {
	settings, err := src.read()
	if err != nil {
		return nil, nil, err
	}
	static := make(map[string]setting)
	var notices []Notice
	for _, s := range settings {
		notice, err := s.place(static)
		if err != nil {
			return nil, nil, err
		}
		if notice != nil {
			notices = append(notices, *notice)
		}
	}
	c := &Config{static: static}
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	mirrorNodeID(static)
	if err := c.build(); err != nil {
		return nil, nil, err
	}
	return c, c.notices(notices), nil
}

// read collects all settings, weakest source first.
func (src Source) read() ([]setting, error) {
	var all []setting
	if src.File != "" {
		fromFile, err := readFile(src.File)
		if err != nil {
			return nil, err
		}
		all = append(all, fromFile...)
	}
	fromEnvironment, err := readEnvironment(src.Env)
	if err != nil {
		return nil, err
	}
	all = append(all, fromEnvironment...)
	short, err := src.shortForms()
	if err != nil {
		return nil, err
	}
	all = append(all, short...)
	set, err := src.sets()
	return append(all, set...), err
}

func (src Source) shortForms() ([]setting, error) {
	var found []setting
	if src.Listen != "" {
		listeners, err := listenersOf(src.Listen)
		if err != nil {
			return nil, err
		}
		found = append(found, setting{"listeners", listeners, "--listen"})
	}
	if src.Data != "" {
		found = append(found, setting{"ringmill.data.dir", src.Data, "--data"})
	}
	if len(src.Join) > 0 {
		found = append(found, setting{"seeds", strings.Join(src.Join, ","), "--join"})
	}
	return found, nil
}

// listenersOf turns --listen's host:port into the listeners property. A whole listeners value is taken as it is.
func listenersOf(address string) (string, error) {
	if strings.Contains(address, "://") {
		return address, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", &Error{Key: "listeners", Value: address, Source: "--listen", Problem: "not an address", Cure: "write host:port, as in 127.0.0.1:9092"}
	}
	return "PLAINTEXT://" + address, nil
}

func (src Source) sets() ([]setting, error) {
	var found []setting
	for _, s := range src.Set {
		key, value, ok := strings.Cut(s, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, &Error{Key: s, Source: "--set", Problem: "not key=value", Cure: "write --set key=value"}
		}
		found = append(found, setting{key, value, "--set"})
	}
	return found, nil
}

// place puts a setting of a known property into static, over a weaker one. A retired name yields a notice.
func (s setting) place(static map[string]setting) (*Notice, error) {
	if settable(s.key) != nil {
		static[s.key] = s
		return nil, nil
	}
	if reason, ok := retiredReason(s.key); ok {
		return &Notice{Key: s.key, Source: s.source, Reason: reason}, nil
	}
	return nil, s.unknown()
}

// mirrorNodeID has node.id and its older name broker.id stand for each other where only one is set, as Kafka does.
func mirrorNodeID(static map[string]setting) {
	node, hasNode := static["node.id"]
	broker, hasBroker := static["broker.id"]
	switch {
	case hasNode && !hasBroker:
		static["broker.id"] = setting{"broker.id", node.value, node.source}
	case hasBroker && !hasNode && !strings.HasPrefix(strings.TrimSpace(broker.value), "-"):
		static["node.id"] = setting{"node.id", broker.value, broker.source}
	}
}

func (s setting) unknown() error {
	e := &Error{Key: s.key, Source: s.source, Problem: "unknown property", Cure: "see docs/configuration.md for all names"}
	topic, isTopic := topicTable[s.key]
	switch near := Nearest(s.key, slices.Collect(maps.Keys(brokerTable))); {
	case isTopic && topic.BrokerSynonym != "":
		e.Problem, e.Cure = "a property of topics", "the node's is "+topic.BrokerSynonym
	case isTopic:
		e.Problem, e.Cure = "a property of topics", "set it on a topic"
	case near != "":
		e.Cure = "did you mean " + near + "?"
	}
	return e
}

// check looks at each value that won, in the order of names so that the same fault is always the one that is told.
func (c *Config) check() error {
	for _, key := range slices.Sorted(maps.Keys(c.static)) {
		s, p := c.static[key], settable(key)
		if problem, _ := p.problemWith(s.value); problem != "" {
			return &Error{Key: key, Value: shown(p, s.value), Source: s.source, Problem: problem, Cure: "allowed: " + p.Allowed()}
		}
	}
	return nil
}

// shown keeps secrets out of messages.
func shown(p *Property, value string) string {
	if p.Type == Password {
		return "[hidden]"
	}
	return value
}

// notices adds to those of retired names what the table and the listeners know to have no effect.
func (c *Config) notices(found []Notice) []Notice {
	for key, s := range c.static {
		if p := settable(key); !p.Effective() {
			found = append(found, Notice{Key: key, Source: s.source, Reason: p.Reason})
		}
	}
	for _, name := range c.skippedListeners {
		found = append(found, Notice{Key: "listeners", Source: c.static["listeners"].source,
			Reason: name + " is a controller listener: there is no KRaft quorum to talk to, and it is not opened"})
	}
	slices.SortStableFunc(found, func(a, b Notice) int { return compareNames(a.Key, b.Key) })
	return found
}
