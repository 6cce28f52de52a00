package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// namedTests finds, in prose, a package's folder in backquotes with the tests that follow it: `segment` TestClean, TestCrash.
var namedTests = regexp.MustCompile("`([a-z/]+)` ((?:Test|Fuzz)[A-Z]\\w*(?:, (?:Test|Fuzz)[A-Z]\\w*)*)")

// CheckNamedTests finds the tests that a page names and the tree has not: a promise that nothing holds any more. It also finds
// a page that names none, which would be held by nothing.
func CheckNamedTests(tree []*File, name, page string) []Finding {
	there := testsOf(tree)
	var found []Finding
	named := 0
	for i, line := range strings.Split(page, "\n") {
		for _, match := range namedTests.FindAllStringSubmatch(line, -1) {
			for _, test := range strings.Split(match[2], ", ") {
				if named++; !there[match[1]+" "+test] {
					found = append(found, pageFinding(name, i+1, "%s has no %s", match[1], test))
				}
			}
		}
	}
	if named == 0 {
		found = append(found, pageFinding(name, 1, "no test is named"))
	}
	return found
}

func pageFinding(name string, line int, format string, args ...any) Finding {
	f := Finding{Message: fmt.Sprintf(format, args...)}
	f.Position.Filename, f.Position.Line = name, line
	return f
}

// testsOf are the tree's tests as "folder Name".
func testsOf(tree []*File) map[string]bool {
	tests := map[string]bool{}
	for _, f := range tree {
		if !f.IsTest() {
			continue
		}
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				tests[f.Dir()+" "+fn.Name.Name] = true
			}
		}
	}
	return tests
}
