package config

import (
	"bufio"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rows reads a tab-separated file of testdata; lines that begin with # are left out.
func rows(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var found [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); !strings.HasPrefix(line, "#") {
			found = append(found, strings.Split(line, "\t"))
		}
	}
	return found
}

// departures are the rows whose default is not Kafka's, on purpose.
var departures = map[string]string{
	"node.id":       `"1"`,                          // Kafka has none: a node must start without a file
	"process.roles": `"broker,controller"`,          // Kafka has none
	"listeners":     `"PLAINTEXT://127.0.0.1:9092"`, // Kafka listens everywhere, without security
}

// The files were written from ConfigDef.configKeys of Apache Kafka 4.1.1.
func TestTableIsKafkas(t *testing.T) {
	for file, table := range map[string]map[string]*Property{
		"kafka-4.1.1-broker.tsv": brokerTable,
		"kafka-4.1.1-topic.tsv":  topicTable,
	} {
		recorded := rows(t, file)
		for _, r := range recorded {
			compareRow(t, table, r)
		}
		for name := range table {
			known := slices.ContainsFunc(recorded, func(r []string) bool { return r[0] == name })
			if !known && !ringmills(name) {
				t.Errorf("%s is no property of Apache Kafka 4.1.1", name)
			}
		}
	}
}

// ringmills: what Kafka has no name for begins with ringmill., but for the property that Consul, Nomad and Redpanda have
// as seeds or retry_join too. Kafka's authorizer has two properties that its table does not have.
func ringmills(name string) bool {
	return strings.HasPrefix(name, "ringmill.") || slices.Contains([]string{"seeds", "super.users", "allow.everyone.if.no.acl.found"}, name)
}

func compareRow(t *testing.T, table map[string]*Property, r []string) {
	name, typ, value, allowed, update, internal := r[0], r[1], r[2], r[3], r[4], r[5]
	p, ok := table[name]
	if !ok {
		t.Errorf("%s is missing", name)
		return
	}
	if d, departs := departures[name]; departs {
		value = d
	}
	got := []string{p.Type.String(), quoted(p), allowedInKafkasWords(p), update, "-"}
	if p.Internal {
		got[4] = "internal"
	}
	if p.Scope != TopicScope {
		got[3] = p.Update.String()
	}
	if want := []string{typ, value, allowed, update, internal}; !slices.Equal(got, want) {
		t.Errorf("%s: got %q, Kafka has %q", name, got, want)
	}
}

func quoted(p *Property) string {
	if p.Nullable {
		return "null"
	}
	return `"` + p.Default + `"`
}

// allowedInKafkasWords writes a Check as ConfigDef's validators print themselves.
func allowedInKafkasWords(p *Property) string {
	switch c := p.Check.(type) {
	case bounds:
		switch {
		case c.hasOr:
			return "[" + plain(c.min) + ",...," + plain(c.max) + "] or " + plain(c.or)
		case c.hasMax:
			return "[" + plain(c.min) + ",...," + plain(c.max) + "]"
		}
		return "[" + plain(c.min) + ",...]"
	case words:
		list := "[" + strings.Join(c.allowed, ", ") + "]"
		if !c.fold {
			return list
		}
		return "(case insensitive) " + list
	case filled:
		return "non-empty string"
	case throttled:
		return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
	}
	if words, ok := uncheckedByUs[p.Name]; ok {
		return words
	}
	return "-"
}

// uncheckedByUs are validators that refuse only what no file can hold (null), or where an empty value is the default.
var uncheckedByUs = map[string]string{
	"authorizer.class.name":               "non-null string",
	"controller.quorum.bootstrap.servers": "non-empty list",
	"controller.quorum.voters":            "non-empty list",
}

func TestDefaultsPassTheirOwnChecks(t *testing.T) {
	for _, p := range Properties() {
		if p.Nullable {
			continue
		}
		if problem, _ := p.problemWith(p.Default); problem != "" {
			t.Errorf("%s=%s: %s", p.Name, p.Default, problem)
		}
	}
}

func TestEveryRowSaysWhatItDoesOrWhyNot(t *testing.T) {
	for _, p := range Properties() {
		if (p.Doc == "") == (p.Reason == "") {
			t.Errorf("%s has doc %q and reason %q: one of them is due", p.Name, p.Doc, p.Reason)
		}
	}
}

func TestNamesStandOnceInEachScope(t *testing.T) {
	all := Properties()
	if got, want := len(all), len(brokerTable)+len(topicTable)+len(groupTable)+len(clientMetricsTable)-1; got != want { // ringmill.flush.policy is in both
		t.Errorf("%d rows, %d names", got, want)
	}
}

// byHand are the effective properties that Config reads without a tagged field.
var byHand = []string{
	"broker.id", "process.roles", "listeners", "advertised.listeners", "listener.security.protocol.map",
	"controller.listener.names", "authorizer.class.name", "super.users", "max.connections.per.ip.overrides", "log.dirs", "log.dir",
	"log.retention.minutes", "log.retention.hours", "log.roll.hours", "log.roll.jitter.hours", "log.flush.scheduler.interval.ms",
	"ringmill.flush.policy", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms",
	"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms",
	"group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms",
	"group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms",
	"group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms", "group.share.record.lock.duration.ms",
}

// An effective property is read by a field of Config, by a topic property that it is the synonym of, or by hand.
func TestEffectivePropertiesAreRead(t *testing.T) {
	read := slices.Concat(propertiesOf(reflect.TypeFor[Config]()), byHand)
	for _, p := range topicProperties {
		read = append(read, p.BrokerSynonym)
	}
	for name, p := range brokerTable {
		if p.Effective() && !slices.Contains(read, name) {
			t.Errorf("%s is declared effective and nothing reads it", name)
		}
	}
	for _, name := range propertiesOf(reflect.TypeFor[Config]()) {
		if p := brokerTable[name]; p == nil || !p.Effective() && p.Reason != reasonReplication {
			t.Errorf("a field of Config reads %s, which is neither an effective property nor one of replication", name)
		}
	}
}

func TestTopicConfigHasEveryTopicProperty(t *testing.T) {
	fields := propertiesOf(reflect.TypeFor[TopicConfig]())
	slices.Sort(fields)
	var names []string
	for name := range topicTable {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(fields, names) {
		t.Errorf("fields %q\nproperties %q", fields, names)
	}
}

func TestEnvironmentNamesAreOneToOne(t *testing.T) {
	if len(environmentKeys) != len(brokerTable) {
		t.Errorf("%d variables for %d properties", len(environmentKeys), len(brokerTable))
	}
	valid := regexp.MustCompile(`^RINGMILL_[A-Z0-9_]+$`)
	for name := range environmentKeys {
		if !valid.MatchString(name) || foreignVariables.MatchString(name) {
			t.Errorf("%s cannot be the name of a property's variable", name)
		}
	}
}

func TestRetiredNamesAreNotInTheTable(t *testing.T) {
	for name := range brokerTable {
		if reason, ok := retiredReason(name); ok {
			t.Errorf("%s is in the table and retired: %s", name, reason)
		}
	}
}

// propertiesOf lists the properties that a struct's fields are tagged with.
func propertiesOf(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, ok := t.Field(i).Tag.Lookup("property"); ok {
			names = append(names, name)
		}
	}
	return names
}
