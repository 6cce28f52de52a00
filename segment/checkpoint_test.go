package segment

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// kafkaFile gives a file that Apache Kafka 4.1.1 wrote.
func kafkaFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/kafka/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadKafkasOffsetCheckpoints(t *testing.T) {
	for _, name := range []string{RecoveryPointCheckpoint, HighWatermarkCheckpoint} {
		offsets, err := ReadOffsetCheckpoint(kafkaFile(t, name))
		if err != nil || len(offsets) != 12 {
			t.Fatalf("%s: %d entries (%v), want 12", name, len(offsets), err)
		}
		for tp, want := range map[wire.TopicPartition]wire.Offset{
			{Topic: "segdump", Partition: 0}: 39, {Topic: "segdump", Partition: 1}: 60,
			{Topic: "__transaction_state", Partition: 6}: 10, {Topic: "__transaction_state", Partition: 9}: 0,
		} {
			if got, ok := offsets[tp]; got != want || !ok {
				t.Errorf("%s: %v is at %d, want %d", name, tp, got, want)
			}
		}
	}
	offsets, err := ReadOffsetCheckpoint(kafkaFile(t, LogStartCheckpoint))
	if err != nil || len(offsets) != 0 {
		t.Errorf("log start: %v (%v), want no entries", offsets, err)
	}
	if got := string(AppendOffsetCheckpoint(nil, nil)); got != string(kafkaFile(t, LogStartCheckpoint)) {
		t.Errorf("no entries are written as %q", got)
	}
}

func TestOffsetCheckpointFile(t *testing.T) {
	offsets := map[wire.TopicPartition]wire.Offset{
		{Topic: "b", Partition: 10}: 3, {Topic: "b", Partition: 2}: 1 << 40, {Topic: "a.b_c-d", Partition: 0}: 0,
	}
	const file = "0\n4\na.b_c-d 0 0\nb 2 1099511627776\nb 10 3\n#crc32c 0 3107546760\n"
	if got := string(AppendOffsetCheckpoint(nil, offsets)); got != file {
		t.Errorf("written %q, want %q", got, file)
	}
	for _, s := range []string{file, "0\r\n3\r\nb 10 2\r\nb\t2  1099511627776\r\na.b_c-d 0 0 \r\n"} {
		read, err := ReadOffsetCheckpoint([]byte(s))
		if err != nil || len(read) != 3 {
			t.Errorf("%q read as %v (%v)", s, read, err)
		}
	}
	for s, line := range map[string]int{
		"1\n0\n": 1, "x\n": 1, "0\nx\n": 2, "0\n1\na 0\n": 3, "0\n1\na 0 0 0\n": 3, "0\n1\na x 0\n": 3, "0\n1\na -1 0\n": 3,
		"0\n1\na 0 x\n": 3, "0\n2\na 0 0\n": 0, "0\n0\na 0 0\n": 0, "0\n-1\n": 0, "0\n2\na 0 0\n\nb 0 0\n": 4,
		"0\n4\na.b_c-d 0 0\nb 2 1099511627776\nb 10 4\n#crc32c 0 3107546760\n": 6, "0\n1\n#crc32c 0 x\n": 3,
		"0\n2\n#crc32c 0 1\na 0 0\n": 3,
	} {
		var bad *CheckpointError
		if _, err := ReadOffsetCheckpoint([]byte(s)); !errors.As(err, &bad) || bad.Line != line {
			t.Errorf("%q read: %v, want an error in line %d", s, err, line)
		}
	}
	for _, s := range []string{"", "0", "0\n", "0\n0"} {
		if read, err := ReadOffsetCheckpoint([]byte(s)); err != nil || len(read) != 0 {
			t.Errorf("%q read as %v (%v), want no entries", s, read, err)
		}
	}
}

func FuzzReadOffsetCheckpoint(f *testing.F) {
	f.Add(kafkaFile(f, RecoveryPointCheckpoint))
	f.Add([]byte("0\n1\na 0 0\n"))
	f.Add([]byte("0\r0\r"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		offsets, err := ReadOffsetCheckpoint(raw)
		if err != nil {
			return
		}
		file := AppendOffsetCheckpoint(nil, offsets)
		again, err := ReadOffsetCheckpoint(file)
		if err != nil || !maps.Equal(again, offsets) || !bytes.Equal(file, AppendOffsetCheckpoint(nil, again)) {
			t.Fatalf("%v written and read again: %v (%v)", offsets, again, err)
		}
	})
}

func TestMetaProperties(t *testing.T) {
	kafkas := MetaProperties{Version: 1, ClusterID: "68vD43KsTnaJoWzxyQn7jQ", NodeID: 1, DirectoryID: "0BVYcHX00WjoI794CrMHlg"}
	got, err := ReadMetaProperties(kafkaFile(t, MetaPropertiesFile))
	if err != nil || got != kafkas {
		t.Errorf("Kafka's file read as %+v (%v)", got, err)
	}
	const file = "#crc32c=d5aa35c1\nnode.id=1\ndirectory.id=0BVYcHX00WjoI794CrMHlg\nversion=1\ncluster.id=68vD43KsTnaJoWzxyQn7jQ\n"
	if got := string(kafkas.AppendTo(nil)); got != file {
		t.Errorf("written %q, want %q", got, file)
	}
	odd := MetaProperties{Version: 1, ClusterID: " a=b:c\\#é\U0001f600\n", NodeID: 0}
	if got, err := ReadMetaProperties(odd.AppendTo(nil)); err != nil || got != odd {
		t.Errorf("written and read again: %+v (%v), want %+v", got, err, odd)
	}
	for s, want := range map[string]MetaProperties{
		"version=0\nbroker.id=7\ncluster.id=x":                 {Version: 0, NodeID: 7, ClusterID: "x"},
		"broker.id = 7":                                        {Version: 0, NodeID: 7},
		"! c\n\n version : 1\nnode.id 3\ncluster.id=x\nother=": {Version: 1, NodeID: 3, ClusterID: "x"},
	} {
		if got, err := ReadMetaProperties([]byte(s)); err != nil || got != want {
			t.Errorf("%q read as %+v (%v), want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "version=2\nnode.id=1\ncluster.id=x", "version=1\ncluster.id=x", "version=1\nnode.id=x\ncluster.id=x",
		"#crc32c=d5aa35c1\nnode.id=2\nversion=1\ncluster.id=x\n", "version=1\nnode.id=1", "version=1\nnode.id=1\ncluster.id=x\ndirectory.id=short"} {
		var bad *CheckpointError
		if _, err := ReadMetaProperties([]byte(s)); !errors.As(err, &bad) {
			t.Errorf("%q read: %v", s, err)
		}
	}
}

func FuzzReadMetaProperties(f *testing.F) {
	f.Add(kafkaFile(f, MetaPropertiesFile))
	f.Add([]byte("version=1\nnode.id=1\ncluster.id=\\u00e9\\\\\\t\\"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ReadMetaProperties(raw)
		if err != nil || m.Version == 0 {
			return
		}
		if again, err := ReadMetaProperties(m.AppendTo(nil)); err != nil || again.NodeID != m.NodeID {
			t.Fatalf("%+v written and read again: %+v (%v)", m, again, err)
		}
	})
}

// TestFlippedBitOfATextFile: a flipped bit of a file of ours is noticed, or changes nothing that is read. One that hits the checksum's own name
// may make it a line that says nothing.
func TestFlippedBitOfATextFile(t *testing.T) {
	offsets := map[wire.TopicPartition]wire.Offset{{Topic: "orders", Partition: 0}: 1200, {Topic: "orders", Partition: 11}: 7, {Topic: "a.b", Partition: 3}: 1 << 40}
	properties := MetaProperties{Version: 1, ClusterID: "68vD43KsTnaJoWzxyQn7jQ", NodeID: 1, DirectoryID: "0BVYcHX00WjoI794CrMHlg"}
	id := wire.TopicID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for name, f := range map[string]struct {
		file []byte
		same func(file []byte) (bool, error)
	}{
		"an offset checkpoint": {AppendOffsetCheckpoint(nil, offsets), func(file []byte) (bool, error) {
			read, err := ReadOffsetCheckpoint(file)
			for tp, want := range offsets {
				if read[tp] != want {
					return false, err
				}
			}
			return len(read) <= len(offsets)+1, err // the entry of a partition that nobody has
		}},
		MetaPropertiesFile:    {properties.AppendTo(nil), func(file []byte) (bool, error) { m, err := ReadMetaProperties(file); return m == properties, err }},
		PartitionMetadataFile: {AppendPartitionMetadata(nil, id), func(file []byte) (bool, error) { read, err := ReadPartitionMetadata(file); return read == id, err }},
	} {
		if same, err := f.same(f.file); !same || err != nil {
			t.Errorf("%s: %q is not read as it was written: %v", name, f.file, err)
		}
		noticed := 0
		for i := range f.file {
			for bit := range 8 {
				flipped := bytes.Clone(f.file)
				flipped[i] ^= 1 << bit
				switch same, err := f.same(flipped); {
				case err != nil:
					noticed++
				case !same:
					t.Errorf("%s: bit %d of byte %d makes it %q, which is read as something else", name, bit, i, flipped)
				}
			}
		}
		if noticed*10 < len(f.file)*8*7 {
			t.Errorf("%s: %d of %d flipped bits were noticed", name, noticed, len(f.file)*8)
		}
	}
}

func TestCleanShutdown(t *testing.T) {
	kafkas := kafkaFile(t, CleanShutdownFile)
	if got := AppendCleanShutdown(nil, 9); !bytes.Equal(got, kafkas) {
		t.Errorf("written %q, want %q", got, kafkas)
	}
}

func TestParsePartitionDir(t *testing.T) {
	for name, want := range map[string]wire.TopicPartition{
		"topic-0": {Topic: "topic", Partition: 0}, "a-b-12": {Topic: "a-b", Partition: 12}, "a--3": {Topic: "a-", Partition: 3},
		"__consumer_offsets-49": {Topic: "__consumer_offsets", Partition: 49}, "x-delete-1": {Topic: "x-delete", Partition: 1},
		"t-2147483647": {Topic: "t", Partition: 2147483647}, "...-0": {Topic: "...", Partition: 0},
	} {
		if got, ok := ParsePartitionDir(name); got != want || !ok || PartitionDir(got) != name {
			t.Errorf("%q read as %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "-", "-0", "topic", "topic-", "topic--", "topic-x", "topic-01", "topic-2147483648", "..-0", ".-0",
		"t-0.5f3759df5f3759df5f3759df5f3759df-delete", "t-0.5f3759df-future", "t-0.5f3759df-stray", "a/b-0", "a b-0", "é-0",
		string(bytes.Repeat([]byte("x"), 250)) + "-0", "t-+1", "t-1_0"} {
		if got, ok := ParsePartitionDir(name); ok {
			t.Errorf("%q read as %v", name, got)
		}
	}
}

func TestSetAside(t *testing.T) {
	long := strings.Repeat("n", wire.TopicNameMax)
	for dir, want := range map[string]string{
		"/logs/a-b-12":         "/logs/a-b-12.000102030405060708090a0b0c0d0e0f-delete",
		"/logs/" + long + "-0": "/logs/" + long[:255-len("-0.000102030405060708090a0b0c0d0e0f-delete")] + "-0.000102030405060708090a0b0c0d0e0f-delete",
	} {
		id := wire.TopicID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
		if got := SetAside(dir, id, "-delete"); got != want {
			t.Errorf("%s becomes %s, want %s", dir, got, want)
		}
	}
}
