package lint

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// stateRooms hold state code: deterministic functions from events to effects, so that a simulation with the same seed
// does the same.
var stateRooms = []string{"segment", "replicate", "control"}

// stateExceptions are folders and files inside those rooms that are not state code.
var stateExceptions = map[string]string{
	"segment/osfs":            "the file-system seam's implementation on the operating system",
	"segment/segmenttest":     "the file-system seam's double for crash tests",
	"replicate/replicatetest": "a test double",
	"control/controltest":     "a test double",

	// The rest of control/member, the bootstrap agreement first of all, is state code.
	"control/member/agent.go":      memberReason,
	"control/member/agentjoin.go":  memberReason,
	"control/member/agentkeys.go":  memberReason,
	"control/member/agentlog.go":   memberReason,
	"control/member/agentmerge.go": memberReason,
	"control/member/agentserf.go":  memberReason,
}

const memberReason = "the wrapper of serf, which has goroutines, sockets and files of its own and is a hint alone"

// forbiddenImports are packages by which the outside gets in.
var forbiddenImports = map[string]string{
	"sync":        "state has one owner and needs no lock",
	"sync/atomic": "state has one owner and needs no atomics",
	"os":          "files are reached through segment.FS",
	"os/exec":     "state starts no process",
	"net":         "state knows no socket",
	"net/http":    "state knows no socket",
	"syscall":     "state makes no system call",
	"log":         "state tells by its effects",
	"log/slog":    "state tells by its effects",
	"math/rand":   "its global source cannot be seeded; use math/rand/v2 with rand.New",
	"crypto/rand": "randomness comes in as a seed",
	"runtime":     "state knows no goroutine",
}

// forbiddenCalls are functions of packages that are fine otherwise.
var forbiddenCalls = map[string]map[string]string{
	"time": {
		"Now": "the time comes in with the event", "Since": "the time comes in with the event", "Until": "the time comes in with the event",
		"Sleep": "state does not wait", "After": "state does not wait", "AfterFunc": "state does not wait", "Tick": "state does not wait",
		"NewTimer": "state does not wait", "NewTicker": "state does not wait",
	},
}

// seeded are the functions of math/rand/v2 that do not draw from the global source.
var seeded = map[string]bool{"New": true, "NewPCG": true, "NewChaCha8": true, "NewZipf": true}

// CheckState finds clocks, global randomness, goroutines, channels, locks and I/O in state code.
func CheckState(f *File) []Finding {
	if !isStateCode(f) {
		return nil
	}
	found := checkStateImports(f)
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, f.finding(n.Pos(), "go statement in state code"))
		case *ast.ChanType:
			found = append(found, f.finding(n.Pos(), "channel in state code"))
		case *ast.SelectStmt:
			found = append(found, f.finding(n.Pos(), "select in state code"))
		case *ast.SelectorExpr:
			if reason := f.forbidden(n); reason != "" {
				found = append(found, f.finding(n.Pos(), "%s", reason))
			}
		}
		return true
	})
	return found
}

func isStateCode(f *File) bool {
	for _, place := range []string{f.Dir(), f.Path} {
		if _, excepted := stateExceptions[place]; excepted {
			return false
		}
	}
	if f.IsTest() {
		return false
	}
	for _, r := range stateRooms {
		if firstElement(f.Path) == r {
			return true
		}
	}
	return false
}

func checkStateImports(f *File) []Finding {
	var found []Finding
	for _, spec := range f.AST.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if reason, bad := forbiddenImports[imported]; bad {
			found = append(found, f.finding(spec.Pos(), "import of %s in state code: %s", imported, reason))
		}
	}
	return found
}

// forbidden says why a package's function must not be used, or "".
func (f *File) forbidden(s *ast.SelectorExpr) string {
	ident, ok := s.X.(*ast.Ident)
	if !ok || ident.Obj != nil { // Obj is set for names declared in the file: not a package
		return ""
	}
	switch imported := f.importedAs(ident.Name); imported {
	case "":
		return ""
	case "math/rand/v2":
		if token.IsExported(s.Sel.Name) && !seeded[s.Sel.Name] && !isRandType(s.Sel.Name) {
			return "rand." + s.Sel.Name + " in state code: it draws from a source that cannot be seeded"
		}
	default:
		if reason, bad := forbiddenCalls[imported][s.Sel.Name]; bad {
			return ident.Name + "." + s.Sel.Name + " in state code: " + reason
		}
	}
	return ""
}

func isRandType(name string) bool {
	switch name {
	case "Rand", "Source", "PCG", "ChaCha8", "Zipf":
		return true
	}
	return false
}

// importedAs returns the path of the package that the file calls name, or "".
func (f *File) importedAs(name string) string {
	for _, spec := range f.AST.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && packageName(imported) == name {
			return imported
		}
	}
	return ""
}

// packageName guesses a package's name from its path: the last element that is not a major version.
func packageName(imported string) string {
	elements := strings.Split(imported, "/")
	last := elements[len(elements)-1]
	if len(elements) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return elements[len(elements)-2]
	}
	return last
}
