package config

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Listener is one entry of listeners or advertised.listeners.
type Listener struct {
	Name     string // upper case, as in listener.security.protocol.map
	Protocol string // PLAINTEXT so far
	Host     string // "" for every interface; without the brackets of IPv6
	Port     int    // 0 for one that the kernel picks
}

// Address is host:port, as net.Listen takes it.
func (l Listener) Address() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// String gives NAME://host:port.
func (l Listener) String() string { return l.Name + "://" + l.Address() }

// buildListeners reads the listeners, leaves out the controllers', refuses what cannot be served as asked, and pairs each
// with its advertised address.
func (c *Config) buildListeners() error {
	all, err := c.parseListeners("listeners")
	if err != nil {
		return err
	}
	protocols, err := c.protocolMap()
	if err != nil {
		return err
	}
	controllers, _ := c.text("controller.listener.names")
	for _, l := range all {
		if listed(l.Name, controllers) {
			c.skippedListeners = append(c.skippedListeners, l.Name)
			continue
		}
		if l.Protocol, err = c.protocolOf(l.Name, protocols); err != nil {
			return err
		}
		c.Listeners = append(c.Listeners, l)
	}
	if len(c.Listeners) == 0 {
		return c.errorAt("listeners", "no listener for clients", "add one, as in PLAINTEXT://127.0.0.1:9092")
	}
	return c.advertise()
}

func listed(name, list string) bool {
	for _, n := range parseList(strings.TrimSpace(list)) {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// parseListeners reads NAME://host:port, ... and refuses a name or (except for 0) an address that stands twice.
func (c *Config) parseListeners(key string) ([]Listener, error) {
	text, _ := c.text(key)
	var found []Listener
	for _, entry := range parseList(strings.TrimSpace(text)) {
		l, ok := parseListener(entry)
		if !ok {
			return nil, c.errorAt(key, printable(strconv.Quote(entry))+" is not a listener", "write NAME://host:port, as in PLAINTEXT://127.0.0.1:9092, with a port up to 65535")
		}
		for _, other := range found {
			if other.Name == l.Name {
				return nil, c.errorAt(key, "Each listener must have a different name", "rename one "+l.Name+" and map it in listener.security.protocol.map")
			}
			if other.Port == l.Port && other.Host == l.Host && l.Port != 0 && key == "listeners" {
				return nil, c.errorAt(key, "Each listener must have a different port", "change the port of "+l.Name)
			}
		}
		found = append(found, l)
	}
	return found, nil
}

func parseListener(entry string) (Listener, bool) {
	name, address, ok := strings.Cut(entry, "://")
	if !ok || name == "" {
		return Listener{}, false
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Listener{}, false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strings.ContainsAny(host, "/ ") {
		return Listener{}, false
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: int(n)}, true
}

// protocolMap reads listener.security.protocol.map.
func (c *Config) protocolMap() (map[string]string, error) {
	const key = "listener.security.protocol.map"
	text, _ := c.text(key)
	m := make(map[string]string)
	for _, pair := range parseList(strings.TrimSpace(text)) {
		name, protocol, ok := strings.Cut(pair, ":")
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		switch protocol {
		case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
		default:
			ok = false
		}
		if !ok {
			return nil, c.errorAt(key, printable(strconv.Quote(pair))+" is not NAME:PROTOCOL", "protocols are PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL")
		}
		m[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	return m, nil
}

func (c *Config) protocolOf(name string, protocols map[string]string) (string, error) {
	protocol, mapped := protocols[name]
	switch {
	case !mapped:
		return "", c.errorAt("listeners", "no security protocol for listener "+name, "add "+name+":PLAINTEXT to listener.security.protocol.map")
	case protocol != "PLAINTEXT":
		return "", c.errorAt("listeners", fmt.Sprintf("listener %s asks for %s, which is not built yet, and the listener is not opened without it", name, protocol),
			"use a PLAINTEXT listener, on an address that only trusted clients reach")
	}
	return protocol, nil
}

// advertise pairs each listener with its entry in advertised.listeners, or with itself.
func (c *Config) advertise() error {
	given, err := c.parseListeners("advertised.listeners")
	if err != nil {
		return err
	}
	byName := make(map[string]Listener)
	for _, l := range given {
		byName[l.Name] = l
	}
	for _, l := range c.Listeners {
		key, shown := "listeners", l
		if a, ok := byName[l.Name]; ok {
			key, shown = "advertised.listeners", a
			shown.Protocol = l.Protocol
		}
		if shown, err = c.reachable(key, shown); err != nil {
			return err
		}
		c.AdvertisedListeners = append(c.AdvertisedListeners, shown)
		delete(byName, l.Name)
	}
	for _, l := range given {
		if _, left := byName[l.Name]; left && !listedAny(l.Name, c.skippedListeners) {
			return c.errorAt("advertised.listeners", "no listener is called "+l.Name, "add it to listeners or remove it")
		}
	}
	return nil
}

func listedAny(name string, names []string) bool { return listed(name, strings.Join(names, ",")) }

// reachable puts the machine's name in for an empty host, and refuses the address that means "every interface".
func (c *Config) reachable(key string, l Listener) (Listener, error) {
	if ip := net.ParseIP(l.Host); ip != nil && ip.IsUnspecified() {
		return l, c.errorAt(key, "clients cannot connect to "+l.Host, "set advertised.listeners="+l.Name+"://<address that clients reach>:"+strconv.Itoa(l.Port))
	}
	if l.Host != "" {
		return l, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return l, c.errorAt(key, "the machine's name is unknown: "+err.Error(), "set advertised.listeners")
	}
	l.Host = host
	return l, nil
}
