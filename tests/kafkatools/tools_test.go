package kafkatools

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

var update = flag.Bool("update", false, "write what Apache Kafka's tools print with Apache Kafka into the transcripts")

func TestMain(m *testing.M) { harness.Main(m) }

// tool is what a script of Apache Kafka's bin folder runs, and the option that names the server there.
type tool struct{ class, server string }

const tools = "org.apache.kafka.tools."

var byScript = map[string]tool{
	"kafka-acls":                      {tools + "AclCommand", "--bootstrap-server"},
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

// TestTranscriptsOfACluster: the same where another node may be the controller, which decides.
func TestTranscriptsOfACluster(t *testing.T) {
	c := harness.StartCluster(t, 3, nil)
	playAll(t, "testdata/scram.txt", c.Nodes[1], nil)
}

// TestTranscriptsOfAnAuthorizer: the same with a node that has one, of which everybody is a super user.
func TestTranscriptsOfAnAuthorizer(t *testing.T) {
	node := harness.Start(t, harness.Options{Properties: map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS",
	}})
	playAll(t, "testdata/authorizer/*.txt", node, nil)
}

// TestTranscriptsOfTwoLogDirectories: the same with a node that has two log directories, {one} and {two}.
func TestTranscriptsOfTwoLogDirectories(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	node := harness.Start(t, harness.Options{Properties: map[string]string{"log.dirs": one + "," + two}})
	playAll(t, "testdata/twodirs/*.txt", node, map[string]string{"{one}": one, "{two}": two})
}

// TestTranscriptsOfThreeNodes: the same with a cluster of three nodes, whose addresses are {first}, {second} and {third}.
func TestTranscriptsOfThreeNodes(t *testing.T) {
	cluster := harness.StartChosenCluster(t, 3, map[string]string{
		"broker.rack": "rack-{id}", "auto.create.topics.enable": "false", "auto.leader.rebalance.enable": "false",
	})
	playCluster(t, "testdata/threenodes/*.txt", cluster)
}

// TestTranscriptsOfFourNodes: the same with three nodes that vote on the metadata and one that joined later.
func TestTranscriptsOfFourNodes(t *testing.T) {
	cluster := harness.StartChosenCluster(t, 3, map[string]string{
		"broker.rack": "rack-{id}", "auto.create.topics.enable": "false", "auto.leader.rebalance.enable": "false",
	})
	cluster.Add(t, nil)
	playCluster(t, "testdata/fournodes/*.txt", cluster)
}

// playCluster is playAll with a cluster.
func playCluster(t *testing.T, pattern string, cluster *harness.Cluster) {
	names := map[string]string{"{bootstrap}": strings.Join(cluster.Addresses(), ",")}
	for i, word := range []string{"first", "second", "third", "fourth"}[:len(cluster.Nodes)] {
		nameNode(names, word, cluster.Nodes[i])
	}
	play(t, pattern, session{node: cluster.Nodes[0], cluster: cluster, names: names})
}

// nameNode names a node's address, as it is and as tools print it in two columns.
func nameNode(names map[string]string, word string, n *harness.Node) {
	names["{"+word+"}"] = n.Address
	names["{"+word+"columns}"] = strings.Replace(n.Address, ":", " ", 1)
}

// playAll runs the transcripts that a pattern names with one node; names are those of {word}s, beside the ones that every transcript has.
func playAll(t *testing.T, pattern string, node *harness.Node, names map[string]string) {
	all := map[string]string{"{bootstrap}": node.Address}
	maps.Copy(all, names)
	play(t, pattern, session{node: node, names: all})
}

// play runs the transcripts that a pattern names, each in a session of its own like this one.
func play(t *testing.T, pattern string, like session) {
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
			s := &session{node: like.node, cluster: like.cluster, process: process, names: map[string]string{"{dir}": t.TempDir()}}
			maps.Copy(s.names, like.names)
			steps := readTranscript(t, file)
			if *update {
				defer func() { // what there is of it, where a step fails
					if err := os.WriteFile(file, []byte(format(steps)), 0o644); err != nil {
						t.Error(err)
					}
				}()
			}
			for i := range steps {
				t.Log(steps[i].line)
				s.run(t, &steps[i])
			}
		})
	}
}

// session is one transcript's run.
type session struct {
	node    *harness.Node    // the one that is asked by what no tool does
	cluster *harness.Cluster // nil: node is alone
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
		args = append([]string{tool.server, s.names["{bootstrap}"]}, args...)
	}
	ask := func() string {
		outcome := s.process.Run(t, s.named(step.input), tool.class, args...)
		return step.filtered(t, normalised(outcome.Status, outcome.Stdout, outcome.Stderr, s.unnamed()))
	}
	got := ""
	switch followed := s.cluster != nil && reads(words); {
	case *update && followed:
		time.Sleep(time.Second) // what was changed by the steps before is known to all nodes
		fallthrough
	case *update:
		step.want = ask()
		got = step.want
	case followed:
		for deadline := time.Now().Add(followPatience); ; time.Sleep(100 * time.Millisecond) {
			if got = ask(); got == step.want || time.Now().After(deadline) {
				break
			}
		}
	default:
		got = ask()
	}
	if got != step.want {
		t.Errorf("%s\nprinted\n%s\nand with Apache Kafka prints\n%s", step.line, got, step.want)
	}
}

// followPatience is for how long a command that only reads is asked again of a cluster, whose nodes follow its controller each at its own
// pace. It is short of harness.Patience, for a wrong line is asked for that long.
const followPatience = time.Minute

// reads tells that a command changes nothing.
func reads(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"--describe", "describe", "--list", "list-endpoints", "kafka-get-offsets"}, word)
	})
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

// unnamed puts words in the place of what stands for them, the longest first: a list of addresses begins with one of them.
func (s *session) unnamed() *strings.Replacer {
	words := slices.SortedFunc(maps.Keys(s.names), func(a, b string) int { return len(s.names[b]) - len(s.names[a]) })
	var pairs []string
	for _, word := range words {
		pairs = append(pairs, s.names[word], word)
	}
	return strings.NewReplacer(pairs...)
}
