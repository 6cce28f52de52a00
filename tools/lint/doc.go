// Package lint holds the repository to its own rules, as a test: what people would have to remember in reviews, a program
// checks on each run.
//
//	format     every Go file is as gofmt writes it
//	vet        go vet has nothing to say
//	static     staticcheck has nothing to say
//	arrows     a room imports only the rooms, and the modules, that ARCHITECTURE.md allows it
//	state      state code (segment, replicate, control) sees no clock, no global randomness, no goroutine, no channel,
//	           no lock, no file and no socket: events in, plans and effects out
//	names      no package is called util, common, types or helpers
//	docs       every package and every exported name says what it is
//	size       no file has more than 700 lines
//	config     every effective property is read by the node
//
// A rule is a function from a parsed File to Findings, tested on small samples of right and wrong code; the Tree is the
// repository's own. An exception stands in the rule's table with its reason, never at the place that breaks the rule.
package lint
