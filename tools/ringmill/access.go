package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/ringmill/ringmill/bench"
)

// accessFlags are how a client gets to nodes that are not open to everybody. No secret is on the command line, which every user of the
// machine can read.
type accessFlags struct {
	tls                   bool
	ca, certificate, key  string
	insecure              bool
	mechanism, user, file string
	password              string // from a driver file of OpenMessaging Benchmark, before the environment's
}

const (
	userVariable     = "RINGMILL_SASL_USER"
	passwordVariable = "RINGMILL_SASL_PASSWORD"
)

func (f *accessFlags) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.BoolVar(&f.tls, "tls", false, "connect with TLS, trusting whom the machine trusts")
	flags.StringVar(&f.ca, "tls-ca", "", "connect with TLS, trusting the certificates of this PEM `file` alone")
	flags.StringVar(&f.certificate, "tls-cert", "", "a PEM `file` with the client's own certificate")
	flags.StringVar(&f.key, "tls-key", "", "a PEM `file` with its key")
	flags.BoolVar(&f.insecure, "tls-insecure", false, "connect with TLS, trusting whoever answers")
	flags.StringVar(&f.mechanism, "sasl", "", "authenticate with this `mechanism`: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	flags.StringVar(&f.user, "sasl-user", os.Getenv(userVariable), "who to authenticate as; environment "+userVariable)
	flags.StringVar(&f.file, "sasl-password-file", "", "a `file` whose first line is the password; without it environment "+passwordVariable)
	completeFlag(cmd, "sasl", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
	completeFlag(cmd, "sasl-user")
}

// dialer makes connections with TLS; nil if there is to be none.
func (f *accessFlags) dialer(timeout time.Duration) (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	if !f.tls && f.ca == "" && f.certificate == "" && f.key == "" && !f.insecure {
		return nil, nil
	}
	config := &tls.Config{InsecureSkipVerify: f.insecure} // only where the user has said so
	if f.ca != "" {
		text, err := bench.ReadFile(f.ca, fileBytesMax)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--tls-ca %s has no certificate in PEM", f.ca)
		}
	}
	if f.certificate != "" || f.key != "" {
		own, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: timeout}, Config: config} // the server's name is the address's
	return d.DialContext, nil
}

// fileBytesMax bounds a file of certificates, or of a password.
const fileBytesMax = 16 << 20

// authentication is the mechanism; nil if there is to be none.
func (f *accessFlags) authentication() (sasl.Mechanism, error) {
	if f.mechanism == "" {
		if f.file != "" {
			return nil, errors.New("a password without a mechanism: say which one with --sasl")
		}
		return nil, nil
	}
	password := cmp.Or(f.password, os.Getenv(passwordVariable))
	if f.file != "" {
		text, err := bench.ReadFile(f.file, fileBytesMax)
		if err != nil {
			return nil, err
		}
		password, _, _ = strings.Cut(string(text), "\n")
		password = strings.TrimSuffix(password, "\r")
	}
	if f.user == "" || password == "" {
		return nil, fmt.Errorf("--sasl %s needs --sasl-user, and --sasl-password-file or %s", f.mechanism, passwordVariable)
	}
	switch strings.ToUpper(f.mechanism) {
	case "PLAIN":
		return plain.Auth{User: f.user, Pass: password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: f.user, Pass: password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: f.user, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("--sasl %q: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", f.mechanism)
}

// options are franz-go's for all of it.
func (f *accessFlags) options(timeout time.Duration) (opts []kgo.Opt, err error) {
	dial, err := f.dialer(timeout)
	if err != nil {
		return nil, err
	}
	mechanism, err := f.authentication()
	if err != nil {
		return nil, err
	}
	if dial != nil {
		opts = append(opts, kgo.Dialer(dial))
	} else {
		opts = append(opts, kgo.DialTimeout(timeout))
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

// benchDialTimeout is how long a node may take to accept a connection of a benchmark's, as without TLS.
const benchDialTimeout = 5 * time.Second

// forBench are the same for a benchmark's clients. Errors are of the command line.
func (f *accessFlags) forBench(cmd *cobra.Command) (bench.Dialer, sasl.Mechanism, error) {
	dial, err := f.dialer(benchDialTimeout)
	if err != nil {
		return nil, nil, wrongUse(cmd, "%s", err)
	}
	mechanism, err := f.authentication()
	if err != nil {
		return nil, nil, wrongUse(cmd, "%s", err)
	}
	return dial, mechanism, nil
}
