package config

import (
	"regexp"
	"slices"
	"strings"
)

const environmentPrefix = "RINGMILL_"

// EnvironmentName gives the variable that sets a property: RINGMILL_LOG_RETENTION_MS for log.retention.ms, and
// RINGMILL_ENGINE for ringmill.engine.
func EnvironmentName(property string) string {
	name := strings.TrimPrefix(property, "ringmill.")
	return environmentPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// environmentKeys maps variables back to properties; since a name alone cannot tell a dot from an underscore, the
// table does.
var environmentKeys = func() map[string]string {
	m := make(map[string]string)
	for name := range brokerTable {
		m[EnvironmentName(name)] = name
	}
	return m
}()

// foreignVariables have the prefix and are no properties: the command line's own, and those that Kubernetes puts into
// every container for a Service called ringmill or ringmill-something (service links).
var foreignVariables = regexp.MustCompile(`^RINGMILL_(BOOTSTRAP|CONFIG|TEST_\w+|(\w+_)?SERVICE_(HOST|PORT)(_\w+)?|(\w+_)?PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// readEnvironment picks the properties out of "NAME=value" pairs, in the order of their names.
func readEnvironment(environ []string) ([]setting, error) {
	var found []setting
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !strings.HasPrefix(name, environmentPrefix) {
			continue
		}
		key, known := environmentKeys[name]
		switch {
		case known:
			found = append(found, setting{key, value, "environment " + name})
		case !foreignVariables.MatchString(name):
			return nil, unknownVariable(name)
		}
	}
	return found, nil
}

func unknownVariable(name string) error {
	e := &Error{Key: name, Source: "environment", Problem: "names no property", Cure: "unset it"}
	names := make([]string, 0, len(environmentKeys))
	for n := range environmentKeys {
		names = append(names, n)
	}
	if n := Nearest(name, names); n != "" {
		e.Cure = "did you mean " + n + "?"
	}
	return e
}
