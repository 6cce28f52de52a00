package lint

import (
	"go/ast"
	"slices"
)

// durableRooms keep files that a node needs after a power cut.
var durableRooms = []string{"segment", "control", "node"}

// unsynced are functions of os that make names or contents of which nothing says whether they are on disk.
var unsynced = []string{"WriteFile", "Create", "Rename"}

// CheckDurable finds files that are written past segment.FS, whose WriteFileAtomic syncs the file and its directory.
func CheckDurable(f *File) []Finding {
	if f.IsTest() || f.Dir() == "segment/osfs" || !slices.Contains(durableRooms, firstElement(f.Path)) {
		return nil
	}
	var found []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(unsynced, s.Sel.Name) {
			return true
		}
		if of, ok := s.X.(*ast.Ident); ok && of.Obj == nil && f.importedAs(of.Name) == "os" {
			found = append(found, f.finding(s.Pos(), "%s.%s: nothing syncs the file and its name; use segment.FS", of.Name, s.Sel.Name))
		}
		return true
	})
	return found
}
