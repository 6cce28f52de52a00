package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Check is a bound on a property's values beyond their type.
type Check interface {
	// Problem says in Kafka's words what is wrong with a parsed value, or "" if nothing is.
	// For a list, element is the one at fault; else it is empty.
	Problem(v any) (problem, element string)
	// String says which values are allowed.
	String() string
}

// bounds allows numbers from min to max, and the number or if hasOr is set.
type bounds struct {
	min, max float64
	hasMax   bool
	or       float64
	hasOr    bool
}

func atLeast(min float64) Check      { return bounds{min: min} }
func between(min, max float64) Check { return bounds{min: min, max: max, hasMax: true} }
func betweenOr(min, max, or float64) Check {
	return bounds{min: min, max: max, hasMax: true, or: or, hasOr: true}
}

func (b bounds) Problem(v any) (string, string) {
	n, ok := number(v)
	switch {
	case !ok:
		panic(fmt.Sprintf("BUG: bounds on a %T", v))
	case b.hasOr && n == b.or:
		return "", ""
	case b.hasOr && (n < b.min || n > b.max):
		return fmt.Sprintf("Value must be between %s and %s or equal to %s", plain(b.min), plain(b.max), plain(b.or)), ""
	case n < b.min:
		return "Value must be at least " + plain(b.min), ""
	case b.hasMax && n > b.max:
		return "Value must be no more than " + plain(b.max), ""
	}
	return "", ""
}

func (b bounds) String() string {
	switch {
	case b.hasOr:
		return fmt.Sprintf("%s to %s, or %s", plain(b.min), plain(b.max), plain(b.or))
	case b.hasMax:
		return fmt.Sprintf("%s to %s", plain(b.min), plain(b.max))
	}
	return plain(b.min) + " or more"
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// words allows certain words: as the value, or as each element of a list.
type words struct {
	allowed []string
	fold    bool
}

func oneOf(allowed ...string) Check     { return words{allowed: allowed} }
func eachOf(allowed ...string) Check    { return words{allowed: allowed} }
func oneOfFold(allowed ...string) Check { return words{allowed: allowed, fold: true} }

func (w words) Problem(v any) (string, string) {
	elements, isList := v.([]string)
	if !isList {
		elements = []string{v.(string)}
	}
	for _, e := range elements {
		if !w.has(e) {
			return w.problem(), e
		}
	}
	return "", ""
}

func (w words) has(s string) bool {
	return slices.ContainsFunc(w.allowed, func(a string) bool {
		return a == s || w.fold && strings.EqualFold(a, s)
	})
}

func (w words) problem() string {
	if w.fold {
		return "String must be one of (case insensitive): " + strings.Join(w.allowed, ", ")
	}
	return "String must be one of: " + strings.Join(w.allowed, ", ")
}

func (w words) String() string { return "one of " + strings.Join(w.allowed, ", ") }

// filled refuses the empty string.
type filled struct{}

func nonEmpty() Check { return filled{} }

func (filled) Problem(v any) (string, string) {
	if s, ok := v.(string); ok && s == "" {
		return "String must be non-empty", ""
	}
	return "", ""
}

func (filled) String() string { return "text that is not empty" }

// throttled allows * or a list of partition:broker pairs, as the throttled-replicas properties take.
type throttled struct{}

var replicaPair = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

func throttledReplicas() Check { return throttled{} }

func (throttled) Problem(v any) (string, string) {
	list := v.([]string)
	if len(list) == 1 && list[0] == "*" {
		return "", ""
	}
	for _, e := range list {
		if !replicaPair.MatchString(e) {
			return "must be the literal '*' or a list of replicas in the following format: " +
				"[partitionId]:[brokerId],[partitionId]:[brokerId],...", ""
		}
	}
	return "", ""
}

func (throttled) String() string { return "* or a list of partition:broker pairs" }
