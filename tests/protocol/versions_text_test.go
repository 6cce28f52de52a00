package protocol

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerText is an answer as text: one line a field or a flat struct, in the schema's order, without fields that are zero.
// What differs from one node or run to the next is replaced by a word in angle brackets; error messages count by being there.
func (s *scene) answerText(answer kmsg.Response) string {
	w := textWriter{names: s.names}
	w.fields(reflect.ValueOf(answer).Elem(), "")
	return w.out.String()
}

type textWriter struct {
	out   strings.Builder
	names map[string]string // what a test named, and what stands for it
}

// perRun are fields whose values a run chooses: the words that stand for them.
var perRun = map[string]string{
	"Port": "<port>", "ClusterID": "<cluster>", "TopicID": "<topic id>", "MemberID": "<member>",
	"LeaderID string": "<member>", "ProducerID": "<producer>", "StartTimestamp": "<time>", "LastTimestamp": "<time>", "Dir": "<directory>",
	"TotalBytes": "<bytes>", "UsableBytes": "<bytes>", "ErrorMessage": "<message>", "Documentation": "<text>", "SessionID": "<session>",
}

func (w *textWriter) fields(v reflect.Value, indent string) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Version" || name == "UnknownTags" {
			continue
		}
		w.field(name, v.Field(i), indent)
	}
}

func (w *textWriter) field(name string, v reflect.Value, indent string) {
	switch {
	case name == "RecordBatches":
		fmt.Fprintf(&w.out, "%s%s: %s\n", indent, name, batchesText(v.Bytes()))
	case nested(v.Type()):
		w.nested(name, v, indent)
	case name == "ErrorCode" || name == "ProducerID" || !v.IsZero():
		fmt.Fprintf(&w.out, "%s%s: %s\n", indent, name, w.scalar(name, v))
	}
}

// nested writes structs, and slices of them one item after the other.
func (w *textWriter) nested(name string, v reflect.Value, indent string) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
	case v.Kind() == reflect.Pointer:
		w.nested(name, v.Elem(), indent)
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 && !v.IsNil() {
			fmt.Fprintf(&w.out, "%s%s: []\n", indent, name)
		}
		for i := range v.Len() {
			w.nested(name, v.Index(i), indent)
		}
	case flat(v.Type()):
		fmt.Fprintf(&w.out, "%s%s: {%s}\n", indent, name, w.line(v))
	default:
		fmt.Fprintf(&w.out, "%s%s:\n", indent, name)
		w.fields(v, indent+"  ")
	}
}

// line is a struct without structs in it.
func (w *textWriter) line(v reflect.Value) string {
	var parts []string
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if name == "UnknownTags" || field.IsZero() && name != "ErrorCode" && name != "ProducerID" {
			continue
		}
		parts = append(parts, name+": "+w.scalar(name, field))
	}
	return strings.Join(parts, ", ")
}

func (w *textWriter) scalar(name string, v reflect.Value) string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if word, ok := perRun[name]; ok && chosen(name, v) {
		return word
	}
	if word, ok := perRun[name+" "+v.Kind().String()]; ok {
		return word
	}
	switch {
	case strings.HasSuffix(name, "ErrorCode"):
		return codeName(int16(v.Int()))
	case v.Kind() == reflect.String:
		return w.named(v.String())
	case v.Type() == reflect.TypeFor[[]byte]():
		return fmt.Sprintf("%q", v.Bytes())
	case v.Type() == reflect.TypeFor[[]string]():
		return w.named(fmt.Sprintf("%q", v.Interface()))
	}
	return fmt.Sprint(v.Interface())
}

// chosen is false for the values that say "none": -1, the zero id, the empty string.
func chosen(name string, v reflect.Value) bool {
	if v.CanInt() {
		return v.Int() > 0 || v.Int() == 0 && name == "ProducerID" // 0 is one as well
	}
	return !v.IsZero()
}

func (w *textWriter) named(s string) string {
	for name, word := range w.names {
		s = strings.ReplaceAll(s, name, word)
	}
	if s == "" {
		return `""`
	}
	return s
}

// batchesText shows what makes batches the same ones, wherever they were cut.
func batchesText(raw []byte) string {
	var parts []string
	for len(raw) >= 61 {
		var b kmsg.RecordBatch
		if err := b.ReadFrom(raw); err != nil {
			break
		}
		crc := fmt.Sprintf("%08x", uint32(b.CRC))
		if b.FirstTimestamp != sceneTime {
			crc = "<of its time>"
		}
		parts = append(parts, fmt.Sprintf("{FirstOffset: %d, NumRecords: %d, Magic: %d, PartitionLeaderEpoch: %d, CRC: %s}",
			b.FirstOffset, b.NumRecords, b.Magic, b.PartitionLeaderEpoch, crc))
		raw = raw[12+b.Length:]
	}
	if raw == nil && parts == nil {
		return "null"
	}
	return "[" + strings.Join(parts, ", ") + "]" + strings.Repeat(" and a part", min(len(raw), 1))
}

// nested is true for structs and for slices of and pointers to them.
func nested(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func flat(t reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name != "UnknownTags" && (nested(f.Type) || f.Name == "RecordBatches") {
			return false
		}
	}
	return true
}
