package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/cli.md from what --help says")

const referencePage = "../../docs/cli.md"

func TestReferencePage(t *testing.T) {
	t.Setenv(bootstrapVariable, "")
	t.Setenv(userVariable, "")
	want := reference(new(app).root())
	if *update {
		if err := os.WriteFile(referencePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/cli.md is not what --help says: go test ./tools/ringmill -run TestReferencePage -update")
	}
}

// Every command that does something tells in its help how, and completes its arguments by itself rather than with files.
func TestCommandsAreComplete(t *testing.T) {
	each(new(app).root(), func(cmd *cobra.Command) {
		switch {
		case cmd.Short == "":
			t.Errorf("%s has no short help", cmd.CommandPath())
		case !cmd.HasSubCommands() && cmd.Example == "":
			t.Errorf("%s has no example in its help", cmd.CommandPath())
		case cmd.Args == nil:
			t.Errorf("%s does not check its arguments", cmd.CommandPath())
		case !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil:
			t.Errorf("%s does not say what completes its arguments", cmd.CommandPath())
		}
	})
}

func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.Name() == "help" || cmd.Name() == "completion" {
		return
	}
	visit(cmd)
	for _, c := range cmd.Commands() {
		each(c, visit)
	}
}

// reference is docs/cli.md: what --help says of every command, in one page.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	writeCommand(&b, root)
	return b.String()
}

const referenceHead = `# Command line

<!-- Written by "go test ./tools/ringmill -run TestReferencePage -update" from what --help says; do not edit. -->

Results go to standard output: text for people, with ` + "`-o json`" + ` one line of JSON for programs. Everything else goes to standard
error, errors as one line that begins with "ringmill:". No command asks a question.

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | it failed: no node answered, or the node refused, or the files are damaged |
| 2 | the command line or the configuration is wrong, and nothing was done |
| 3 | a benchmark says that its figures are not to be believed (docs/bench.md) |

Completion for a shell, with topics and groups asked from the node; bash needs its package bash-completion:

` + "```sh" + `
source <(ringmill completion bash)                                  # this shell
ringmill completion bash > /etc/bash_completion.d/ringmill          # every bash
ringmill completion zsh > "${fpath[1]}/_ringmill"                   # zsh
ringmill completion fish > ~/.config/fish/completions/ringmill.fish # fish
` + "```" + `
`

// writeCommand writes a command and then those below it, in the order that help lists them.
func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n```\n%s\n```\n", cmd.CommandPath(), strings.TrimSpace(helpOf(cmd)))
	for _, c := range cmd.Commands() {
		if c.Name() != "help" && c.Name() != "completion" {
			writeCommand(b, c)
		}
	}
}

func helpOf(cmd *cobra.Command) string {
	var text strings.Builder
	cmd.InitDefaultHelpFlag()
	cmd.SetOut(&text)
	defer cmd.SetOut(nil)
	if err := cmd.Help(); err != nil {
		panic("BUG: " + err.Error()) // a strings.Builder takes everything
	}
	return text.String()
}
