package config

import (
	"fmt"
	"reflect"
)

// fill sets each field of *dst that is tagged with a property from its text; a null leaves the zero value.
// The texts have been checked: one that cannot be read is a bug.
func fill(dst any, text func(name string) (string, bool)) {
	v := reflect.ValueOf(dst).Elem()
	for i := range v.NumField() {
		name, tagged := v.Type().Field(i).Tag.Lookup("property")
		if !tagged {
			continue
		}
		if s, ok := text(name); ok {
			set(v.Field(i), name, s)
		}
	}
}

func set(field reflect.Value, name, text string) {
	value, problem := parseValue(typeOf(name), text)
	if problem != "" {
		panic(fmt.Sprintf("BUG: unchecked value %s=%q: %s", name, text, problem))
	}
	switch value := value.(type) {
	case bool:
		field.SetBool(value)
	case int64:
		if field.OverflowInt(value) {
			panic(fmt.Sprintf("BUG: %s=%d does not fit its field", name, value))
		}
		field.SetInt(value)
	case float64:
		field.SetFloat(value)
	case string:
		field.SetString(value)
	case []string:
		field.Set(reflect.ValueOf(value))
	}
}

// typeOf is the type of a property that a field is tagged with. Names that stand in two scopes have one type.
func typeOf(name string) Type {
	for _, table := range []map[string]*Property{brokerTable, topicTable, groupTable} {
		if p, ok := table[name]; ok {
			return p.Type
		}
	}
	panic("BUG: no property " + name)
}
