package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

func (a *app) dumpCommand() *cobra.Command {
	var opt segment.DumpOptions
	cmd := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Show what segment files hold, and check them",
		Long: `Show what files of a log directory hold, a line for each thing, as Kafka's DumpLogSegments prints it, and check checksums,
offsets and indexes. A file's kind is told by its name: .log, .index, .timeindex, .txnindex, .snapshot,
leader-epoch-checkpoint, partition.metadata, the offset checkpoints, and ringmill's journals.

No node need run. What is wrong with a file is told among its lines, and makes the exit status 1.`,
		Example: `  ringmill dump data/logs/logs-0/00000000000000000000.log
  ringmill dump --data data/logs/logs-0/*.log
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
		n, err := segment.Dump(w, osfs.FS{}, name, opt)
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

// noDumpKind says why a file whose name tells no kind cannot be dumped.
func noDumpKind(cmd *cobra.Command, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, cause(err))
	case info.IsDir():
		return wrongUse(cmd, "%s: a directory: name the files in it", name)
	}
	return wrongUse(cmd, "%s: %w", name, segment.ErrDumpKind)
}
