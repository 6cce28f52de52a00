package lint

import (
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, name, source string) *File {
	t.Helper()
	f, err := Parse(name, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Each sample is wrong in the ways that are listed, or right.
func TestRulesOnSamples(t *testing.T) {
	for _, tt := range []struct {
		name, path, source string
		check              func(*File) []Finding
		want               []string
	}{
		{"formatted", "wire/a.go", "package wire\n\nvar a = 1\n", CheckFormat, nil},
		{"spaces", "wire/a.go", "package wire\n\nvar a  = 1\n", CheckFormat, []string{"wire/a.go:3: not as gofmt writes it"}},

		{"flows down", "node/a.go", `package node
import (
	"os"
	_ "github.com/ringmill/ringmill/segment"
	_ "golang.org/x/sys/unix"
)`, CheckArrows, nil},
		{"flows up", "segment/a.go", "package segment\nimport _ \"github.com/ringmill/ringmill/node/config\"", CheckArrows,
			[]string{"segment/a.go:2: segment imports github.com/ringmill/ringmill/node/config: only bench, tools and tests may import node"}},
		{"sideways", "replicate/a.go", "package replicate\nimport _ \"github.com/ringmill/ringmill/control/image\"", CheckArrows,
			[]string{"replicate/a.go:2: replicate imports github.com/ringmill/ringmill/control/image: nouns flow the other way"}},
		{"a module of another room", "segment/a.go", "package segment\nimport _ \"golang.org/x/sys/unix\"", CheckArrows,
			[]string{"segment/a.go:2: segment imports golang.org/x/sys/unix: not a module that this room is built on"}},
		{"a module with the same beginning", "iouring/a.go", "package iouring\nimport _ \"golang.org/x/system\"", CheckArrows,
			[]string{"iouring/a.go:2: iouring imports golang.org/x/system: not a module that this room is built on"}},
		{"a test's module", "segment/a_test.go", "package segment\nimport _ \"github.com/cockroachdb/datadriven\"", CheckArrows, nil},
		{"a test against the arrow", "wire/a_test.go", "package wire\nimport _ \"github.com/ringmill/ringmill/segment\"", CheckArrows,
			[]string{"wire/a_test.go:2: wire imports github.com/ringmill/ringmill/segment: nouns flow the other way"}},
		{"no room", "attic/a.go", "package attic", CheckArrows, []string{"attic/a.go:1: attic is no room: say in tools/lint what it may import"}},

		{"pure", "segment/a.go", `package segment
import ("math/rand/v2"; "time")
const d = time.Second
func f(r *rand.Rand, time struct{ Now func() }) { time.Now(); _ = rand.New(rand.NewPCG(1, 2)) }`, CheckState, nil},
		{"impure", "control/group/a.go", `package group
import (
	"sync"
	clock "time"
	"math/rand/v2"
)
var mu sync.Mutex
func f(c chan int) {
	go f(c)
	clock.Now()
	_ = rand.Uint32()
}`, CheckState, []string{
			"control/group/a.go:3: import of sync in state code: state has one owner and needs no lock",
			"control/group/a.go:8: channel in state code",
			"control/group/a.go:9: go statement in state code",
			"control/group/a.go:10: clock.Now in state code: the time comes in with the event",
			"control/group/a.go:11: rand.Uint32 in state code: it draws from a source that cannot be seeded",
		}},
		{"elsewhere", "node/a.go", "package node\nimport \"sync\"\nvar mu sync.Mutex", CheckState, nil},
		{"the seam", "segment/osfs/a.go", "package osfs\nimport \"os\"\nvar _ = os.Open", CheckState, nil},
		{"an excepted file", "control/member/agent.go", "package member\nimport \"os\"\nvar _ = os.Open", CheckState, nil},
		{"its neighbour", "control/member/bootstrap.go", "package member\nimport \"os\"\nvar _ = os.Open", CheckState,
			[]string{"control/member/bootstrap.go:2: import of os in state code: files are reached through segment.FS"}},
		{"a test", "segment/a_test.go", "package segment\nimport \"os\"\nvar _ = os.Open", CheckState, nil},

		{"not synced", "node/a.go", "package node\nimport \"os\"\nvar _ = os.Rename", CheckDurable,
			[]string{"node/a.go:3: os.Rename: nothing syncs the file and its name; use segment.FS"}},
		{"by the seam", "node/a.go", "package node\nfunc f(fs FS) { fs.Rename() }", CheckDurable, nil},
		{"the seam itself", "segment/osfs/a.go", "package osfs\nimport \"os\"\nvar _ = os.Rename", CheckDurable, nil},

		{"said", "wire/a.go", `package wire
// A is.
type A int
// Consts.
const (
	B = 1
	C = 2
)
// F does.
func (A) F() {}
func (A) String() string { return "" }
type hidden int
func (hidden) F() {}
var (
	D int // said here
	e int
)`, CheckDocs(nil), nil},
		{"unsaid", "wire/a.go", `package wire
type A int
const B = 1
func F() {}
func (*A) G() {}
var (
	d int
	D int
)`, CheckDocs(nil), []string{
			"wire/a.go:2: exported type A has no comment", "wire/a.go:3: exported B has no comment", "wire/a.go:4: exported F has no comment",
			"wire/a.go:5: exported G has no comment", "wire/a.go:8: exported D has no comment",
		}},

		{"a noun", "wire/a.go", "package wire", CheckPackageName, nil},
		{"no noun", "wire/util/a.go", "package util", CheckPackageName, []string{"wire/util/a.go:1: package util: name it for the noun that lives in it"}},

		{"long enough", "wire/a.go", "package wire\n" + strings.Repeat("\n", linesMax-1), CheckSize, nil},
		{"too long", "wire/a.go", "package wire\n" + strings.Repeat("\n", linesMax), CheckSize, []string{"wire/a.go:1: 701 lines, more than 700: split it by nouns"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range tt.check(parse(t, tt.path, tt.source)) {
				got = append(got, f.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestPackageDocsOnSamples(t *testing.T) {
	files := []*File{
		parse(t, "wire/a.go", "package wire"), parse(t, "wire/doc.go", "// Package wire is.\npackage wire"),
		parse(t, "segment/a.go", "package segment"), parse(t, "segment/a_test.go", "// Package segment is.\npackage segment"),
		parse(t, "tests/a_test.go", "package tests"),
	}
	found := CheckPackageDocs(files)
	if len(found) != 1 || found[0].String() != "segment/a.go:1: package segment has no comment: add a doc.go" {
		t.Errorf("found %v", found)
	}
}

func TestNamedTestsOnSamples(t *testing.T) {
	tree := []*File{parse(t, "wire/a_test.go", "package wire\nfunc TestA() {}\nfunc FuzzB() {}"), parse(t, "wire/a.go", "package wire\nfunc TestC() {}")}
	for _, tt := range []struct {
		page string
		want []string
	}{
		{"| `wire` TestA, FuzzB |", nil},
		{"\n`wire` TestA, TestC; `segment` TestA", []string{"page:2: wire has no TestC", "page:2: segment has no TestA"}},
		{"TestA in `wire`", []string{"page:1: no test is named"}},
	} {
		var got []string
		for _, f := range CheckNamedTests(tree, "page", tt.page) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.page, got, tt.want)
		}
	}
}
