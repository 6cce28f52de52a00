package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// CheckDocs returns the rule that finds exported names without a comment. Names of test files, and of programs, are
// nobody else's business. A method needs none of its own where an interface of the tree, or of the standard library,
// says what it does.
func CheckDocs(tree []*File) func(*File) []Finding {
	explained := interfaceMethods(tree)
	return func(f *File) []Finding {
		if f.IsTest() || f.AST.Name.Name == "main" {
			return nil
		}
		var found []Finding
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if needsComment(d, explained) && d.Doc.Text() == "" {
					found = append(found, f.finding(d.Pos(), "exported %s has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				found = append(found, f.checkDeclaration(d)...)
			}
		}
		return found
	}
}

// interfaceMethods collects the names of methods in the tree's interfaces, and of those in the standard library's that
// everybody knows.
func interfaceMethods(tree []*File) map[string]bool {
	names := map[string]bool{"Error": true, "Unwrap": true, "String": true, "Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true, "Close": true}
	for _, f := range tree {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						names[name.Name] = true
					}
				}
			}
			return true
		})
	}
	return names
}

// needsComment: a method does if its type is exported too and no interface explains it.
func needsComment(d *ast.FuncDecl, explained map[string]bool) bool {
	if !d.Name.IsExported() {
		return false
	}
	return d.Recv == nil || receiverIsExported(d.Recv) && !explained[d.Name.Name]
}

func receiverIsExported(recv *ast.FieldList) bool {
	t := recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// checkDeclaration: in a group of constants or variables the group's comment is enough, or each line's own.
func (f *File) checkDeclaration(d *ast.GenDecl) []Finding {
	if d.Tok == token.IMPORT {
		return nil
	}
	var found []Finding
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && !anyText(d.Doc, s.Doc, s.Comment) {
				found = append(found, f.finding(s.Pos(), "exported type %s has no comment", s.Name.Name))
			}
		case *ast.ValueSpec:
			exported := slices.ContainsFunc(s.Names, (*ast.Ident).IsExported)
			if exported && !anyText(d.Doc, s.Doc, s.Comment) {
				found = append(found, f.finding(s.Pos(), "exported %s has no comment", s.Names[0].Name))
			}
		}
	}
	return found
}

func anyText(groups ...*ast.CommentGroup) bool {
	return slices.ContainsFunc(groups, func(g *ast.CommentGroup) bool { return strings.TrimSpace(g.Text()) != "" })
}

// CheckPackageDocs finds packages in which no file has a package comment. Folders with tests alone need none.
func CheckPackageDocs(files []*File) []Finding {
	first := make(map[string]*File)
	documented := make(map[string]bool)
	for _, f := range files {
		if f.IsTest() {
			continue
		}
		if first[f.Dir()] == nil {
			first[f.Dir()] = f
		}
		documented[f.Dir()] = documented[f.Dir()] || anyText(f.AST.Doc)
	}
	var found []Finding
	for dir, f := range first {
		if !documented[dir] {
			found = append(found, f.finding(f.AST.Package, "package %s has no comment: add a doc.go", dir))
		}
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return found
}
