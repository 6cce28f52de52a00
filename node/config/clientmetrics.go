package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DescribeClientMetrics lists the properties of a subscription to clients' metrics, given those set on it.
func DescribeClientMetrics(overrides map[string]string) []Entry {
	return describeScope(ClientMetricsScope, func(p *Property) Entry {
		if v, own := overrides[p.Name]; own {
			return p.entry(v, true, []Synonym{p.synonymAt(DynamicClientMetricsConfig, v)})
		}
		return p.entry(p.Default, true, nil) // without synonyms, as Kafka answers
	})
}

// ValidateClientMetrics says whether the properties may be set on a subscription, in the words of Apache Kafka's refusal.
// The error is a *TopicError.
func ValidateClientMetrics(overrides map[string]string) error {
	if err := validateEach(clientMetricsTable, "client metrics", overrides); err != nil {
		return err
	}
	if text, set := overrides["interval.ms"]; set {
		v, _ := parseValue(Int, text)
		if n := v.(int64); n < clientMetricsIntervalMinMS || n > clientMetricsIntervalMaxMS {
			return &TopicError{Key: "interval.ms", InvalidRequest: true, message: fmt.Sprintf(
				"Invalid value %d for interval.ms, interval must be between 100 and 3600000 (1 hour)", n)}
		}
	}
	for _, pattern := range parseList(trim(overrides["match"])) {
		if !isMatchPattern(pattern) {
			return &TopicError{Key: "match", Value: pattern, message: "Illegal client matching pattern: " + pattern}
		}
	}
	return nil
}

// The bounds of interval.ms (ClientMetricsConfigs).
const (
	clientMetricsIntervalMinMS = 100
	clientMetricsIntervalMaxMS = 3_600_000
)

// matchNames are what a client can be told by in match.
var matchNames = []string{
	"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port",
}

// isMatchPattern reports whether a text is name=regular expression.
func isMatchPattern(text string) bool {
	parts := strings.Split(text, "=")
	if len(parts) != 2 || !slices.Contains(matchNames, trim(parts[0])) || trim(parts[1]) == "" {
		return false
	}
	_, err := regexp.Compile(trim(parts[1]))
	return err == nil
}
