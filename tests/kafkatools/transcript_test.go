package kafkatools

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is a command or an action of a transcript, with the lines that belong to it.
type step struct {
	comment string // the lines above it, as they stand
	line    string // "$ …" or "@ …", as it stands
	input   string
	filters []string // "| …" lines, as they stand
	want    string
}

func readTranscript(t *testing.T, path string) []step {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	comment := ""
	for number, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || kind == "#":
			comment += line + "\n"
			continue
		case kind == "$" || kind == "@":
			steps = append(steps, step{comment: comment, line: line})
			comment = ""
			continue
		case len(steps) == 0 || comment != "":
			t.Fatalf("%s:%d: %q belongs to no command", path, number+1, line)
		}
		last := &steps[len(steps)-1]
		switch kind {
		case "<":
			last.input += rest + "\n"
		case "|":
			last.filters = append(last.filters, line)
		default:
			last.want += line + "\n"
		}
	}
	return steps
}

// format is the inverse of readTranscript.
func format(steps []step) string {
	var text strings.Builder
	for _, s := range steps {
		text.WriteString(s.comment + s.line + "\n")
		for line := range strings.Lines(s.input) {
			text.WriteString("< " + line)
		}
		for _, filter := range s.filters {
			text.WriteString(filter + "\n")
		}
		text.WriteString(s.want)
	}
	return text.String()
}

// filtered applies a step's filters to what a tool printed.
func (s step) filtered(t *testing.T, printed string) string {
	t.Helper()
	for _, filter := range s.filters {
		verb, rest, _ := strings.Cut(strings.TrimPrefix(filter, "| "), " ")
		switch verb {
		case "only":
			printed = only(printed, regexp.MustCompile(rest))
		case "sort":
			lines := slices.Sorted(strings.Lines(printed))
			printed = strings.Join(lines, "")
		case "replace":
			pattern, text, found := strings.Cut(rest, " WITH ")
			if !found {
				t.Fatalf("%q has no WITH", filter)
			}
			printed = regexp.MustCompile(pattern).ReplaceAllString(printed, text)
		default:
			t.Fatalf("%q: unknown filter", filter)
		}
	}
	return printed
}

// only leaves the lines that match.
func only(printed string, pattern *regexp.Regexp) string {
	var kept strings.Builder
	for line := range strings.Lines(printed) {
		if pattern.MatchString(line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// normal are the parts of a tool's output that differ from run to run, whatever the tool; the order matters.
var normal = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^(! )?(SLF4J: .*|\s*at [\w.$/]+\(.*|\s*\.\.\. \d+ more|Caused by: .*)\n`), ""},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m)^ | $`), ""},
	{regexp.MustCompile(`(?m)^(! ?)?\n`), ""},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "{uuid}"},
	{regexp.MustCompile(`\b1[6-9]\d{11}\b`), "{time}"},
	{regexp.MustCompile(`TopicId: \S{22}`), "TopicId: {id}"},
	// what Kafka's eligible leader replicas write as the cluster's default when a directory is formatted
	{regexp.MustCompile(`(?m)( min\.insync\.replicas=1$|min\.insync\.replicas=1,)`), ""},
}

// normalised is a tool's outcome as a transcript has it. Names that stand for {words} are words again.
func normalised(status int, stdout, stderr string, words *strings.Replacer) string {
	text := stdout
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(stderr) {
		text += "! " + strings.TrimRight(line, "\n") + "\n"
	}
	text = words.Replace(text)
	for _, n := range normal {
		text = n.pattern.ReplaceAllString(text, n.with)
	}
	if status != 0 {
		text += fmt.Sprintf("[%d]\n", status)
	}
	return text
}
