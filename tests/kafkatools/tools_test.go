package kafkatools

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

var update = flag.Bool("update", false, "write what Apache Kafka's tools print with Apache Kafka into the transcripts")

func TestMain(m *testing.M) { harness.Main(m) }

// tool is what a script of Apache Kafka's bin folder runs, and the option that names the server there.
type tool struct{ class, server string }

const tools = "org.apache.kafka.tools."

var byScript = map[string]tool{
	"kafka-broker-api-versions":       {tools + "BrokerApiVersionsCommand", "--bootstrap-server"},
	"kafka-client-metrics":            {tools + "ClientMetricsCommand", "--bootstrap-server"},
	"kafka-cluster":                   {tools + "ClusterTool", ""},
	"kafka-configs":                   {"kafka.admin.ConfigCommand", "--bootstrap-server"},
	"kafka-console-consumer":          {tools + "consumer.ConsoleConsumer", "--bootstrap-server"},
	"kafka-console-producer":          {tools + "ConsoleProducer", "--bootstrap-server"},
	"kafka-consumer-groups":           {tools + "consumer.group.ConsumerGroupCommand", "--bootstrap-server"},
	"kafka-consumer-perf-test":        {tools + "ConsumerPerformance", "--bootstrap-server"},
	"kafka-delete-records":            {tools + "DeleteRecordsCommand", "--bootstrap-server"},
	"kafka-e2e-latency":               {tools + "EndToEndLatency", ""},
	"kafka-features":                  {tools + "FeatureCommand", "--bootstrap-server"},
	"kafka-get-offsets":               {tools + "GetOffsetShell", "--bootstrap-server"},
	"kafka-groups":                    {tools + "GroupsCommand", "--bootstrap-server"},
	"kafka-leader-election":           {tools + "LeaderElectionCommand", "--bootstrap-server"},
	"kafka-log-dirs":                  {tools + "LogDirsCommand", "--bootstrap-server"},
	"kafka-metadata-quorum":           {tools + "MetadataQuorumCommand", "--bootstrap-server"},
	"kafka-producer-perf-test":        {tools + "ProducerPerformance", ""},
	"kafka-reassign-partitions":       {tools + "reassign.ReassignPartitionsCommand", "--bootstrap-server"},
	"kafka-share-groups":              {tools + "consumer.group.ShareGroupCommand", "--bootstrap-server"},
	"kafka-streams-application-reset": {tools + "StreamsResetter", "--bootstrap-server"},
	"kafka-topics":                    {tools + "TopicCommand", "--bootstrap-server"},
	"kafka-transactions":              {tools + "TransactionsCommand", "--bootstrap-server"},
	"kafka-verifiable-consumer":       {tools + "VerifiableConsumer", "--bootstrap-server"},
}

// TestTranscripts: every command of a transcript prints what it prints with Apache Kafka.
func TestTranscripts(t *testing.T) {
	playAll(t, "testdata/*.txt", harness.Shared(t), nil)
}

// TestTranscriptsOfTwoLogDirectories: the same with a node that has two log directories, {one} and {two}.
func TestTranscriptsOfTwoLogDirectories(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	node := harness.Start(t, harness.Options{Properties: map[string]string{"log.dirs": one + "," + two}})
	playAll(t, "testdata/twodirs/*.txt", node, map[string]string{"{one}": one, "{two}": two})
}

// playAll runs the transcripts that a pattern names; names are those of {word}s, beside the ones that every transcript has.
func playAll(t *testing.T, pattern string, node *harness.Node, names map[string]string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	if *update && harness.ChosenPeer() == harness.Ringmill {
		t.Fatal("the answers are Apache Kafka's: RINGMILL_TEST_PEER=kafka")
	}
	process := harness.StartTools(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &session{node: node, process: process, names: map[string]string{"{bootstrap}": node.Address, "{dir}": t.TempDir()}}
			maps.Copy(s.names, names)
			steps := readTranscript(t, file)
			for i := range steps {
				s.run(t, &steps[i])
			}
			if *update {
				if err := os.WriteFile(file, []byte(format(steps)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// session is one transcript's run.
type session struct {
	node    *harness.Node
	process *harness.Tools
	names   map[string]string // {word} to what stands for it
}

// run does a step, and compares or takes what it prints.
func (s *session) run(t *testing.T, step *step) {
	t.Helper()
	words := s.words(step.line)
	if step.line[0] == '@' {
		s.act(t, words[1], words[2:])
		return
	}
	tool, known := byScript[words[1]]
	if !known {
		t.Fatalf("%s: no such tool", words[1])
	}
	args := words[2:]
	if tool.server != "" {
		args = append([]string{tool.server, s.node.Address}, args...)
	}
	outcome := s.process.Run(t, s.named(step.input), tool.class, args...)
	got := step.filtered(t, normalised(outcome.Status, outcome.Stdout, outcome.Stderr, s.unnamed()))
	if *update {
		step.want = got
	}
	if got != step.want {
		t.Errorf("%s\nprinted\n%s\nand with Apache Kafka prints\n%s", step.line, got, step.want)
	}
}

// words splits a line at spaces outside of single quotes, with names in the place of what stands for them.
func (s *session) words(line string) []string {
	var words []string
	for _, word := range word.FindAllString(line, -1) {
		words = append(words, s.named(strings.ReplaceAll(word, "'", "")))
	}
	return words
}

var (
	word        = regexp.MustCompile(`('[^']*'|[^ '])+`)
	placeholder = regexp.MustCompile(`\{[a-z]+\}`)
)

func (s *session) named(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(word string) string {
		name, known := s.names[word]
		if !known {
			name = harness.Name(strings.Trim(word, "{}"))
			s.names[word] = name
		}
		return name
	})
}

func (s *session) unnamed() *strings.Replacer {
	var pairs []string
	for word, name := range s.names {
		pairs = append(pairs, name, word)
	}
	return strings.NewReplacer(pairs...)
}
