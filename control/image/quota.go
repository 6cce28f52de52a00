package image

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// QuotaEntity is whom a client quota is for (KIP-546): a user, a client id, a user's client id, or an address; each of them by
// name or as the default of those that have no quota by name.
type QuotaEntity struct{ User, ClientID, IP QuotaName }

// QuotaName is one part of a QuotaEntity. The zero value is a part that the entity does not have.
type QuotaName struct {
	Given   bool
	Default bool   // all that have no name of their own; Name is "" then
	Name    string // not empty unless Default
}

// NamedQuota is the part that is called name, DefaultQuota the default.
func NamedQuota(name string) QuotaName { return QuotaName{Given: true, Name: name} }

// DefaultQuota is the part that stands for all names without a quota of their own.
var DefaultQuota = QuotaName{Given: true, Default: true}

// The types of an entity's parts (org.apache.kafka.common.quota.ClientQuotaEntity).
const (
	QuotaUser     = "user"
	QuotaClientID = "client-id"
	QuotaIP       = "ip"
)

// QuotaTypes are the types in the order in which Apache Kafka prints and answers them.
var QuotaTypes = [...]string{QuotaClientID, QuotaUser, QuotaIP}

// Part gives the entity's part of a type, nil for a type that there is not; it may be changed.
func (e *QuotaEntity) Part(entityType string) *QuotaName {
	switch entityType {
	case QuotaUser:
		return &e.User
	case QuotaClientID:
		return &e.ClientID
	case QuotaIP:
		return &e.IP
	}
	return nil
}

// Parts is how many parts the entity has.
func (e QuotaEntity) Parts() (n int) {
	for _, t := range QuotaTypes {
		if e.Part(t).Given {
			n++
		}
	}
	return n
}

// quotaPart is a part as it stands in the file; a null name is the default.
type quotaPart struct {
	Type string  `json:"entityType"`
	Name *string `json:"entityName"`
}

// MarshalJSON writes the parts as Kafka's ClientQuotaRecord does.
func (e QuotaEntity) MarshalJSON() ([]byte, error) {
	parts := make([]quotaPart, 0, len(QuotaTypes))
	for _, t := range QuotaTypes {
		switch p := e.Part(t); {
		case p.Default:
			parts = append(parts, quotaPart{Type: t})
		case p.Given:
			parts = append(parts, quotaPart{Type: t, Name: &p.Name})
		}
	}
	return json.Marshal(parts)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *QuotaEntity) UnmarshalJSON(text []byte) error {
	var parts []quotaPart
	if err := unmarshalStrict(text, &parts); err != nil {
		return err
	}
	*e = QuotaEntity{}
	for _, read := range parts {
		p := e.Part(read.Type)
		switch {
		case p == nil || p.Given:
			return fmt.Errorf("a quota entity cannot have the part %q, or have it twice", read.Type)
		case read.Name == nil:
			*p = DefaultQuota
		default:
			*p = NamedQuota(*read.Name)
		}
	}
	return nil
}

// The reasons of a *RecordError of a ClientQuotaRecord.
var (
	ErrQuotaEntity = errors.New("a quota is for a user, a client id, both, or an address")
	ErrQuotaValue  = errors.New("a quota must be a number greater than 0")
)

func (e QuotaEntity) check() error {
	for _, t := range QuotaTypes {
		switch p := e.Part(t); {
		case !utf8.ValidString(p.Name):
			return ErrNotUTF8
		case p.Given && !p.Default && p.Name == "":
			return ErrQuotaEntity
		}
	}
	if e.Parts() == 0 || e.IP.Given && e.Parts() > 1 {
		return ErrQuotaEntity
	}
	return nil
}

func (e *editor) setQuota(r ClientQuotaRecord) error {
	if err := r.Entity.check(); err != nil {
		return err
	}
	if !utf8.ValidString(r.Key) {
		return ErrNotUTF8
	}
	if !r.Remove && !(r.Value > 0 && r.Value <= math.MaxFloat64) {
		return ErrQuotaValue
	}
	e.ownQuotas()
	values := maps.Clone(e.next.quotas[r.Entity])
	if values == nil {
		values = make(map[string]float64, 1)
	}
	if r.Remove {
		delete(values, r.Key)
	} else {
		values[r.Key] = r.Value
	}
	if len(values) == 0 {
		delete(e.next.quotas, r.Entity)
		return nil
	}
	e.next.quotas[r.Entity] = values
	return nil
}

// ownQuotas copies the map on the edit's first change of it.
func (e *editor) ownQuotas() {
	if e.quotasOwned {
		return
	}
	e.quotasOwned = true
	if e.next.quotas = maps.Clone(e.next.quotas); e.next.quotas == nil {
		e.next.quotas = make(map[QuotaEntity]map[string]float64)
	}
}

// ClientQuotas gives the values of an entity by key, nil if it has none; read-only.
func (m *Image) ClientQuotas(e QuotaEntity) map[string]float64 { return m.quotas[e] }

// QuotaEntities gives the entities that have quotas, always in the same order.
func (m *Image) QuotaEntities() []QuotaEntity {
	return slices.SortedFunc(maps.Keys(m.quotas), compareQuotaEntities)
}

func compareQuotaEntities(a, b QuotaEntity) int {
	return cmp.Or(a.User.compare(b.User), a.ClientID.compare(b.ClientID), a.IP.compare(b.IP))
}

// compare puts absent parts first, then names, then the default.
func (n QuotaName) compare(o QuotaName) int {
	rank := func(n QuotaName) int {
		switch {
		case n.Default:
			return 2
		case n.Given:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(n), rank(o)), cmp.Compare(n.Name, o.Name))
}
