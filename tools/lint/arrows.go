package lint

import (
	"slices"
	"strconv"
	"strings"
)

// room says what the code of a top-level folder may import: other rooms, and modules beside the standard library.
// Test files may import any module, and the rooms that the code may.
type room struct {
	rooms   []string
	modules []string
	any     bool // programs and whole-process tests: everything
}

var rooms = map[string]room{
	"iouring":   {modules: []string{"golang.org/x/sys", "github.com/iceber/iouring-go/syscall"}},
	"wire":      {modules: []string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4", "github.com/twmb/franz-go/pkg/kmsg", "github.com/valyala/bytebufferpool"}},
	"segment":   {rooms: []string{"wire"}},
	"replicate": {rooms: []string{"wire", "segment"}},
	"control":   {rooms: []string{"wire", "segment"}, modules: []string{"github.com/twmb/franz-go/pkg/kmsg", "go.etcd.io/raft/v3", "google.golang.org/protobuf/proto", "github.com/hashicorp/memberlist", "github.com/hashicorp/serf"}},
	"node": {rooms: []string{"iouring", "wire", "segment", "replicate", "control"}, modules: []string{
		"golang.org/x/sync", "golang.org/x/sys", "github.com/VictoriaMetrics/metrics", "github.com/HdrHistogram/hdrhistogram-go", "github.com/magiconair/properties",
		"github.com/twmb/franz-go/pkg/kmsg", "github.com/valyala/bytebufferpool", "github.com/valyala/fastrand", "github.com/valyala/histogram",
	}},
	"bench": {any: true},
	"tools": {any: true},
	"tests": {any: true},
}

// entrances are the only folders that may import node.
var entrances = []string{"node", "bench", "tools", "tests"}

// CheckArrows finds imports against the direction that nouns flow in.
func CheckArrows(f *File) []Finding {
	from := firstElement(f.Path)
	rule, known := rooms[from]
	if !known {
		return []Finding{f.finding(f.AST.Package, "%s is no room: say in tools/lint what it may import", from)}
	}
	var found []Finding
	for _, spec := range f.AST.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic("BUG: the parser let " + spec.Path.Value + " through")
		}
		if problem := rule.problemWith(from, imported, f.IsTest()); problem != "" {
			found = append(found, f.finding(spec.Pos(), "%s imports %s: %s", from, imported, problem))
		}
	}
	return found
}

func firstElement(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func (r room) problemWith(from, imported string, isTest bool) string {
	if to, ok := strings.CutPrefix(imported, Module+"/"); ok {
		return r.problemWithRoom(from, firstElement(to))
	}
	if r.any || isTest || isStandard(imported) {
		return ""
	}
	for _, m := range r.modules {
		if imported == m || strings.HasPrefix(imported, m+"/") {
			return ""
		}
	}
	return "not a module that this room is built on"
}

func (r room) problemWithRoom(from, to string) string {
	switch {
	case to == "node" && !slices.Contains(entrances, from):
		return "only bench, tools and tests may import node"
	case r.any, to == from, slices.Contains(r.rooms, to):
		return ""
	}
	return "nouns flow the other way"
}

// isStandard: packages of the standard library have no dot in their first element.
func isStandard(imported string) bool { return !strings.Contains(firstElement(imported), ".") }
