package image

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// The transcripts of testdata drive one store by commands:
//
//	apply            the lines are records as they stand in the file; prints the version or why not
//	show             prints the Image
//	dump             prints the file, batch by batch
//	open             closes the store and opens it again; prints what was found
//	tear bytes=N     cuts N bytes off the file's end, then open
//	damage at=N      flips a bit of byte N, then open
//	check name=N     judges the name of a new topic
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		p := &play{t: t, fs: segmenttest.New(1)}
		p.open()
		datadriven.RunTest(t, path, p.run)
	})
}

type play struct {
	t     *testing.T
	fs    *segmenttest.FS
	store *Store
}

func (p *play) run(t *testing.T, d *datadriven.TestData) string {
	p.t = t
	switch d.Cmd {
	case "apply":
		return p.apply(d.Input)
	case "show":
		return show(p.store.Image())
	case "dump":
		return p.dump()
	case "open":
		return p.open()
	case "tear":
		var n int64
		d.ScanArgs(t, "bytes", &n)
		size, _ := p.fs.Stat(logFile)
		f, err := p.fs.OpenFile(logFile, segment.ReadWrite, 0)
		if err == nil {
			err = f.Truncate(size - n)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p.open()
	case "damage":
		var at int64
		d.ScanArgs(t, "at", &at)
		if err := p.fs.Damage(logFile, at, 4); err != nil {
			t.Fatal(err)
		}
		return p.open()
	case "check":
		var name string
		d.ScanArgs(t, "name", &name)
		if err := p.store.Image().CheckNewTopicName(name); err != nil {
			return err.Error()
		}
		return "ok"
	}
	return "unknown command"
}

func (p *play) apply(input string) string {
	var records []Record
	for line := range strings.Lines(input) {
		r, err := readRecord([]byte(line))
		if err != nil {
			return err.Error()
		}
		records = append(records, r)
	}
	m, err := p.store.Apply(records...)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("version %d", m.Version())
}

func (p *play) open() string {
	s, err := OpenStore(p.fs, stateDir)
	if err != nil {
		return err.Error()
	}
	p.store = s
	return fmt.Sprintf("%+v", s.Report())
}

func (p *play) dump() string {
	data, err := p.fs.ReadFile(logFile)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for at := 0; at < len(data); {
		b, _, err := wire.ReadRecordBatch(data[at:])
		if err != nil {
			return out.String() + err.Error()
		}
		fmt.Fprintf(&out, "%d: offsets %d-%d, %d bytes\n", at, b.BaseOffset(), b.LastOffset(), len(b))
		it, _ := b.Records(nil)
		for rec, ok := it.Next(); ok; rec, ok = it.Next() {
			fmt.Fprintf(&out, "  %s\n", rec.Value)
		}
		at += len(b)
	}
	return out.String()
}

func show(m *Image) string {
	var out strings.Builder
	fmt.Fprintf(&out, "version %d, cluster %q, node %d, next producer id %d\n", m.Version(), m.ClusterID(), m.NodeID(), m.NextProducerID())
	for t := range m.Topics() {
		fmt.Fprintf(&out, "%s %s partitions=%d internal=%v%s\n", t.Name, t.ID, t.Partitions, t.Internal, showConfigs(t.Configs))
	}
	for t := range m.Topics() {
		for i, s := range t.States() {
			fmt.Fprintf(&out, "%s-%d %+v\n", t.Name, i, *s)
		}
	}
	for b := range m.Brokers() {
		fmt.Fprintf(&out, "broker %+v\n", *b)
	}
	for _, r := range slices.SortedFunc(m.Resources(), compareResources) {
		fmt.Fprintf(&out, "%s %q%s\n", r.Type, r.Name, showConfigs(m.Configs(r)))
	}
	for _, e := range m.QuotaEntities() {
		text, _ := e.MarshalJSON()
		fmt.Fprintf(&out, "quota %s %v\n", text, m.ClientQuotas(e))
	}
	for _, u := range m.SCRAMUsers() {
		fmt.Fprintf(&out, "scram %+v %v salt %x\n", u, m.SCRAMCredential(u), m.SCRAMCredential(u).Salt)
	}
	for _, r := range aclRecords(m) {
		fmt.Fprintf(&out, "acl %+v\n", r)
	}
	return out.String()
}

func showConfigs(entries map[string]string) (out string) {
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		out += fmt.Sprintf(" %s=%q", k, entries[k])
	}
	return out
}
