package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/tools/simulate/cluster"
)

// mutantFiles are the planted faults: a file each, that says
//
//	what would be wrong, in a line or more
//	-- file: path from the root of the repository
//	text that is in that file once
//	-- becomes
//	the text in its place
//
// and may go on with more of these pairs; the last newline of a text does not count. The production build knows nothing of them: a mutant is built with go build -overlay, from
// a copy of the file with the text replaced. A text that is not there any more fails TestMutantsApply.
//
//go:embed mutants/*.txt
var mutantFiles embed.FS

// mutant is a planted fault.
type mutant struct {
	name  string // of its file
	about string
	edits []edit
}

// edit replaces a text in a file.
type edit struct{ file, old, new string }

const (
	fileMark   = "-- file: "
	becomeMark = "-- becomes\n"
)

func readMutants() ([]mutant, error) {
	entries, err := mutantFiles.ReadDir("mutants")
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, e := range entries {
		text, err := mutantFiles.ReadFile("mutants/" + e.Name())
		if err != nil {
			return nil, err
		}
		m, err := parseMutant(strings.TrimSuffix(e.Name(), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func parseMutant(name, text string) (mutant, error) {
	parts := strings.Split(text, fileMark)
	m := mutant{name: name, about: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		file, rest, _ := strings.Cut(part, "\n")
		old, new, ok := strings.Cut(rest, becomeMark)
		if !ok || old == "" {
			return m, fmt.Errorf("mutant %s: nothing becomes anything in %s", name, file)
		}
		m.edits = append(m.edits, edit{file: file, old: strings.TrimSuffix(old, "\n"), new: strings.TrimSuffix(new, "\n")})
	}
	if len(m.edits) == 0 {
		return m, fmt.Errorf("mutant %s changes no file", name)
	}
	return m, nil
}

// apply gives the changed files of the repository at root, by path from there.
func (m mutant) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.edits {
		text, ok := changed[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.name, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("mutant %s: its text is in %s %d times, not once:\n%s", m.name, e.file, n, e.old)
		}
		changed[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return changed, nil
}

// build makes the simulator with the mutant in it, in dir.
func (m mutant) build(root, dir string) (program string, err error) {
	changed, err := m.apply(root)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range changed {
		copied := filepath.Join(dir, m.name+"-"+strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, file)] = copied
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	listName := filepath.Join(dir, m.name+".json")
	if err := os.WriteFile(listName, list, 0o644); err != nil {
		return "", err
	}
	program = filepath.Join(dir, m.name)
	cmd := exec.Command("go", "build", "-overlay", listName, "-o", program, "./tools/simulate")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mutant %s does not build: %w\n%s", m.name, err, out)
	}
	return program, nil
}

// repositoryRoot is where the module's go.mod is.
func repositoryRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// runMutants builds each mutant and runs seeds until one fails; ok is false if a mutant outlives f.tries seeds.
func runMutants(f flags) (ok bool, err error) {
	all, err := readMutants()
	if err != nil {
		return false, err
	}
	root, err := repositoryRoot()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	all = slices.DeleteFunc(all, func(m mutant) bool {
		return !slices.ContainsFunc(strings.Split(f.mutant, ","), func(prefix string) bool { return strings.HasPrefix(m.name, prefix) })
	})
	ok = true
	fmt.Printf("| mutant | seeds until found | invariant | what it says |\n|---|---|---|---|\n")
	for _, m := range all {
		found, err := m.hunt(root, dir, f)
		if err != nil {
			return false, err
		}
		ok = ok && found
	}
	return ok, nil
}

// hunt prints the mutant's line of the table.
func (m mutant) hunt(root, dir string, f flags) (found bool, err error) {
	program, err := m.build(root, dir)
	if err != nil {
		return false, err
	}
	defer os.Remove(program)
	seeds, by := 0, cluster.Result{}
	err = runSeeds(program, f.from, f.tries, f.procs, func(r cluster.Result) bool {
		seeds++
		by = r
		return r.Violation != nil
	})
	if err != nil {
		return false, err
	}
	if by.Violation == nil {
		fmt.Printf("| %s | **not in %d** | | |\n", m.name, seeds)
		return false, nil
	}
	text, _, _ := strings.Cut(by.Violation.Text, "\n")
	fmt.Printf("| %s | %d | %s | seed %d: %s |\n", m.name, seeds, by.Violation.Invariant, by.Seed, text)
	return true, nil
}
