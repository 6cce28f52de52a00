package config

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var listSeparator = regexp.MustCompile(`\s*,\s*`)

// parseValue reads text as Kafka's ConfigDef does, white space around it left out: a bool, int64, float64, string or
// []string by the property's type. Problem is "" or says in Kafka's words why it cannot be read.
func parseValue(t Type, text string) (v any, problem string) {
	text = trim(text)
	switch t {
	case Boolean:
		return parseBoolean(text)
	case Short:
		return parseInteger(t, text, 16)
	case Int:
		return parseInteger(t, text, 32)
	case Long:
		return parseInteger(t, text, 64)
	case Double:
		return parseDouble(text)
	case List:
		return parseList(text), ""
	}
	return text, ""
}

// trim is Java's String.trim: what is not above a space.
func trim(text string) string { return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }) }

func parseBoolean(text string) (any, string) {
	switch {
	case strings.EqualFold(text, "true"):
		return true, ""
	case strings.EqualFold(text, "false"):
		return false, ""
	}
	return nil, "Expected value to be either true or false"
}

func parseInteger(t Type, text string, bits int) (any, string) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return nil, "Not a number of type " + t.String()
	}
	return n, ""
}

// javaDouble is what Java's Double.parseDouble reads, without hexadecimal and NaN: a trailing f or d is allowed.
var javaDouble = regexp.MustCompile(`^([+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?$`)

// parseDouble reads a number that is too large as Infinity, as Java does. NaN, which Kafka takes, is below no bound and above none: what it would mean nobody
// can say.
func parseDouble(text string) (any, string) {
	m := javaDouble.FindStringSubmatch(text)
	if m == nil {
		return nil, "Not a number of type DOUBLE"
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, "Not a number of type DOUBLE"
	}
	return n, ""
}

// formatDouble writes a number as Java's Double.toString does: 0.5, 1.0, 1.0E7.
func formatDouble(n float64) string {
	switch size := math.Abs(n); {
	case math.IsNaN(n):
		return "NaN"
	case math.IsInf(n, 0):
		return strings.TrimPrefix(strconv.FormatFloat(n, 'g', -1, 64), "+") + "inity"
	case size == 0 || size >= 1e-3 && size < 1e7:
		return withFraction(strconv.FormatFloat(n, 'f', -1, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(n, 'E', -1, 64), "E")
	power, _ := strconv.Atoi(exponent)
	return withFraction(mantissa) + "E" + strconv.Itoa(power)
}

func withFraction(s string) string {
	if strings.Contains(s, ".") {
		return s
	}
	return s + ".0"
}

// parseList splits at commas; an empty text is an empty list, and an empty element stays one.
func parseList(text string) []string {
	if text == "" {
		return nil
	}
	return listSeparator.Split(text, -1)
}

// canonical writes a value as DescribeConfigs shows it, which is not always as it was set: " 5 " and "+5" read 5.
func canonical(t Type, text string) string {
	v, problem := parseValue(t, text)
	if problem != "" {
		return text
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatDouble(v)
	case []string:
		return strings.Join(v, ",")
	case string:
		return v
	}
	return strings.TrimSpace(text)
}

// problemWith says what is wrong with a value of the property, in Kafka's words, or "" if nothing is.
// offending is the part of the text at fault.
func (p *Property) problemWith(text string) (problem, offending string) {
	v, problem := parseValue(p.Type, text)
	if problem != "" {
		return problem, text
	}
	if p.Check == nil {
		return "", ""
	}
	problem, offending = p.Check.Problem(v)
	if problem == "" {
		return "", ""
	}
	if _, isReplicas := p.Check.(throttled); isReplicas {
		return p.Name + " " + problem, "[" + strings.Join(v.([]string), ", ") + "]"
	}
	if offending == "" && p.Type != List {
		offending = canonical(p.Type, text)
	}
	return problem, offending
}
