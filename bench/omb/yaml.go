package omb

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/node/config"
)

// yamlBytesMax bounds a file: those of OpenMessaging Benchmark have less than 2 KiB.
const yamlBytesMax = 4 << 20

// readYAML reads a file of one mapping into a struct by the names of its yaml tags. Keys that it has no field for are told in notes:
// OpenMessaging Benchmark passes over them too, and a misspelt one should not go unseen.
func readYAML(path string, into any) (notes []string, err error) {
	text, err := bench.ReadFile(path, yamlBytesMax)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%w %s: %s", ErrFile, path, oneLine(err))
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w %s: no mapping of names to values", ErrFile, path)
	}
	mapping := document.Content[0].Content
	if err := document.Decode(into); err != nil {
		return nil, fmt.Errorf("%w %s: %s", ErrFile, path, withField(mapping, oneLine(err)))
	}
	fields := yamlFields(reflect.TypeOf(into).Elem())
	for i := 0; i < len(mapping); i += 2 {
		key, value := mapping[i], mapping[i+1]
		switch kind, known := fields[key.Value]; {
		case !known:
			notes = append(notes, fmt.Sprintf("%s:%d: %s: no such field, passed over%s", path, key.Line, key.Value, meant(key.Value, slices.Collect(maps.Keys(fields)))))
		case (kind == reflect.Int || kind == reflect.Int64) && value.Tag == "!!float": // the decoder leaves out the fraction
			return nil, fmt.Errorf("%w %s: line %d: %s: %s is no whole number", ErrFile, path, key.Line, key.Value, value.Value)
		}
	}
	return notes, nil
}

// withField adds to what yaml says of a line which field's value stands there, if it is one's.
func withField(mapping []*yaml.Node, said string) string {
	number, what, _ := strings.Cut(strings.TrimPrefix(said, "line "), ": ")
	var there []string
	for i := 0; i < len(mapping); i += 2 {
		if number == fmt.Sprint(mapping[i+1].Line) {
			there = append(there, mapping[i].Value)
		}
	}
	if len(there) != 1 {
		return said
	}
	return fmt.Sprintf("line %s: %s: %s", number, there[0], what)
}

// meant asks whether a name is a misspelt one of those that there are, if one is near.
func meant(name string, known []string) string {
	if near := config.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// yamlFields are the kinds of a struct's fields by their names in a file.
func yamlFields(of reflect.Type) map[string]reflect.Kind {
	kinds := map[string]reflect.Kind{}
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("yaml"); name != "" {
			kinds[name] = of.Field(i).Type.Kind()
		}
	}
	return kinds
}

// oneLine is what yaml says, the first of its faults if there are several.
func oneLine(err error) string {
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		return typed.Errors[0]
	}
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")
}
