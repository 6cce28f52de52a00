package segment

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/ringmill/ringmill/wire"
)

// MetaProperties is the file meta.properties at a log directory's root: whose directory it is.
type MetaProperties struct {
	Version     int // 1; 0 is read too, where the node's number is called broker.id
	ClusterID   string
	NodeID      wire.NodeID
	DirectoryID string // a UUID as 22 characters of URL-safe base64 (KIP-858); "" if there is none
}

// ReadMetaProperties reads meta.properties. What it does not know is ignored, as Kafka does. The error is a *CheckpointError.
func ReadMetaProperties(src []byte) (MetaProperties, error) {
	if err := unsealProperties(src); err != nil {
		return MetaProperties{}, err
	}
	properties := readJavaProperties(string(src))
	m := MetaProperties{ClusterID: properties["cluster.id"], DirectoryID: properties["directory.id"]}
	nodeKey := "node.id"
	switch properties["version"] {
	case "1":
		m.Version = 1
	case "0", "":
		nodeKey = "broker.id"
	default:
		return MetaProperties{}, checkpointError(0, "", fmt.Sprintf("version=%.20q is unknown", properties["version"]))
	}
	id, err := strconv.ParseInt(properties[nodeKey], 10, 32)
	if err != nil {
		return MetaProperties{}, checkpointError(0, "", fmt.Sprintf("%s=%.20q is no number", nodeKey, properties[nodeKey]))
	}
	m.NodeID = wire.NodeID(id)
	if m.Version == 1 && m.ClusterID == "" {
		return MetaProperties{}, checkpointError(0, "", "cluster.id is missing")
	}
	if _, ok := wire.ParseUUID(m.DirectoryID); !ok && m.DirectoryID != "" {
		return MetaProperties{}, checkpointError(0, "", fmt.Sprintf("directory.id=%.30q is no UUID", m.DirectoryID))
	}
	return m, nil
}

// AppendTo appends the file, in version 1, behind its checksum.
func (m MetaProperties) AppendTo(dst []byte) []byte {
	lines := fmt.Appendf(nil, "node.id=%d\n", m.NodeID)
	if m.DirectoryID != "" {
		lines = fmt.Appendf(lines, "directory.id=%s\n", m.DirectoryID)
	}
	lines = fmt.Appendf(lines, "version=1\ncluster.id=%s\n", escapeJavaProperty(m.ClusterID))
	return append(append(append(dst, sealLine(propertiesSeal, lines)...), '\n'), lines...)
}

// readJavaProperties reads the subset of java.util.Properties that store writes: comments, key=value or key:value, escapes.
func readJavaProperties(s string) map[string]string {
	properties := map[string]string{}
	for _, line := range checkpointLines(s) {
		line = strings.TrimLeft(line, " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		end := javaKeyEnd(line)
		value := strings.TrimLeft(line[end:], " \t\f")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t\f")
		}
		properties[unescapeJavaProperty(line[:end])] = unescapeJavaProperty(value)
	}
	return properties
}

// javaKeyEnd finds the first separator that no backslash stands before.
func javaKeyEnd(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			return i
		}
	}
	return len(line)
}

func unescapeJavaProperty(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var units []uint16
	for _, r := range s {
		units = utf16.AppendRune(units, r)
	}
	out := units[:0]
	for i := 0; i < len(units); i++ {
		if units[i] != '\\' || i+1 == len(units) {
			out = append(out, units[i])
			continue
		}
		i++
		if unit, ok := javaUnicodeEscape(units[i:]); ok {
			out, i = append(out, unit), i+4
			continue
		}
		out = append(out, javaEscape(units[i]))
	}
	return string(utf16.Decode(out))
}

// javaUnicodeEscape reads u and four hexadecimal digits.
func javaUnicodeEscape(s []uint16) (uint16, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(utf16.Decode(s[1:5])), 16, 16)
	return uint16(unit), err == nil
}

func javaEscape(c uint16) uint16 {
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	}
	return c
}

// escapeJavaProperty makes a value that java.util.Properties reads back.
func escapeJavaProperty(s string) string {
	var b strings.Builder
	for i, unit := range utf16.Encode([]rune(s)) {
		switch {
		case strings.ContainsRune(`\=:#!`, rune(unit)), unit == ' ' && i == 0:
			b.WriteByte('\\')
			b.WriteByte(byte(unit))
		case unit < ' ' || unit > '~':
			fmt.Fprintf(&b, `\u%04X`, unit)
		default:
			b.WriteByte(byte(unit))
		}
	}
	return b.String()
}

// AppendCleanShutdown appends the content of the clean-shutdown mark, .kafka_cleanshutdown (KIP-966): the broker epoch under which the node
// stopped. Nothing of it is read: that the file is there is what says that the stop was clean. Older versions of Kafka leave it empty.
func AppendCleanShutdown(dst []byte, brokerEpoch int64) []byte {
	return fmt.Appendf(dst, `{"version":0,"brokerEpoch":%d}`, brokerEpoch)
}
