package config

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configuration.md from the table")

const referencePage = "../../docs/configuration.md"

func TestReferencePage(t *testing.T) {
	var want bytes.Buffer
	if err := WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(referencePage, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/configuration.md is not what the table says: go test ./node/config -run TestReferencePage -update")
	}
}

func TestReferenceNamesEveryProperty(t *testing.T) {
	var page bytes.Buffer
	if err := WriteReference(&page); err != nil {
		t.Fatal(err)
	}
	for _, p := range Properties() {
		if !p.Internal && !strings.Contains(page.String(), "`"+p.Name+"`") {
			t.Errorf("%s is not on the page", p.Name)
		}
	}
}
