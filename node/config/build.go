package config

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// errorAt makes an Error about the property's value, wherever that was set.
func (c *Config) errorAt(key, problem, cure string) *Error {
	value, _ := c.text(key)
	e := &Error{Key: key, Value: value, Source: "default", Problem: problem, Cure: cure}
	if s, ok := c.static[key]; ok {
		e.Source = s.source
	}
	return e
}

func (c *Config) isSet(key string) bool {
	_, ok := c.static[key]
	return ok
}

// number reads a whole-number property; ok is false if it is null.
func (c *Config) number(key string) (n int64, ok bool) {
	text, ok := c.text(key)
	if !ok {
		return 0, false
	}
	v, _ := parseValue(brokerTable[key].Type, text)
	return v.(int64), true
}

// checkIdentity refuses two ids, and a process that is to be a controller alone.
func (c *Config) checkIdentity() error {
	if brokerID, _ := c.number("broker.id"); brokerID >= 0 && int64(c.NodeID) != brokerID {
		return c.errorAt("broker.id", fmt.Sprintf("node.id is %d", c.NodeID), "remove broker.id or give both the same number")
	}
	if roles, _ := c.text("process.roles"); !slices.Contains(parseList(strings.TrimSpace(roles)), "broker") {
		return c.errorAt("process.roles", "a ringmill node is broker and controller in one", "write broker or broker,controller")
	}
	return nil
}

// checkSecurity refuses what would be served less protected than asked for.
func (c *Config) checkSecurity() error {
	switch class, _ := c.text("authorizer.class.name"); class {
	case "":
	case standardAuthorizer:
		c.Authorizer = true
	default:
		return c.errorAt("authorizer.class.name", "this authorizer is not built, and without it everybody would be let in", "write "+standardAuthorizer)
	}
	users, _ := c.text("super.users")
	for user := range strings.SplitSeq(users, ";") {
		if user = strings.TrimSpace(user); user == "" {
			continue
		}
		if kind, name, ok := strings.Cut(user, ":"); !ok || kind == "" || name == "" {
			return c.errorAt("super.users", printable(user)+" is not a principal", "write principals like User:admin separated by semicolons")
		}
		c.SuperUsers = append(c.SuperUsers, user)
	}
	return nil
}

// standardAuthorizer is the authorizer that is built (KIP-801).
const standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

// buildLogDirs: log.dirs, or log.dir, or logs/ in the data directory.
func (c *Config) buildLogDirs() error {
	key := "log.dirs"
	if !c.isSet("log.dirs") && c.isSet("log.dir") {
		key = "log.dir"
	}
	if !c.isSet(key) {
		c.LogDirs = []string{filepath.Join(c.DataDir, "logs")}
		c.setDerived("log.dirs", c.LogDirs[0])
		return nil
	}
	text, _ := c.text(key)
	for _, d := range parseList(strings.TrimSpace(text)) {
		switch dir := filepath.Clean(d); {
		case d == "":
			return c.errorAt(key, "an empty directory name", "write directories separated by commas")
		case slices.Contains(c.LogDirs, dir):
			return c.errorAt(key, dir+" stands twice", "name each directory once")
		default:
			c.LogDirs = append(c.LogDirs, dir)
		}
	}
	if len(c.LogDirs) == 0 {
		return c.errorAt(key, "no directory", "name at least one, or remove the line for "+filepath.Join(c.DataDir, "logs"))
	}
	return nil
}

func (c *Config) setDerived(key, value string) {
	if c.derived == nil {
		c.derived = make(map[string]string)
	}
	c.derived[key] = value
}

// buildOverrides reads max.connections.per.ip.overrides: address:count pairs; an IPv6 address has colons of its own.
func (c *Config) buildOverrides() error {
	text, _ := c.text("max.connections.per.ip.overrides")
	for _, pair := range parseList(strings.TrimSpace(text)) {
		at := strings.LastIndexByte(pair, ':')
		n, err := strconv.ParseUint(pair[at+1:], 10, 31)
		if at < 1 || err != nil {
			return c.errorAt("max.connections.per.ip.overrides", printable(pair)+" is not address:count", "write pairs like 10.0.0.7:100 separated by commas")
		}
		if c.ConnectionsPerIPOverrides == nil {
			c.ConnectionsPerIPOverrides = make(map[string]int)
		}
		c.ConnectionsPerIPOverrides[strings.Trim(pair[:at], "[]")] = int(n)
	}
	return nil
}

// checkBounds looks at what no single value can tell.
func (c *Config) checkBounds() error {
	for _, key := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if n, ok := c.number(key); ok && n == 0 {
			return c.errorAt(key, key+" must be unlimited (-1) or, greater than or equal to 1", "write -1 to keep records for ever")
		}
	}
	for _, key := range []string{"log.roll.ms", "log.roll.jitter.ms", "log.flush.interval.ms"} {
		least := int64(1)
		if key != "log.roll.ms" {
			least = 0
		}
		if n, ok := c.number(key); ok && n < least {
			return c.errorAt(key, fmt.Sprintf("Value must be at least %d", least), "")
		}
	}
	if _, _, err := net.SplitHostPort(c.HTTPListen); c.HTTPListen != "" && err != nil {
		return c.errorAt("ringmill.http.listen", "not an address", "write host:port, as in 127.0.0.1:9644, or nothing to serve no HTTP")
	}
	switch {
	case c.RequestMemoryBytes < int64(c.RequestBytesMax):
		return c.errorAt("ringmill.request.memory.bytes", fmt.Sprintf("a request may have socket.request.max.bytes=%d bytes, which would never fit", c.RequestBytesMax),
			"raise it, or lower socket.request.max.bytes")
	case c.GroupSessionTimeoutMinMS > c.GroupSessionTimeoutMaxMS:
		return c.errorAt("group.min.session.timeout.ms", fmt.Sprintf("more than group.max.session.timeout.ms=%d", c.GroupSessionTimeoutMaxMS), "lower it")
	case !knowsAssignors(c.GroupConsumerAssignors):
		return c.errorAt("group.consumer.assignors", "not a list of assignors that are built", "name uniform, range or both")
	case c.DefaultReplicationFactor < 1:
		return c.errorAt("default.replication.factor", "Value must be at least 1", "")
	}
	return nil
}

// checkGroups holds what groups go by within the bounds that Kafka has for it.
func (c *Config) checkGroups() error {
	for _, kind := range []string{"group.consumer.", "group.share.", "group.streams."} {
		for _, name := range []string{"session.timeout.ms", "heartbeat.interval.ms"} {
			if err := c.checkWithin(kind, name); err != nil {
				return err
			}
		}
		heartbeat, _ := c.number(kind + "heartbeat.interval.ms")
		if session, _ := c.number(kind + "session.timeout.ms"); heartbeat >= session {
			return c.errorAt(kind+"heartbeat.interval.ms", fmt.Sprintf("not less than %ssession.timeout.ms=%d", kind, session), "lower it")
		}
	}
	return c.checkWithin("group.share.", "record.lock.duration.ms")
}

// checkWithin holds one value within its min and max.
func (c *Config) checkWithin(kind, name string) error {
	value, _ := c.number(kind + name)
	least, _ := c.number(kind + "min." + name)
	most, _ := c.number(kind + "max." + name)
	if value < least || value > most {
		return c.errorAt(kind+name, fmt.Sprintf("not within %smin.%s=%d and %smax.%s=%d", kind, name, least, kind, name, most),
			"move it, or one of them")
	}
	return nil
}

// knowsAssignors reports whether there are assignors, and none but those that the group coordinator has.
func knowsAssignors(names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(s string) bool { return s != "uniform" && s != "range" })
}
