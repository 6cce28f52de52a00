package bench

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientProperty makes franz-go's options of the value of a property that Kafka's own clients have.
type clientProperty func(value string) ([]kgo.Opt, error)

// What franz-go has of the properties of Kafka's own clients, besides what a Trial has a field for (acks, linger.ms, compression.type). Sizes and
// times mean what they mean there.
var (
	producerProperties = map[string]clientProperty{
		"batch.size":                            whole(1, 1<<30, func(n int32) kgo.Opt { return kgo.ProducerBatchMaxBytes(n) }),
		"buffer.memory":                         whole(1, math.MaxInt32, func(n int32) kgo.Opt { return kgo.MaxBufferedBytes(int(n)) }),
		"client.id":                             clientID,
		"delivery.timeout.ms":                   milliseconds(func(d time.Duration) kgo.Opt { return kgo.RecordDeliveryTimeout(d) }),
		"enable.idempotence":                    nil, // producerOptions
		"max.in.flight.requests.per.connection": nil,
		"request.timeout.ms":                    milliseconds(func(d time.Duration) kgo.Opt { return kgo.ProduceRequestTimeout(d) }),
		"retries":                               whole(0, math.MaxInt32, func(n int32) kgo.Opt { return kgo.RecordRetries(int(n)) }),
	}
	consumerProperties = map[string]clientProperty{
		"client.id":                 clientID,
		"fetch.max.bytes":           whole(1, math.MaxInt32, func(n int32) kgo.Opt { return kgo.FetchMaxBytes(n) }),
		"fetch.max.wait.ms":         milliseconds(func(d time.Duration) kgo.Opt { return kgo.FetchMaxWait(d) }),
		"fetch.min.bytes":           whole(0, math.MaxInt32, func(n int32) kgo.Opt { return kgo.FetchMinBytes(n) }),
		"isolation.level":           isolationLevel,
		"max.partition.fetch.bytes": whole(1, math.MaxInt32, func(n int32) kgo.Opt { return kgo.FetchMaxPartitionBytes(n) }),
	}
)

// ProducerPropertyNames are what ProducerProperties may hold, in order.
func ProducerPropertyNames() []string { return slices.Sorted(maps.Keys(producerProperties)) }

// ConsumerPropertyNames are what ConsumerProperties may hold, in order.
func ConsumerPropertyNames() []string { return slices.Sorted(maps.Keys(consumerProperties)) }

func whole(least, most int64, option func(int32) kgo.Opt) clientProperty {
	return func(value string) ([]kgo.Opt, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("from %d to %d", least, most)
		}
		return []kgo.Opt{option(int32(n))}, nil
	}
}

func milliseconds(option func(time.Duration) kgo.Opt) clientProperty {
	return whole(1, math.MaxInt32, func(n int32) kgo.Opt { return option(time.Duration(n) * time.Millisecond) })
}

func clientID(value string) ([]kgo.Opt, error) { return []kgo.Opt{kgo.ClientID(value)}, nil }

func isolationLevel(value string) ([]kgo.Opt, error) {
	switch value {
	case "read_committed":
		return []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadCommitted())}, nil
	case "read_uncommitted":
		return nil, nil
	}
	return nil, errors.New("read_committed or read_uncommitted")
}

// optionsOf are the options of properties that are in a table; those that have none there are somebody else's.
func optionsOf(table map[string]clientProperty, kind string, properties map[string]string) (opts []kgo.Opt, err error) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, known := table[name]
		if !known {
			return nil, fmt.Errorf("%w: %s is no property of a %s that this client has: %s", ErrWorkload, name, kind, strings.Join(slices.Sorted(maps.Keys(table)), ", "))
		}
		if property == nil {
			continue
		}
		more, err := property(properties[name])
		if err != nil {
			return nil, fmt.Errorf("%w: %s=%s: %w", ErrWorkload, name, properties[name], err)
		}
		opts = append(opts, more...)
	}
	return opts, nil
}

// producerOptions are those of ProducerProperties and of who must have a record.
func (t *Trial) producerOptions() ([]kgo.Opt, error) {
	opts, err := optionsOf(producerProperties, "producer", t.ProducerProperties)
	if err != nil {
		return nil, err
	}
	idempotent := t.Acks != 1
	switch value := t.ProducerProperties["enable.idempotence"]; {
	case value == "true" && !idempotent:
		return nil, fmt.Errorf("%w: enable.idempotence=true needs acks of all in-sync replicas", ErrWorkload)
	case value == "false":
		idempotent = false
	case value != "" && value != "true":
		return nil, fmt.Errorf("%w: enable.idempotence=%s: true or false", ErrWorkload, value)
	}
	opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	if t.Acks == 1 {
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	if !idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	return t.inFlight(opts, idempotent)
}

// inFlight adds the option of max.in.flight.requests.per.connection. An idempotent producer of franz-go has 5 requests out, as Kafka's by
// default, and can have no fewer.
func (t *Trial) inFlight(opts []kgo.Opt, idempotent bool) ([]kgo.Opt, error) {
	const name = "max.in.flight.requests.per.connection"
	value, given := t.ProducerProperties[name]
	if !given {
		return opts, nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil || n < 1:
		return nil, fmt.Errorf("%w: %s=%s: a number above 0", ErrWorkload, name, value)
	case idempotent && n != 5:
		return nil, fmt.Errorf("%w: %s=%s: with enable.idempotence franz-go has 5 requests out", ErrWorkload, name, value)
	case idempotent:
		return opts, nil
	}
	return append(opts, kgo.MaxProduceRequestsInflightPerBroker(n)), nil
}

// consumerOptions are those of ConsumerProperties.
func (t *Trial) consumerOptions() ([]kgo.Opt, error) {
	return optionsOf(consumerProperties, "consumer", t.ConsumerProperties)
}
