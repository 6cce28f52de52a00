package lint

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Module is the module's path, which its own imports begin with.
const Module = "github.com/ringmill/ringmill"

// Finding is one breach of a rule.
type Finding struct {
	Position token.Position
	Message  string
}

// String gives "file:line: message".
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s", f.Position.Filename, f.Position.Line, f.Message)
}

// File is a parsed Go file.
type File struct {
	Path   string // from the module's root, with slashes
	Source []byte
	AST    *ast.File
	fset   *token.FileSet
}

// Parse reads one file's source.
func Parse(name string, source []byte) (*File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &File{name, source, tree, fset}, nil
}

// Dir is the file's package directory, from the module's root.
func (f *File) Dir() string { return path.Dir(f.Path) }

// IsTest reports whether only tests are built with the file.
func (f *File) IsTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

func (f *File) finding(at token.Pos, format string, args ...any) Finding {
	return Finding{f.fset.Position(at), fmt.Sprintf(format, args...)}
}

// lines counts the file's lines.
func (f *File) lines() int {
	n := 0
	for s := bufio.NewScanner(strings.NewReader(string(f.Source))); s.Scan(); {
		n++
	}
	return n
}

// ReadTree parses every Go file of the module below root. What the go command does not look at (testdata, names that
// begin with a dot or an underscore, other modules) is left out.
func ReadTree(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && skipped(name, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		f, err := readFile(root, name)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

func skipped(dir, base string) bool {
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func readFile(root, name string) (*File, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	return Parse(filepath.ToSlash(relative), source)
}
