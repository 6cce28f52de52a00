package lint

import (
	"go/ast"
	"reflect"
	"strconv"
	"strings"
)

// configFields lists the fields of node/config's Config, TopicConfig and GroupConfig that carry a property, by name.
func configFields(files []*File) map[string]string {
	fields := make(map[string]string)
	for _, f := range files {
		if f.Dir() != "node/config" || f.IsTest() {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil && len(field.Names) == 1 {
				tag, _ := strconv.Unquote(field.Tag.Value)
				if property, ok := reflect.StructTag(tag).Lookup("property"); ok {
					fields[field.Names[0].Name] = property
				}
			}
			return true
		})
	}
	return fields
}

// UnreadProperties lists the properties among the effective ones whose field nothing in node reads: they promise what
// does not happen. A field counts as read where a selector has its name; a method of its struct that reads it and is
// itself read counts too.
func UnreadProperties(files []*File, effective func(property string) bool) []string {
	fields, read := configFields(files), selectors(files)
	var unread []string
	for name, property := range fields {
		if effective(property) && !read[name] {
			unread = append(unread, property)
		}
	}
	return unread
}

// IdleButRead lists the properties that are declared without effect, though node selects the field that they have in
// Config or TopicConfig.
func IdleButRead(files []*File, idle func(property string) bool) []string {
	var config []*File
	read := make(map[string]bool)
	for _, f := range files {
		switch {
		case f.Path == "node/config/config.go" || f.Path == "node/config/topic.go":
			config = append(config, f)
		case strings.HasPrefix(f.Path, "node/") && f.Dir() != "node/config" && !f.IsTest():
			collectSelectors(f.AST, read)
		}
	}
	var found []string
	for name, property := range configFields(config) {
		if idle(property) && read[name] {
			found = append(found, property)
		}
	}
	return found
}

// selectors collects the names that are selected in node, and those that the methods of TopicConfig and Config select
// which are called there.
func selectors(files []*File) map[string]bool {
	read := make(map[string]bool)
	for _, f := range files {
		if strings.HasPrefix(f.Path, "node/") && f.Dir() != "node/config" && !f.IsTest() {
			collectSelectors(f.AST, read)
		}
	}
	for _, f := range files {
		if f.Dir() != "node/config" || f.IsTest() {
			continue
		}
		for _, d := range f.AST.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && read[m.Name.Name] {
				collectSelectors(m, read)
			}
		}
	}
	return read
}

func collectSelectors(in ast.Node, found map[string]bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			found[s.Sel.Name] = true
		}
		return true
	})
}
