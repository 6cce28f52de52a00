package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

func (a *app) dumpCommand() *cobra.Command {
	var opt segment.DumpOptions
	cmd := &cobra.Command{
		Use:   "dump FILE|DIRECTORY...",
		Short: "Show what segment files hold, and check them",
		Long: `Show what files of a log directory hold, a line for each thing, as Kafka's DumpLogSegments prints it, and check checksums,
offsets and indexes. A file's kind is told by its name: .log, .index, .timeindex, .txnindex, .snapshot,
leader-epoch-checkpoint, partition.metadata, the offset checkpoints, and ringmill's journals. A node's part of the metadata quorum
is shown whole, by the name of its directory.

No node need run. What is wrong with a file is told among its lines, and makes the exit status 1.`,
		Example: `  ringmill dump data/logs/logs-0/00000000000000000000.log
  ringmill dump --data data/logs/logs-0/*.log
  ringmill dump --data data/state/quorum
  ringmill dump -o json --records data/logs/logs-0/*.log | jq 'select(.type == "record") | .offset'`,
		GroupID: groupRecords,
		Args:    arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opt.Records, "records", false, "with each record of each batch")
	flags.BoolVar(&opt.Data, "data", false, "with each record's key and value")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		opt.JSON = a.output == outputJSON
		return a.dump(cmd, files, opt)
	}
	return cmd
}

// dump goes on to the next file after one that is damaged or cannot be read.
func (a *app) dump(cmd *cobra.Command, files []string, opt segment.DumpOptions) error {
	w := bufio.NewWriter(a.stdout)
	problems, failures := 0, []error(nil)
	for _, name := range files {
		show := segment.Dump
		if isQuorumDir(name) {
			show = dumpQuorum
		}
		n, err := show(w, osfs.FS{}, name, opt)
		problems += n
		switch {
		case errors.Is(err, segment.ErrDumpKind):
			failures = append(failures, noDumpKind(cmd, name))
		case err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", name, cause(err)))
		}
	}
	if problems > 0 {
		failures = append(failures, fmt.Errorf("problems found: %d", problems))
	}
	return errors.Join(w.Flush(), errors.Join(failures...))
}

// isQuorumDir tells a quorum's directory from others. One without its identity file, which no node starts with, is told by its
// name.
func isQuorumDir(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(name, "identity"))
	return err == nil || filepath.Base(name) == quorum.DirName
}

func dumpQuorum(w io.Writer, fs segment.FS, dir string, opt segment.DumpOptions) (problems int, err error) {
	var line []byte
	var failed error
	problems, err = quorum.Dump(fs, dir, opt.Data, func(l quorum.DumpLine) {
		if line = l.AppendText(line[:0]); opt.JSON {
			line = l.AppendJSON(line[:0])
		}
		if failed == nil {
			_, failed = w.Write(line)
		}
	})
	return problems, errors.Join(err, failed)
}

// noDumpKind says why a file whose name tells no kind cannot be dumped.
func noDumpKind(cmd *cobra.Command, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, cause(err))
	case info.IsDir():
		return wrongUse(cmd, "%s: a directory that is no part of a metadata quorum: name the files in it", name)
	}
	return wrongUse(cmd, "%s: %w", name, segment.ErrDumpKind)
}
