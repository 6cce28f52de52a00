package omb

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// ErrFile is wrapped by every error of a file that cannot be run as it is.
var ErrFile = errors.New("openmessaging benchmark file")

// Workload is a workload file. Fields have the names and defaults of OpenMessaging Benchmark's Workload class.
type Workload struct {
	Name                      string  `yaml:"name"`
	Topics                    int     `yaml:"topics"`
	PartitionsPerTopic        int     `yaml:"partitionsPerTopic"`
	KeyDistributor            string  `yaml:"keyDistributor"`
	MessageSize               int     `yaml:"messageSize"`
	UseRandomizedPayloads     bool    `yaml:"useRandomizedPayloads"`
	RandomBytesRatio          float64 `yaml:"randomBytesRatio"`
	RandomizedPayloadPoolSize int     `yaml:"randomizedPayloadPoolSize"`
	PayloadFile               string  `yaml:"payloadFile"`
	SubscriptionsPerTopic     int     `yaml:"subscriptionsPerTopic"`
	ProducersPerTopic         int     `yaml:"producersPerTopic"`
	ConsumerPerSubscription   int     `yaml:"consumerPerSubscription"`
	// ProducerRate is the messages a second of all producers together; 0 looks for the highest rate that consumers keep up with.
	ProducerRate          int     `yaml:"producerRate"`
	ConsumerBacklogSizeGB int64   `yaml:"consumerBacklogSizeGB"`
	BacklogDrainRatio     float64 `yaml:"backlogDrainRatio"`
	TestDurationMinutes   int     `yaml:"testDurationMinutes"`
	WarmupDurationMinutes int     `yaml:"warmupDurationMinutes"`

	path string
}

// How a message's key is chosen: none, or one of keysCount in turn, or by the nanoseconds of the clock.
const (
	keyNone       = "NO_KEY"
	keyRoundRobin = "KEY_ROUND_ROBIN"
	keyRandomNano = "RANDOM_NANO"

	keysCount = 10_000
)

// RateFrom is the rate with which a search begins, and BacklogMax the messages that nobody may be behind by at a rate that holds: what
// OpenMessaging Benchmark has for a producerRate of 0.
const (
	RateFrom   = 10_000
	BacklogMax = 1_000
)

// ReadWorkload reads a file. Notes are about what it says in vain.
func ReadWorkload(path string) (w *Workload, notes []string, err error) {
	w = &Workload{KeyDistributor: keyNone, BacklogDrainRatio: 1, WarmupDurationMinutes: 1, path: path}
	if notes, err = readYAML(path, w); err != nil {
		return nil, nil, err
	}
	if err := w.check(); err != nil {
		return nil, nil, fmt.Errorf("%w %s: %w", ErrFile, path, beside(err, notes))
	}
	return w, append(notes, w.vain()...), nil
}

// beside is an error with the notes on what was passed over, which may be a misspelt name of what is missing.
func beside(err error, notes []string) error {
	if len(notes) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(notes, "; "))
}

func (w *Workload) check() error {
	minutes := bench.Range[int]{Least: 1, Most: int(bench.Durations.Most / time.Minute)}
	if err := cmp.Or(
		bench.Clients.Check("topics:", w.Topics),
		bench.PartitionCounts.Check("partitionsPerTopic:", w.PartitionsPerTopic),
		bench.Clients.Check("producersPerTopic:", w.ProducersPerTopic),
		bench.Clients.Or0().Check("subscriptionsPerTopic:", w.SubscriptionsPerTopic),
		bench.Clients.Or0().Check("consumerPerSubscription:", w.ConsumerPerSubscription),
		bench.Range[int]{Most: int(bench.Rates.Most)}.Check("producerRate:", w.ProducerRate),
		minutes.Or0().Check("warmupDurationMinutes:", w.WarmupDurationMinutes),
		minutes.Check("testDurationMinutes:", w.TestDurationMinutes),
		bench.Range[int64]{Most: bench.Backlogs.Most >> 30}.Check("consumerBacklogSizeGB:", w.ConsumerBacklogSizeGB),
		bench.Range[float64]{Most: 1}.Check("backlogDrainRatio:", w.BacklogDrainRatio)); err != nil {
		return err
	}
	switch {
	case w.KeyDistributor != keyNone && w.KeyDistributor != keyRoundRobin && w.KeyDistributor != keyRandomNano:
		return fmt.Errorf("keyDistributor: %q is none of %s, %s, %s", w.KeyDistributor, keyNone, keyRoundRobin, keyRandomNano)
	case w.ConsumerBacklogSizeGB > 0 && (w.SubscriptionsPerTopic == 0 || w.ConsumerPerSubscription == 0):
		return fmt.Errorf("consumerBacklogSizeGB: %d: without consumers nobody drains it", w.ConsumerBacklogSizeGB)
	case w.UseRandomizedPayloads && w.RandomizedPayloadPoolSize < 1:
		return errors.New("randomizedPayloadPoolSize: useRandomizedPayloads needs at least 1")
	case !w.UseRandomizedPayloads && w.PayloadFile == "":
		return errors.New("payloadFile: none, and useRandomizedPayloads is not true: nothing says what messages carry")
	}
	return nil
}

// vain are notes about fields that have no effect beside others, there as here.
func (w *Workload) vain() (notes []string) {
	add := func(field, why string) {
		notes = append(notes, fmt.Sprintf("%s: %s: no effect %s", w.path, field, why))
	}
	switch {
	case w.UseRandomizedPayloads && w.PayloadFile != "":
		add("payloadFile", "beside useRandomizedPayloads")
	case !w.UseRandomizedPayloads && w.RandomBytesRatio != 0:
		add("randomBytesRatio", "without useRandomizedPayloads")
	case !w.UseRandomizedPayloads && w.RandomizedPayloadPoolSize != 0:
		add("randomizedPayloadPoolSize", "without useRandomizedPayloads")
	}
	if w.BacklogDrainRatio != 1 && w.ConsumerBacklogSizeGB == 0 {
		add("backlogDrainRatio", "without consumerBacklogSizeGB")
	}
	if w.SubscriptionsPerTopic > 0 != (w.ConsumerPerSubscription > 0) {
		add("subscriptionsPerTopic and consumerPerSubscription", "with one of them 0: nobody consumes")
	}
	return notes
}

// Settings are the flags of ringmill bench run that the workload stands for. A ProducerRate of 0 gives no rate.
func (w *Workload) Settings() ([]bench.Setting, error) {
	size, err := w.size()
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrFile, w.path, err)
	}
	minutes := func(n int) string { return (time.Duration(n) * time.Minute).String() }
	consumers := w.ConsumerPerSubscription
	if w.SubscriptionsPerTopic == 0 {
		consumers = 0
	}
	settings := []bench.Setting{
		{Name: "client", Value: string(bench.ClientFranz)},
		{Name: "topics", Value: strconv.Itoa(w.Topics)},
		{Name: "partitions", Value: strconv.Itoa(w.PartitionsPerTopic)},
		{Name: "size", Value: size},
		{Name: "producers", Value: strconv.Itoa(w.ProducersPerTopic)},
		{Name: "subscriptions", Value: strconv.Itoa(max(w.SubscriptionsPerTopic, 1))},
		{Name: "consumers", Value: strconv.Itoa(consumers)},
		{Name: "duration", Value: minutes(w.TestDurationMinutes)},
		{Name: "warm-up", Value: minutes(w.WarmupDurationMinutes)},
	}
	if w.ConsumerBacklogSizeGB > 0 {
		settings = append(settings, bench.Setting{Name: "backlog", Value: strconv.FormatInt(w.ConsumerBacklogSizeGB<<30, 10)},
			bench.Setting{Name: "backlog-drained", Value: strconv.FormatFloat(w.BacklogDrainRatio, 'g', -1, 64)})
	}
	if w.ProducerRate > 0 {
		settings = append(settings, bench.Setting{Name: "rate", Value: strconv.Itoa(w.ProducerRate)})
	}
	switch w.KeyDistributor {
	case keyRoundRobin:
		settings = append(settings, bench.Setting{Name: "keys", Value: strconv.Itoa(keysCount)}, bench.Setting{Name: "key-choice", Value: bench.KeysInTurn})
	case keyRandomNano:
		settings = append(settings, bench.Setting{Name: "keys", Value: strconv.Itoa(keysCount)}, bench.Setting{Name: "key-choice", Value: bench.KeysUniform})
	}
	return settings, nil
}

// size is what messages carry, as --size has it.
func (w *Workload) size() (string, error) {
	if w.UseRandomizedPayloads {
		return fmt.Sprintf("pool:%d,%g,%d", w.MessageSize, w.RandomBytesRatio, w.RandomizedPayloadPoolSize), nil
	}
	path, size, err := findPayload(w.path, w.PayloadFile)
	switch {
	case err != nil:
		return "", fmt.Errorf("payloadFile: %w", err)
	case size != int64(w.MessageSize):
		return "", fmt.Errorf("payloadFile: %s has %d bytes, and messageSize is %d", path, size, w.MessageSize)
	}
	return "payload:" + path, nil
}

// findPayload looks for a file where the process is, as OpenMessaging Benchmark does, and then in the workload's folder and the one above it, which
// is where its own workloads have theirs.
func findPayload(workload, name string) (path string, size int64, err error) {
	at := filepath.Dir(workload)
	for _, path := range []string{name, filepath.Join(at, name), filepath.Join(at, "..", name)} {
		info, statErr := os.Stat(path)
		if statErr == nil && info.Mode().IsRegular() {
			return path, info.Size(), nil
		}
		if err == nil && statErr != nil {
			err = statErr
		}
		if filepath.IsAbs(name) {
			break
		}
	}
	if err == nil {
		err = fmt.Errorf("%s is no file", name)
	}
	return "", 0, err
}
