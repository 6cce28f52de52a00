package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T, src Source) *Config {
	t.Helper()
	c, _, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadNothing(t *testing.T) {
	c, notices, err := Load(Source{})
	if err != nil || len(notices) != 0 {
		t.Fatalf("notices %v, error %v", notices, err)
	}
	want := []Listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}}
	if !slices.Equal(c.Listeners, want) || !slices.Equal(c.AdvertisedListeners, want) {
		t.Errorf("listeners %v, advertised %v", c.Listeners, c.AdvertisedListeners)
	}
	if c.NodeID != 1 || c.DataDir != "./data" || !slices.Equal(c.LogDirs, []string{"data/logs"}) {
		t.Errorf("node %d, data %q, logs %q", c.NodeID, c.DataDir, c.LogDirs)
	}
	if c.Loops != runtime.GOMAXPROCS(0) || c.Engine != "auto" || c.FlushPolicy() != FlushCommit || c.HTTPListen != "127.0.0.1:9644" {
		t.Errorf("loops %d, engine %q, flush %q, http %q", c.Loops, c.Engine, c.FlushPolicy(), c.HTTPListen)
	}
	if !c.AutoCreateTopics || c.RequestBytesMax != 104857600 || c.OffsetsTopicPartitions != 50 || c.MinInSyncReplicas() != 1 {
		t.Errorf("%+v", c)
	}
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, "num.partitions=2\nlisteners=PLAINTEXT://127.0.0.1:2\nringmill.data.dir=/2\nringmill.loops=2\nnum.partitions=3\n")
	src := Source{File: file}
	partitions := func() int32 { return load(t, src).NumPartitions }
	if got := partitions(); got != 3 {
		t.Errorf("the last line of a file wins: %d", got)
	}
	src.Env = []string{"RINGMILL_NUM_PARTITIONS=4", "RINGMILL_LISTENERS=PLAINTEXT://127.0.0.1:4", "RINGMILL_DATA_DIR=/4", "PATH=/bin"}
	if c := load(t, src); c.NumPartitions != 4 || c.Listeners[0].Port != 4 || c.DataDir != "/4" {
		t.Errorf("environment over file: %d %v %s", c.NumPartitions, c.Listeners, c.DataDir)
	}
	src.Listen, src.Data = "127.0.0.1:5", "/5"
	if c := load(t, src); c.Listeners[0].Port != 5 || c.DataDir != "/5" || c.LogDirs[0] != "/5/logs" {
		t.Errorf("short forms over environment: %v %s", c.Listeners, c.DataDir)
	}
	src.Set = []string{"listeners=PLAINTEXT://127.0.0.1:6", "ringmill.data.dir=/5", "ringmill.data.dir=/6"}
	if c := load(t, src); c.Listeners[0].Port != 6 || c.DataDir != "/6" || c.Loops != 2 {
		t.Errorf("--set over all, the last first: %v %s %d", c.Listeners, c.DataDir, c.Loops)
	}
}

func TestKafkasCombinedFileWorksAsItIs(t *testing.T) {
	c, notices, err := Load(Source{File: "testdata/kraft-combined.properties"})
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	if want := []Listener{{"PLAINTEXT", "PLAINTEXT", "", 9092}}; !slices.Equal(c.Listeners, want) {
		t.Errorf("listeners %v on %s", c.Listeners, host)
	}
	if want := []Listener{{"PLAINTEXT", "PLAINTEXT", "localhost", 9092}}; !slices.Equal(c.AdvertisedListeners, want) {
		t.Errorf("advertised %v", c.AdvertisedListeners)
	}
	if c.BrokerRack != "rack-1" || !slices.Equal(c.LogDirs, []string{"/tmp/kraft-combined-logs"}) {
		t.Errorf("rack %q, logs %q", c.BrokerRack, c.LogDirs)
	}
	var keys []string
	for _, n := range notices {
		keys = append(keys, n.Key)
	}
	want := []string{
		"controller.quorum.bootstrap.servers", "controller.quorum.voters", "listeners",
		"num.io.threads", "num.network.threads", "socket.receive.buffer.bytes",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("notices for %q", keys)
	}
	if got := notices[2].String(); got != "listeners (kraft-combined.properties:6): CONTROLLER is a controller listener: there is no KRaft quorum to talk to, and it is not opened" {
		t.Errorf("notice %q", got)
	}
}

// Every refusal is one line that names key, value and place, and what is allowed or what to do.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name string
		file string
		src  Source
		want string
	}{
		{"unknown in the file", "# x\nlog.retenton.ms=5", Source{},
			"log.retenton.ms (server.properties:2): unknown property; did you mean log.retention.ms?"},
		{"unknown, nothing near", "", Source{Set: []string{"completely.different.thing=1"}},
			"completely.different.thing (--set): unknown property; see docs/configuration.md for all names"},
		{"swapped letters", "", Source{Set: []string{"ringmill.lopos=1"}},
			"ringmill.lopos (--set): unknown property; did you mean ringmill.loops?"},
		{"a topic's", "retention.ms=5", Source{},
			"retention.ms (server.properties:1): a property of topics; the node's is log.retention.ms"},
		{"unknown variable", "", Source{Env: []string{"RINGMILL_LOG_RETENTON_MS=5"}},
			"RINGMILL_LOG_RETENTON_MS (environment): names no property; did you mean RINGMILL_LOG_RETENTION_MS?"},
		{"not a number", "", Source{Env: []string{"RINGMILL_NUM_PARTITIONS=many"}},
			"num.partitions=many (environment RINGMILL_NUM_PARTITIONS): Not a number of type INT; allowed: 1 or more"},
		{"the file's faults first", "a=b\\\nc\n", Source{Set: []string{"num.partitions=0"}},
			"a (server.properties:1): unknown property; see docs/configuration.md for all names"},
		{"out of bounds", "\n\nnum.partitions: 0", Source{},
			"num.partitions=0 (server.properties:3): Value must be at least 1; allowed: 1 or more"},
		{"not a word", "", Source{Set: []string{"ringmill.engine=kqueue"}},
			"ringmill.engine=kqueue (--set): String must be one of: auto, uring, epoll; allowed: one of auto, uring, epoll"},
		{"no expansion", "log.dirs=${HOME}/logs\nringmill.loops=${x}", Source{},
			"ringmill.loops=${x} (server.properties:2): Not a number of type INT; allowed: 0 to 1024"},
		{"set without value", "", Source{Set: []string{"num.partitions"}},
			"num.partitions (--set): not key=value; write --set key=value"},
		{"listen without port", "", Source{Listen: "localhost"},
			"listeners=localhost (--listen): not an address; write host:port, as in 127.0.0.1:9092"},
		{"not a double", "", Source{Set: []string{"sasl.login.refresh.window.factor=x"}},
			"sasl.login.refresh.window.factor=x (--set): Not a number of type DOUBLE; allowed: a number"},
		{"SASL", "listeners=SASL_PLAINTEXT://:9092", Source{},
			"listeners=SASL_PLAINTEXT://:9092 (server.properties:1): listener SASL_PLAINTEXT asks for SASL_PLAINTEXT, which is not built yet, and the listener is not opened without it; use a PLAINTEXT listener, on an address that only trusted clients reach"},
		{"TLS under a name", "listeners=IN://h:1,OUT://h:2\nlistener.security.protocol.map=IN:PLAINTEXT,OUT:SSL", Source{},
			"listeners=IN://h:1,OUT://h:2 (server.properties:1): listener OUT asks for SSL, which is not built yet, and the listener is not opened without it; use a PLAINTEXT listener, on an address that only trusted clients reach"},
		{"unmapped", "", Source{Set: []string{"listeners=IN://h:1"}},
			"listeners=IN://h:1 (--set): no security protocol for listener IN; add IN:PLAINTEXT to listener.security.protocol.map"},
		{"no such protocol", "", Source{Set: []string{"listener.security.protocol.map=A:TLS"}},
			`listener.security.protocol.map=A:TLS (--set): "A:TLS" is not NAME:PROTOCOL; protocols are PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL`},
		{"only a controller", "", Source{Set: []string{"listeners=CONTROLLER://:9093", "controller.listener.names=CONTROLLER"}},
			"listeners=CONTROLLER://:9093 (--set): no listener for clients; add one, as in PLAINTEXT://127.0.0.1:9092"},
		{"controller role", "", Source{Set: []string{"process.roles=controller"}},
			"process.roles=controller (--set): a ringmill node is broker and controller in one; write broker or broker,controller"},
		{"name twice", "", Source{Set: []string{"listeners=PLAINTEXT://a:1,PLAINTEXT://a:2"}},
			"listeners=PLAINTEXT://a:1,PLAINTEXT://a:2 (--set): Each listener must have a different name; rename one PLAINTEXT and map it in listener.security.protocol.map"},
		{"port twice", "", Source{Set: []string{"listeners=A://a:1,B://a:1"}},
			"listeners=A://a:1,B://a:1 (--set): Each listener must have a different port; change the port of B"},
		{"not a listener", "", Source{Set: []string{"listeners=127.0.0.1:9092"}},
			`listeners=127.0.0.1:9092 (--set): "127.0.0.1:9092" is not a listener; write NAME://host:port, as in PLAINTEXT://127.0.0.1:9092, with a port up to 65535`},
		{"meta-address", "", Source{Listen: "0.0.0.0:9092"},
			"listeners=PLAINTEXT://0.0.0.0:9092 (--listen): clients cannot connect to 0.0.0.0; set advertised.listeners=PLAINTEXT://<address that clients reach>:9092"},
		{"advertised without listener", "", Source{Set: []string{"advertised.listeners=OTHER://a:1"}},
			"advertised.listeners=OTHER://a:1 (--set): no listener is called OTHER; add it to listeners or remove it"},
		{"authorizer", "authorizer.class.name=org.example.OwnAuthorizer", Source{},
			"authorizer.class.name=org.example.OwnAuthorizer (server.properties:1): this authorizer is not built, and without it everybody would be let in; write org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
		{"nodes that are no super users", "", Source{Set: []string{"ringmill.bootstrap.expect=3", "super.users=User:a", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"}},
			"super.users=User:a (--set): the nodes of a cluster ask each other without authentication, and would be refused before they know any ACL; add User:ANONYMOUS, and keep their listener from others"},
		{"super users", "", Source{Set: []string{"super.users=User:a;b"}},
			"super.users=User:a;b (--set): b is not a principal; write principals like User:admin separated by semicolons"},
		{"two ids", "node.id=1\nbroker.id=2", Source{},
			"broker.id=2 (server.properties:2): node.id is 1; remove broker.id or give both the same number"},
		{"no retention", "", Source{Set: []string{"log.retention.hours=0"}},
			"log.retention.hours=0 (--set): log.retention.hours must be unlimited (-1) or, greater than or equal to 1; write -1 to keep records for ever"},
		{"request memory", "", Source{Set: []string{"ringmill.request.memory.bytes=2097152"}},
			"ringmill.request.memory.bytes=2097152 (--set): a request may have socket.request.max.bytes=104857600 bytes, which would never fit; raise it, or lower socket.request.max.bytes"},
		{"sessions", "", Source{Set: []string{"group.min.session.timeout.ms=1800001"}},
			"group.min.session.timeout.ms=1800001 (--set): more than group.max.session.timeout.ms=1800000; lower it"},
		{"overrides", "", Source{Set: []string{"max.connections.per.ip.overrides=10.0.0.1"}},
			"max.connections.per.ip.overrides=10.0.0.1 (--set): 10.0.0.1 is not address:count; write pairs like 10.0.0.7:100 separated by commas"},
		{"directory twice", "", Source{Set: []string{"log.dirs=/a,/b/../a"}},
			"log.dirs=/a,/b/../a (--set): /a stands twice; name each directory once"},
		{"HTTP", "", Source{Set: []string{"ringmill.http.listen=9644"}},
			"ringmill.http.listen=9644 (--set): not an address; write host:port, as in 127.0.0.1:9644, or nothing to serve no HTTP"},
		{"gossip", "", Source{Set: []string{"ringmill.gossip.listen=7946"}},
			"ringmill.gossip.listen=7946 (--set): not an address; write host:port, as in 10.0.0.7:7946"},
		{"gossip told", "", Source{Set: []string{"ringmill.gossip.advertise=:7946"}},
			"ringmill.gossip.advertise=:7946 (--set): not an address; write host:port, as in 10.0.0.7:7946"},
		{"between brokers", "", Source{Set: []string{"inter.broker.listener.name=REPLICATION"}},
			"inter.broker.listener.name=REPLICATION (--set): no listener is called that; name one of listeners"},
		{"escape", `a=\u12`, Source{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.file != "" {
				tt.src.File = writeFile(t, tt.file)
			}
			_, _, err := Load(tt.src)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if got := err.Error(); got != tt.want && tt.want != "" || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	for path, want := range map[string]string{
		"testdata/none.properties": "testdata/none.properties: no such file or directory; name a readable file in server.properties syntax with --config",
		"testdata":                 "testdata: not a regular file; name a readable file in server.properties syntax with --config",
		"/dev/zero":                "/dev/zero: not a regular file; name a readable file in server.properties syntax with --config",
	} {
		if _, _, err := Load(Source{File: path}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestParseFile(t *testing.T) {
	text := "# comment\r\n! another\n\n a = 1 \nb:2\nc 3\nd=x,\\\n   y\ne=tab\\there\nf=\\u0041\ng=c\\\\\nh=ü ${a}\ni\n# end \\\nj=1"
	got, err := parseFile("f", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []setting{
		{"a", "1 ", "f:4"}, {"b", "2", "f:5"}, {"c", "3", "f:6"}, {"d", "x,y", "f:7"}, {"e", "tab\there", "f:9"},
		{"f", "A", "f:10"}, {"g", `c\`, "f:11"}, {"h", "ü ${a}", "f:12"}, {"i", "", "f:13"}, {"j", "1", "f:15"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"a=1", "a=\\u12", "\\", "=\n:", "a\\\n\\\n=b", "#\\\na=1", "\xff=\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parseFile("f", text)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("error of type %T", err)
		}
		if len(found) > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
			t.Errorf("%d settings from %q", len(found), text)
		}
	})
}

func TestNodeIDFromItsOlderName(t *testing.T) {
	c := load(t, Source{Set: []string{"broker.id=7"}})
	if v, _ := c.Value("node.id"); c.NodeID != 7 || v != "7" {
		t.Errorf("node %d, described as %s", c.NodeID, v)
	}
}

func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	load(t, Source{Env: []string{
		"RINGMILL_SERVICE_HOST=10.0.0.1", "RINGMILL_SERVICE_PORT=9092", "RINGMILL_SERVICE_PORT_KAFKA=9092", "RINGMILL_PORT=tcp://10.0.0.1:9092",
		"RINGMILL_PORT_9092_TCP=tcp://10.0.0.1:9092", "RINGMILL_PORT_9092_TCP_ADDR=10.0.0.1", "RINGMILL_HEADLESS_SERVICE_HOST=x",
		"RINGMILL_BOOTSTRAP=a:1", "OTHER=1", "broken",
	}})
}

func TestRetiredNamesAreNoticed(t *testing.T) {
	file := writeFile(t, "zookeeper.connect=z:2181\ninter.broker.protocol.version=3.6\nlistener.name.internal.ssl.keystore.location=/k\n")
	_, notices, err := Load(Source{File: file})
	if err != nil || len(notices) != 3 || notices[2].Reason != "Apache Kafka 4 has no ZooKeeper, and neither has ringmill" {
		t.Errorf("notices %v, error %v", notices, err)
	}
}

func TestCleanerThreadsAreNoticed(t *testing.T) {
	cfg, notices, err := Load(Source{Set: []string{"log.cleanup.policy=compact", "log.cleaner.threads=4", "log.cleaner.backoff.ms=7"}})
	if err != nil || len(notices) != 1 || notices[0].Key != "log.cleaner.threads" {
		t.Fatalf("notices %v, error %v", notices, err)
	}
	if !cfg.CleanerEnable || cfg.CleanerBackoffMS != 7 || cfg.CleanerDedupeBytes != 128<<20 || cfg.CleanerLoadFactor != 0.9 {
		t.Errorf("%t %d %d %v", cfg.CleanerEnable, cfg.CleanerBackoffMS, cfg.CleanerDedupeBytes, cfg.CleanerLoadFactor)
	}
}

func TestListenForms(t *testing.T) {
	host, _ := os.Hostname()
	for listen, want := range map[string][2]string{
		"127.0.0.1:9092":   {"PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://127.0.0.1:9092"},
		"127.0.0.1:0":      {"PLAINTEXT://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0"},
		":1234":            {"PLAINTEXT://:1234", "PLAINTEXT://" + host + ":1234"},
		"[::1]:9092":       {"PLAINTEXT://[::1]:9092", "PLAINTEXT://[::1]:9092"},
		"plaintext://h:10": {"PLAINTEXT://h:10", "PLAINTEXT://h:10"},
	} {
		c := load(t, Source{Listen: listen})
		if got := [2]string{c.Listeners[0].String(), c.AdvertisedListeners[0].String()}; got != want {
			t.Errorf("--listen %s: %v, want %v", listen, got, want)
		}
	}
}

func TestConnectionOverrides(t *testing.T) {
	c := load(t, Source{Set: []string{"max.connections.per.ip.overrides=10.0.0.1:5, [::1]:0"}})
	if want := map[string]int{"10.0.0.1": 5, "::1": 0}; !reflect.DeepEqual(c.ConnectionsPerIPOverrides, want) {
		t.Errorf("overrides %v", c.ConnectionsPerIPOverrides)
	}
}

func TestNearest(t *testing.T) {
	for s, want := range map[string]string{"abcd": "abcd", "abdc": "abcd", "abc": "abcd", "xyz": "", "": ""} {
		if got := Nearest(s, []string{"zzzzzzzzz", "abcd"}); got != want {
			t.Errorf("nearest %q is %q, want %q", s, got, want)
		}
	}
}
