package config

import (
	"math"
	"strconv"
)

// Type is a property's value type. The numbers are DescribeConfigs' ConfigType (KIP-569).
type Type int8

// The value types of Kafka's ConfigDef.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9

	// Unknown is the type of what a plug-in may be configured with: it is shown to nobody.
	Unknown Type = 0
)

// String gives Kafka's name for t, as its error messages spell it.
func (t Type) String() string {
	switch t {
	case Boolean:
		return "BOOLEAN"
	case String:
		return "STRING"
	case Int:
		return "INT"
	case Short:
		return "SHORT"
	case Long:
		return "LONG"
	case Double:
		return "DOUBLE"
	case List:
		return "LIST"
	case Class:
		return "CLASS"
	case Password:
		return "PASSWORD"
	}
	return "UNKNOWN"
}

// secret says that values of the type are not shown.
func (t Type) secret() bool { return t == Password || t == Unknown }

// Scope says where a property may be set.
type Scope int8

// A broker property stands in the file, the environment, a flag, or (where Update allows) in a broker's dynamic
// configuration; the others in that of a topic, of a group, or of a subscription to clients' metrics. Both names the
// properties of ringmill's own that may stand in a broker's or a topic's.
const (
	BrokerScope Scope = iota
	TopicScope
	BothScopes
	GroupScope
	ClientMetricsScope
)

// Update says whether a running node's value can be altered (KIP-226).
type Update int8

// ReadOnly needs a restart; PerBroker can be altered for one node; ClusterWide for one node or for all.
const (
	ReadOnly Update = iota
	PerBroker
	ClusterWide
)

// String gives the words of Kafka's reference page.
func (u Update) String() string {
	switch u {
	case PerBroker:
		return "per-broker"
	case ClusterWide:
		return "cluster-wide"
	}
	return "read-only"
}

// Property is one row of the table.
type Property struct {
	Name     string // Kafka's name, or ringmill.* where Kafka has none
	Type     Type
	Default  string // as written in a file; meaningless if Nullable
	Nullable bool   // the default is null: unset, as DescribeConfigs shows it
	Check    Check  // nil: every value of the type will do
	Update   Update
	Scope    Scope
	Doc      string // one or two sentences; empty for a property without effect
	Internal bool   // for tests of the node itself; DescribeConfigs and the reference page leave it out

	// Reason is empty for a property that has effect. Else the property is accepted, checked, described, and does
	// nothing, for this reason.
	Reason string
	// BrokerSynonym, of a topic's or a group's property: the broker property that stands in where that has none.
	BrokerSynonym string
}

// In reports whether the property may be set on resources of that scope.
func (p *Property) In(scope Scope) bool {
	return p.Scope == scope || p.Scope == BothScopes && (scope == BrokerScope || scope == TopicScope)
}

// Effective reports whether the node reads the property.
func (p *Property) Effective() bool { return p.Reason == "" }

// Documentation is what DescribeConfigs answers: Doc, or why the property has no effect.
func (p *Property) Documentation() string {
	if p.Effective() {
		return p.Doc
	}
	return "Accepted without effect: " + p.Reason + "."
}

// Allowed says in words which values the property takes, for errors and the reference page.
func (p *Property) Allowed() string {
	if p.Check != nil {
		return p.Check.String()
	}
	switch p.Type {
	case Boolean:
		return "true or false"
	case Short, Int, Long:
		return "a whole number"
	case Double:
		return "a number"
	case List:
		return "a list separated by commas"
	}
	return "any text"
}

// The words that the table's rows are written in.
const (
	null = "\x00null" // default of a row whose property is unset; turned into Nullable by property
)

var (
	maxLong = strconv.FormatInt(math.MaxInt64, 10)
	maxInt  = strconv.Itoa(math.MaxInt32)
)

func property(name string, t Type, value string, check Check, update Update) Property {
	p := Property{Name: name, Type: t, Default: value, Check: check, Update: update}
	if value == null {
		p.Default, p.Nullable = "", true
	}
	return p
}

func effective(name string, t Type, value string, check Check, update Update, doc string) Property {
	p := property(name, t, value, check, update)
	p.Doc = doc
	return p
}

func idle(reason string, p Property) Property {
	p.Reason = reason
	return p
}

func internal(p Property) Property {
	p.Internal = true
	return p
}

func synonym(broker string, p Property) Property {
	p.BrokerSynonym = broker
	return p
}

func withoutEffect(reason string, rows ...Property) []Property {
	for i := range rows {
		rows[i].Reason = reason
	}
	return rows
}

func inScope(scope Scope, rows []Property) []Property {
	for i := range rows {
		rows[i].Scope = scope
	}
	return rows
}
