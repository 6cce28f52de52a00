package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func readModule(t *testing.T) []*File {
	t.Helper()
	files, err := ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go files")
	}
	return files
}

func TestRules(t *testing.T) {
	files := readModule(t)
	for name, check := range map[string]func(*File) []Finding{
		"format": CheckFormat, "arrows": CheckArrows, "state": CheckState, "durable": CheckDurable, "names": CheckPackageName, "docs": CheckDocs(files), "size": CheckSize,
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range files {
				for _, finding := range check(f) {
					t.Error(finding)
				}
			}
		})
	}
}

func TestPackageDocs(t *testing.T) {
	for _, finding := range CheckPackageDocs(readModule(t)) {
		t.Error(finding)
	}
}

// docs/reliability.md promises what tests hold; the tests that it names must be there.
func TestNamedTests(t *testing.T) {
	const page = "docs/reliability.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range CheckNamedTests(readModule(t), page, string(text)) {
		t.Error(finding)
	}
}

// cures name sections of pages, a page and after a comma its heading.
var cures = regexp.MustCompile(`see (docs/[a-z]+\.md), ([^"]+)"`)

// TestCuresNameSections: what an error sends its reader to must be there.
func TestCuresNameSections(t *testing.T) {
	for _, f := range readModule(t) {
		for _, found := range cures.FindAllSubmatch(f.Source, -1) {
			page, section := string(found[1]), string(found[2])
			text, err := os.ReadFile(filepath.Join(root, page))
			if err != nil || !strings.Contains(strings.ToLower(string(text)), "\n## "+strings.ToLower(section)+"\n") {
				t.Errorf("%s: %s has no section %q: %v", f.Path, page, section, err)
			}
		}
	}
}

// An exception for a folder that is gone would hide what comes there next.
func TestStateExceptionsHaveReasons(t *testing.T) {
	for place, reason := range stateExceptions {
		if reason == "" {
			t.Errorf("%s is excepted without a reason", place)
		}
		if _, err := os.Stat(filepath.Join(root, place)); strings.HasSuffix(place, ".go") && err != nil {
			t.Errorf("%s is excepted and not there", place)
		}
	}
}

func TestVet(t *testing.T) { run(t, "go", "vet", "./...") }

// Staticcheck's version is in go.mod's tool block. It type-checks the module and all it imports: the first run takes a
// minute, later ones seconds.
func TestStaticcheck(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it reads every dependency")
	}
	run(t, "go", "tool", "staticcheck", "./...")
}

// run fails the test with what the command said, if it failed.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}
