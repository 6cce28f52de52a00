package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/magiconair/properties"
)

// fileBytesMax bounds a configuration file: a wrong path (a device, a log) is refused before it is read into memory.
const fileBytesMax = 1 << 20

// setting is a value and the place where it was set.
type setting struct {
	key, value, source string
}

// readFile reads a file in java.util.Properties' syntax, as UTF-8. A key that stands twice is in the result twice:
// the last wins, as in Java. Values are taken as they are: no ${...} is expanded.
func readFile(path string) ([]setting, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > fileBytesMax {
		err = fmt.Errorf("%d bytes is more than the %d of a configuration file", info.Size(), fileBytesMax)
	}
	if err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0 {
		err = fmt.Errorf("not a regular file")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, &Error{Source: path, Problem: bare(err), Cure: "name a readable file in server.properties syntax with --config"}
	}
	return parseFile(filepath.Base(path), string(text))
}

// bare leaves the path out of an operating system's error: the line names it already.
func bare(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// parseFile splits the text into logical lines, so that each setting knows its line number, and has the properties
// library read each of them.
func parseFile(name, text string) ([]setting, error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	var found []setting
	for _, line := range logicalLines(text) {
		source := fmt.Sprintf("%s:%d", name, line.number)
		p, err := loader.LoadBytes([]byte(line.text))
		if err != nil {
			return nil, &Error{Source: source, Problem: "not a line of server.properties syntax: " + err.Error(), Cure: "write key=value"}
		}
		for _, k := range p.Keys() {
			found = append(found, setting{k, p.GetString(k, ""), source})
		}
	}
	return found, nil
}

type logicalLine struct {
	number int // of its first natural line, from 1
	text   string
}

// logicalLines joins lines that end in an odd number of backslashes with their successors, as java.util.Properties
// does, and leaves out blank lines and comments.
func logicalLines(text string) []logicalLine {
	var lines []logicalLine
	var open *logicalLine
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for i, natural := range strings.Split(text, "\n") {
		switch {
		case open != nil:
			open.text += "\n" + natural
		case isBlankOrComment(natural):
			continue
		default:
			lines = append(lines, logicalLine{i + 1, natural})
			open = &lines[len(lines)-1]
		}
		if !continues(natural) {
			open = nil
		}
	}
	return lines
}

func isBlankOrComment(line string) bool {
	line = strings.TrimLeft(line, " \t\f")
	return line == "" || line[0] == '#' || line[0] == '!'
}

func continues(line string) bool {
	trailing := len(line) - len(strings.TrimRight(line, `\`))
	return trailing%2 == 1
}
