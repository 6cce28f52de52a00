package omb

import (
	"regexp"
	"strings"
)

// accessProperty tells that a property is about how a client gets to the nodes; access reads those.
func accessProperty(name string) bool {
	return name == "security.protocol" || strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.")
}

// jaasField finds user name and password in the text that Java's clients have for them.
var jaasField = regexp.MustCompile(`\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))`)

// access is what the clients' properties say about TLS and SASL. What cannot be done safely in another way is an error: whom to trust is not
// passed over.
func (d *Driver) access(all map[string]string) (a Access, err error) {
	protocol := all["security.protocol"]
	switch protocol {
	case "", "PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL":
		a.TLS = strings.HasSuffix(protocol, "SSL")
	default:
		return a, d.fault("security.protocol", "%s is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", protocol)
	}
	if a.TLS {
		if err := d.certificates(all, &a); err != nil {
			return a, err
		}
	}
	if !strings.HasPrefix(protocol, "SASL_") {
		return a, nil
	}
	a.Mechanism = all["sasl.mechanism"]
	switch a.Mechanism {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	default:
		return a, d.fault("sasl.mechanism", "%q: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", a.Mechanism)
	}
	for _, found := range jaasField.FindAllStringSubmatch(all["sasl.jaas.config"], -1) {
		value := found[3]
		if value == "" {
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(found[2])
		}
		if found[1] == "username" {
			a.User = value
		} else {
			a.Password = value
		}
	}
	return a, nil
}

// certificates are those of PEM files; Java's key stores are not read.
func (d *Driver) certificates(all map[string]string, a *Access) error {
	for _, store := range []string{"ssl.truststore", "ssl.keystore"} {
		location := all[store+".location"]
		switch {
		case location == "":
			continue
		case all[store+".type"] != "PEM":
			return d.fault(store+".type", "%q: only PEM files are read, not Java's key stores; give --tls-ca, --tls-cert and --tls-key and leave them out here", all[store+".type"])
		case store == "ssl.truststore":
			a.CA = location
		default:
			a.Certificate, a.Key = location, location // a PEM key store has both
		}
	}
	for _, name := range []string{"ssl.truststore.certificates", "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.key.password"} {
		if all[name] != "" {
			return d.fault(name, "is not read; give --tls-ca, --tls-cert and --tls-key and leave it out here")
		}
	}
	if algorithm, given := all["ssl.endpoint.identification.algorithm"]; given && algorithm != "https" {
		return d.fault("ssl.endpoint.identification.algorithm", "%q: whose certificate it is, is always checked; --tls-insecure trusts whoever answers", algorithm)
	}
	return nil
}
