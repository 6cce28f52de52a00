package quorum

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// DumpLine is a thing in a quorum directory. Its types are identity, snapshot, member, batch, reset, entry, change, record
// and problem.
type DumpLine struct {
	Type   string
	fields []dumpField
}

type dumpField struct {
	name  string
	value any
}

// AppendText appends the line as Kafka's tools print theirs: the type, then names and values.
func (l DumpLine) AppendText(dst []byte) []byte {
	dst = append(dst, l.Type...)
	for _, f := range l.fields {
		dst = fmt.Appendf(dst, " %s: %v", f.name, f.value)
	}
	return append(dst, '\n')
}

// AppendJSON appends the line as a JSON object.
func (l DumpLine) AppendJSON(dst []byte) []byte {
	dst = fmt.Appendf(dst, `{"type":%q`, l.Type)
	for _, f := range l.fields {
		value, err := json.Marshal(f.value)
		if err != nil {
			panic("BUG: a field of a dump that JSON does not know: " + err.Error())
		}
		dst = append(fmt.Appendf(dst, ",%q:", f.name), value...)
	}
	return append(dst, "}\n"...)
}

// dumper carries a Dump.
type dumper struct {
	fs       segment.FS
	dir      string
	data     bool
	emit     func(DumpLine)
	problems int
}

// Dump tells emit of all that is in a quorum directory, and of what is wrong with it; problems counts that. data adds the
// records of entries that are record batches. Nothing is changed, and no node need stand still: the last batch may be half
// written then. The error is ErrNoQuorum or the file system's.
func Dump(fsys segment.FS, dir string, data bool, emit func(DumpLine)) (problems int, err error) {
	d := &dumper{fs: fsys, dir: dir, data: data, emit: emit}
	d.identity()
	f, err := list(fsys, dir)
	if err = d.told(err); err != nil {
		return d.problems, err
	}
	if f.lost {
		if err := d.told(lostAt(fsys, dir)); err != nil {
			return d.problems, err
		}
	}
	for _, name := range f.snapshots {
		d.snapshot(name)
	}
	for _, base := range f.bases {
		if err := d.log(base); err != nil {
			return d.problems, err
		}
	}
	return d.problems, nil
}

func (d *dumper) line(kind string, fields ...dumpField) { d.emit(DumpLine{kind, fields}) }

// told makes a problem of damage, and gives any other error back.
func (d *dumper) told(err error) error {
	damaged, ok := err.(*CorruptionError)
	if !ok {
		return err
	}
	d.problem(damaged.File, damaged.Position, damaged.Err)
	return nil
}

func (d *dumper) problem(file string, at int64, err error) {
	d.problems++
	d.line("problem", dumpField{"file", path.Base(file)}, dumpField{"position", at}, dumpField{"problem", err.Error()})
}

func (d *dumper) identity() {
	id, err := ReadIdentity(d.fs, d.dir)
	_ = d.told(err) // list comes across what is not damage
	if err != nil {
		return
	}
	d.line("identity", dumpField{"clusterId", id.ClusterID}, dumpField{"nodeId", id.NodeID}, dumpField{"directoryId", id.DirectoryID},
		dumpField{"raftId", raftName(RaftID(id.DirectoryID))})
}

// raftName is a raft id as the raft library's own lines have it.
func raftName(id uint64) string { return fmt.Sprintf("%x", id) }

func (d *dumper) snapshot(name snapshotName) {
	s, err := readSnapshotAt(d.fs, d.dir, position(name))
	if other := d.told(err); other != nil {
		d.problem(name.String(), 0, other)
	}
	if err != nil {
		return
	}
	d.line("snapshot", dumpField{"file", name.String()}, dumpField{"index", s.index}, dumpField{"term", s.term}, dumpField{"bytes", len(s.data)})
	for _, m := range s.members {
		d.line("member", memberFields(m)...)
	}
}

func memberFields(m Member) []dumpField {
	listeners := make([]string, len(m.Endpoints))
	for i, e := range m.Endpoints {
		listeners[i] = fmt.Sprintf("%s://%s:%d", e.Listener, e.Host, e.Port)
	}
	return []dumpField{{"nodeId", m.NodeID}, {"directoryId", m.DirectoryID}, {"raftId", raftName(m.RaftID())}, {"voter", m.Voter}, {"endpoints", listeners}}
}

// log shows a segment up to its end or its first bad batch.
func (d *dumper) log(base int64) error {
	name := logName(base)
	data, err := d.fs.ReadFile(path.Join(d.dir, name))
	if err != nil {
		return err
	}
	for at := int64(0); at < int64(len(data)); {
		raw, err := soundBatch(data[at:])
		var b walBatch
		if err == nil {
			b, err = readWalBatch(raw)
		}
		if err != nil {
			d.problem(name, at, err)
			return nil
		}
		s := b.state
		d.line("batch", dumpField{"file", name}, dumpField{"position", at}, dumpField{"sequence", raw.BaseOffset()}, dumpField{"term", s.term},
			dumpField{"vote", raftName(s.vote)}, dumpField{"commit", s.commit}, dumpField{"snapshot", s.snapshot}, dumpField{"synced", s.synced})
		if b.reset != nil {
			d.line("reset", dumpField{"index", b.reset.index}, dumpField{"term", b.reset.term})
		}
		for _, e := range b.entries {
			d.entry(name, at, e)
		}
		at += int64(len(raw))
	}
	return nil
}

func (d *dumper) entry(name string, at int64, raw *pb.Entry) {
	e, ok, err := readEntry(raw)
	fields := []dumpField{{"index", raw.GetIndex()}, {"term", raw.GetTerm()}}
	switch {
	case err != nil:
		d.problem(name, at, err)
		return
	case !ok:
		d.line("entry", append(fields, dumpField{"bytes", 0})...)
		return
	}
	fields = append(fields, dumpField{"origin", raftName(e.Origin)}, dumpField{"proposal", e.Proposal})
	if e.Change != nil {
		d.line("change", append(append(fields, dumpField{"change", e.Change.Kind.String()}), memberFields(e.Change.Member)...)...)
		return
	}
	d.line("entry", append(fields, dumpField{"bytes", len(e.Data)})...)
	if d.data {
		d.records(e.Data)
	}
}

// records shows the records of an entry that is a record batch, as the image's are.
func (d *dumper) records(data []byte) {
	b, err := soundBatch(data)
	if err != nil {
		return
	}
	it, err := b.Records(nil)
	for err == nil {
		rec, ok := it.Next()
		if !ok {
			return
		}
		value := any(string(rec.Value))
		if json.Valid(rec.Value) {
			value = jsonText(bytes.Clone(rec.Value))
		}
		d.line("record", dumpField{"offset", b.BaseOffset() + wire.Offset(rec.OffsetDelta)}, dumpField{"payload", value})
	}
}

// jsonText is JSON that stands as it is in both forms of a line.
type jsonText []byte

func (t jsonText) String() string               { return string(t) }
func (t jsonText) MarshalJSON() ([]byte, error) { return t, nil }
