package quota

import (
	"net/netip"
	"strings"

	"github.com/ringmill/ringmill/control/image"
)

// The keys of quotas (org.apache.kafka.server.config.QuotaConfig).
const (
	ProducerByteRate       = "producer_byte_rate"       // bytes a second
	ConsumerByteRate       = "consumer_byte_rate"       // bytes a second
	RequestPercentage      = "request_percentage"       // of one thread's time
	ControllerMutationRate = "controller_mutation_rate" // partitions made or removed a second
	ConnectionCreationRate = "connection_creation_rate" // connections a second, of addresses
)

// Client is who is charged. User is the authenticated principal's name; ClientID is the client's own word.
type Client struct{ User, ClientID string }

func (c Client) bytes() int { return len(c.User) + len(c.ClientID) }

// Limits are the values that one key has, by entity. They are read-only once made.
type Limits struct {
	// levels are doc.go's, strongest first; what is default in a level is "" in its keys. Most are nil.
	levels [levelCount]map[Client]float64
	none   bool
}

const levelCount = 8

// level says of an entity's parts whether they are there by name or by default.
type level struct{ user, clientID image.QuotaName }

var (
	absent  = image.QuotaName{}
	named   = image.QuotaName{Given: true}
	byOther = image.DefaultQuota
)

var levels = [levelCount]level{
	{named, named}, {named, byOther}, {named, absent},
	{byOther, named}, {byOther, byOther}, {byOther, absent},
	{absent, named}, {absent, byOther},
}

// LimitsOf picks a key's values out of the metadata.
func LimitsOf(m *image.Image, key string) Limits {
	l := Limits{none: true}
	for _, e := range m.QuotaEntities() {
		if v, ok := m.ClientQuotas(e)[key]; ok {
			l.add(e, v)
		}
	}
	return l
}

func (l *Limits) add(e image.QuotaEntity, value float64) {
	whom := Client{e.User.Name, e.ClientID.Name}
	e.User.Name, e.ClientID.Name = "", ""
	for i := range levels {
		if levels[i] == (level{e.User, e.ClientID}) {
			if l.levels[i] == nil {
				l.levels[i] = make(map[Client]float64)
			}
			l.levels[i][whom], l.none = value, false
		}
	}
}

// None says that nobody has a limit.
func (l Limits) None() bool { return l.none }

// Of is a client's limit, and the share that its consumption counts against; ok is false if it has none.
func (l *Limits) Of(c Client) (limit float64, share Client, ok bool) {
	for i := range levels {
		if l.levels[i] == nil || levels[i].user.Given && c.User == "" || levels[i].clientID.Given && c.ClientID == "" {
			continue
		}
		if v, set := l.levels[i][levels[i].key(c)]; set {
			return v, levels[i].share(c), true
		}
	}
	return 0, Client{}, false
}

// key is what a client is found by in a level's map.
func (v *level) key(c Client) Client { return pick(c, v.user == named, v.clientID == named) }

// share is what its consumption is counted by there.
func (v *level) share(c Client) Client { return pick(c, v.user.Given, v.clientID.Given) }

func pick(c Client, user, clientID bool) (k Client) {
	if user {
		k.User = c.User
	}
	if clientID {
		k.ClientID = c.ClientID
	}
	return k
}

// ParseAddress reads the name of an address quota where it is an address and not a host's name; IPv6 may stand in brackets.
func ParseAddress(name string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		name, _ = strings.CutSuffix(inner, "]")
	}
	addr, err := netip.ParseAddr(name)
	return addr.Unmap(), err == nil
}
