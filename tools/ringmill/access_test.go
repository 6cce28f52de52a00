package main

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench/benchtest"
)

// guarded is a server on the loopback that speaks TLS alone and wants to know who comes, and a PEM file with its certificate.
func guarded(t *testing.T) (s *benchtest.Server, ca string) {
	t.Helper()
	lender := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	defer lender.Close()
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	s = benchtest.New(1, benchtest.Constant(20*time.Millisecond))
	s.Authenticate("alice", "open sesame")
	t.Cleanup(s.Close)
	config := lender.TLS.Clone()
	config.NextProtos = nil
	if err := s.ListenTLS(config); err != nil {
		t.Fatal(err)
	}
	return s, ca
}

func secret(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBenchOfAGuardedNode(t *testing.T) {
	s, ca := guarded(t)
	right := secret(t, "open sesame\nand more\n")
	for _, client := range []string{"raw", "franz"} {
		_, report, said := benchRun(t, t.Context(), s, "--client", client, "--tls-ca", ca, "--sasl", "plain", "--sasl-user", "alice", "--sasl-password-file", right)
		if report == nil || report.Produced.Records != 100 || report.Consumed.Records != 100 || strings.Contains(report.Command, "sesame") || !strings.Contains(report.Command, "--sasl-user alice") {
			t.Errorf("%s: %+v: %s", client, report, said)
		}
	}
	t.Setenv(passwordVariable, "open sesame")
	t.Setenv(userVariable, "alice")
	if code, report, said := benchRun(t, t.Context(), s, "--tls-insecure", "--sasl", "PLAIN"); report == nil {
		t.Errorf("status %d: %s", code, said)
	}
	for name, c := range map[string]struct {
		args []string
		said string
	}{
		"a wrong password":        {[]string{"--tls-ca", ca, "--sasl", "PLAIN", "--sasl-password-file", secret(t, "no")}, "Invalid username or password"},
		"another mechanism":       {[]string{"--tls-ca", ca, "--sasl", "SCRAM-SHA-512"}, "the node has [PLAIN]"},
		"nobody":                  {[]string{"--tls-ca", ca}, "EOF"},
		"an unknown certificate":  {[]string{"--tls", "--sasl", "PLAIN"}, "certificate"},
		"no TLS where it must be": {[]string{"--sasl", "PLAIN"}, "receive"},
	} {
		if code, report, said := benchRun(t, t.Context(), s, c.args...); code != statusFailed || report != nil || !strings.Contains(said, c.said) || strings.Contains(said, "left behind") {
			t.Errorf("%s: status %d: %s", name, code, said)
		}
	}
	if len(s.Topics()) > 0 {
		t.Errorf("left behind: %v", s.Topics())
	}
}

// Every other client command gets in by the same flags.
func TestCommandsOfAGuardedNode(t *testing.T) {
	s, ca := guarded(t)
	list := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := (&app{stdout: &out, stderr: &errs}).run(t.Context(), append([]string{"topic", "list", "-b", s.Addresses()[0], "--timeout", "5s"}, args...))
		return code, out.String() + errs.String()
	}
	right := []string{"--tls-ca", ca, "--sasl", "PLAIN", "--sasl-user", "alice", "--sasl-password-file", secret(t, "open sesame")}
	if code, said := list(right...); code != statusOK {
		t.Errorf("status %d: %s", code, said)
	}
	if code, said := list(append(right, "--sasl-password-file", secret(t, "no"))...); code != statusFailed || !strings.Contains(said, "SASL_AUTHENTICATION_FAILED") {
		t.Errorf("status %d: %s", code, said)
	}
}

func TestUnusableAccess(t *testing.T) {
	empty := secret(t, "")
	for _, args := range [][]string{
		{"--tls-ca", "/none"}, {"--tls-ca", empty}, {"--tls-cert", empty}, {"--tls-key", empty}, {"--sasl", "PLAIN"},
		{"--sasl", "PLAIN", "--sasl-user", "alice"}, {"--sasl", "PLAIN", "--sasl-user", "alice", "--sasl-password-file", empty},
		{"--sasl", "GSSAPI", "--sasl-user", "alice", "--sasl-password-file", secret(t, "x")}, {"--sasl-password-file", empty},
	} {
		for _, command := range [][]string{{"bench", "run"}, {"bench", "verify"}, {"topic", "list"}} {
			var errs bytes.Buffer
			if code := (&app{stderr: &errs}).run(t.Context(), append(command, args...)); code != statusUsage || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("%v %v: status %d: %s", command, args, code, errs.String())
			}
		}
	}
}
