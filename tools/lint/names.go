package lint

import "slices"

// meaningless are names of packages that say nothing about what is in them. A shared word belongs in wire.
var meaningless = []string{"util", "utils", "common", "types", "helpers", "helper", "misc", "shared", "base"}

// CheckPackageName finds packages whose names say nothing.
func CheckPackageName(f *File) []Finding {
	if name := f.AST.Name.Name; slices.Contains(meaningless, name) {
		return []Finding{f.finding(f.AST.Name.Pos(), "package %s: name it for the noun that lives in it", name)}
	}
	return nil
}

// linesMax is the most lines of a file. Beyond it there is more than one noun in it.
const linesMax = 700

// CheckSize finds files that have grown too long.
func CheckSize(f *File) []Finding {
	if n := f.lines(); n > linesMax {
		return []Finding{f.finding(f.AST.Package, "%d lines, more than %d: split it by nouns", n, linesMax)}
	}
	return nil
}
