package api

import (
	"math"
	"reflect"
)

// longString finds a string of a decoded request that is longer than Kafka's strings may be, 32,767 bytes, and gives its length;
// 0 if there is none. A compact string can say more, but what is told on in an older version, or kept in a coordinator's log,
// cannot.
func longString(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > math.MaxInt16 {
			return v.Len()
		}
	case reflect.Pointer:
		return longString(v.Elem())
	case reflect.Slice:
		return longStringIn(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if n := longString(v.Field(i)); n > 0 {
				return n
			}
		}
	}
	return 0
}

// longStringIn looks at a slice of what may hold strings.
func longStringIn(v reflect.Value) int {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Pointer, reflect.Struct, reflect.Slice:
	default:
		return 0
	}
	for i := range v.Len() {
		if n := longString(v.Index(i)); n > 0 {
			return n
		}
	}
	return 0
}
