package member

import (
	"maps"
	"slices"
	"strings"
)

// parseSnapshot reads from serf's snapshot, a log of lines, who was alive last: "alive: NAME ADDRESS" and "not-alive: NAME".
// Lines of other kinds, and damaged ones, say nothing: it is a hint.
func parseSnapshot(text, self string) []string {
	addresses := make(map[string]string)
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name, address, _ := strings.Cut(rest, " "); {
		case name == self || name == "":
		case kind == "alive" && address != "":
			addresses[name] = address
		case kind == "not-alive":
			delete(addresses, name)
		}
	}
	return slices.Sorted(maps.Values(addresses))
}
