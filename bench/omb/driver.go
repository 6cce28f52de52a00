package omb

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/magiconair/properties"

	"github.com/ringmill/ringmill/bench"
)

// Driver is a driver file of OpenMessaging Benchmark's driver-kafka. The four configurations are text in the form of a Java properties file.
type Driver struct {
	Name              string `yaml:"name"`
	DriverClass       string `yaml:"driverClass"`
	ReplicationFactor int    `yaml:"replicationFactor"`
	Reset             bool   `yaml:"reset"` // of older versions: delete what topics there are
	TopicConfig       string `yaml:"topicConfig"`
	CommonConfig      string `yaml:"commonConfig"`
	ProducerConfig    string `yaml:"producerConfig"`
	ConsumerConfig    string `yaml:"consumerConfig"`

	path                              string
	topic, common, producer, consumer map[string]string
}

// driverClasses are those that speak Kafka's protocol and have these fields: OpenMessaging Benchmark's own, and that of Redpanda's copy of it.
var driverClasses = []string{
	"io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver",
	"io.openmessaging.benchmark.driver.redpanda.RedpandaBenchmarkDriver",
}

// ReadDriver reads a file.
func ReadDriver(path string) (d *Driver, notes []string, err error) {
	d = &Driver{ReplicationFactor: -1, path: path}
	if notes, err = readYAML(path, d); err != nil {
		return nil, nil, err
	}
	if d.DriverClass != "" && !slices.Contains(driverClasses, d.DriverClass) {
		return nil, nil, beside(d.fault("driverClass", "%s speaks another protocol than Kafka's; known are %s", d.DriverClass, strings.Join(driverClasses, " and ")), notes)
	}
	if err := bench.Replicas.Check("replicationFactor:", d.ReplicationFactor); err != nil {
		return nil, nil, fmt.Errorf("%w %s: %w", ErrFile, path, beside(err, notes))
	}
	if d.Reset {
		notes = append(notes, d.note("reset", "not done: no topic but the run's own is touched, which is made and removed"))
	}
	for _, part := range []struct {
		field, text string
		into        *map[string]string
	}{{"topicConfig", d.TopicConfig, &d.topic}, {"commonConfig", d.CommonConfig, &d.common}, {"producerConfig", d.ProducerConfig, &d.producer}, {"consumerConfig", d.ConsumerConfig, &d.consumer}} {
		loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
		read, err := loader.LoadBytes([]byte(part.text))
		if err != nil {
			return nil, nil, d.fault(part.field, "%s", err)
		}
		*part.into = read.Map()
	}
	return d, notes, nil
}

func (d *Driver) fault(field, format string, args ...any) error {
	return fmt.Errorf("%w %s: %s: %s", ErrFile, d.path, field, fmt.Sprintf(format, args...))
}

func (d *Driver) note(field, what string) string {
	return fmt.Sprintf("%s: %s: %s", d.path, field, what)
}

// Access is how clients get to the nodes.
type Access struct {
	TLS                  bool
	CA, Certificate, Key string // PEM files
	Mechanism            string // of SASL
	User, Password       string
}

// Settings are the flags of ringmill bench run that the driver stands for, and how its clients get to the nodes.
func (d *Driver) Settings() (settings []bench.Setting, access Access, notes []string, err error) {
	m := &mapping{driver: d}
	m.set("client", string(bench.ClientFranz))
	m.set("replication-factor", fmt.Sprint(d.ReplicationFactor))
	for _, name := range slices.Sorted(maps.Keys(d.topic)) {
		m.set("topic-property", name+"="+d.topic[name])
	}
	producer, consumer := maps.Clone(d.common), maps.Clone(d.common)
	maps.Copy(producer, d.producer)
	maps.Copy(consumer, d.consumer)
	if access, err = d.access(producer); err == nil {
		err = m.producerProperties(producer)
	}
	if err == nil {
		m.consumerProperties(consumer)
	}
	return m.settings, access, m.notes, err
}

// mapping is a driver on its way to flags.
type mapping struct {
	driver   *Driver
	settings []bench.Setting
	notes    []string
}

func (m *mapping) set(name, value string) {
	m.settings = append(m.settings, bench.Setting{Name: name, Value: value})
}

func (m *mapping) note(field, name, value, why string) {
	note := m.driver.note(field, name+"="+value+": "+why)
	if !slices.Contains(m.notes, note) {
		m.notes = append(m.notes, note)
	}
}

// field is where a property of a producer or consumer was found.
func (m *mapping) field(own map[string]string, field, name string) string {
	if _, has := own[name]; has {
		return field
	}
	return "commonConfig"
}

// producerProperties are common ones with a producer's own before them, as driver-kafka has them.
func (m *mapping) producerProperties(all map[string]string) error {
	d := m.driver
	acks, given := all["acks"]
	switch {
	case acks == "0":
		return d.fault(m.field(d.producer, "producerConfig", "acks"), "acks=0: without answers nothing can be measured")
	case given:
		m.set("acks", acks)
	}
	if id := all["client.id"]; strings.Contains(id, "{zone.id}") {
		return d.fault(m.field(d.producer, "producerConfig", "client.id"), "client.id=%s: there are no zones here: write the id itself", id)
	}
	weak := acks == "1" || all["enable.idempotence"] == "false"
	if _, has := all[inFlight]; weak && !has {
		all[inFlight] = "5" // the Java client's default, where franz-go has 1
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, field := all[name], m.field(d.producer, "producerConfig", name)
		switch {
		case name == "acks" || accessProperty(name):
		case name == "bootstrap.servers":
			m.set("bootstrap", strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }), ","))
		case name == "linger.ms":
			m.set("linger", value+"ms")
		case name == "compression.type":
			m.set("codec", value)
		case name == "transactional.id":
			return d.fault(field, "transactional.id: OpenMessaging Benchmark makes no transactions; --transactions does")
		case name == inFlight && !weak && value != "5":
			m.note(field, name, value, "not done: an idempotent producer of this client has 5 requests out, and keeps their order")
		case slices.Contains(bench.ProducerPropertyNames(), name):
			m.set("producer-property", name+"="+value)
		case field == "commonConfig" && slices.Contains(bench.ConsumerPropertyNames(), name):
		default:
			m.note(field, name, value, "no setting of this client, passed over"+meant(name, slices.Concat(bench.ProducerPropertyNames(), []string{"acks", "bootstrap.servers", "compression.type", "linger.ms"})))
		}
	}
	return nil
}

const inFlight = "max.in.flight.requests.per.connection"

// noGroup are properties of a member of a group. OpenMessaging Benchmark's consumers are, and commit offsets; here each has its share of the
// partitions.
var noGroup = regexp.MustCompile(`^(enable\.auto\.commit|auto\.commit\..*|group\..*|heartbeat\..*|session\.timeout\.ms|max\.poll\..*|partition\.assignment\.strategy)$`)

// consumerProperties are common ones with a consumer's own before them.
func (m *mapping) consumerProperties(all map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, field := all[name], m.field(m.driver.consumer, "consumerConfig", name)
		switch {
		case field == "commonConfig" && !slices.Contains(bench.ConsumerPropertyNames(), name): // told of the producers
		case name == "bootstrap.servers" || accessProperty(name):
			m.note(field, name, value, "the producers' counts")
		case name == "auto.offset.reset" && value == "earliest": // as it is
		case name == "auto.offset.reset":
			m.note(field, name, value, "no effect: the topic is new, and consumers read it from its beginning")
		case noGroup.MatchString(name):
			m.note(field, name, value, "no effect: consumers are in no group, each reads its share of the partitions")
		case slices.Contains(bench.ConsumerPropertyNames(), name):
			m.set("consumer-property", name+"="+value)
		default:
			m.note(field, name, value, "no setting of this client, passed over"+meant(name, bench.ConsumerPropertyNames()))
		}
	}
}
