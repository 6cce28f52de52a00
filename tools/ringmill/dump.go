package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

func (a *app) dumpCommand() *cobra.Command {
	var opt segment.DumpOptions
	var dirs segment.DumpDirOptions
	cmd := &cobra.Command{
		Use:   "dump FILE|DIRECTORY...",
		Short: "Show what segment files hold, and check them, or whole logs",
		Long: `Show what files of a log directory hold, a line for each thing, as Kafka's DumpLogSegments prints it, and check checksums,
offsets and indexes. A file's kind is told by its name: .log, .index, .timeindex, .txnindex, .snapshot,
leader-epoch-checkpoint, partition.metadata, the offset checkpoints, and ringmill's journals. A node's part of the metadata quorum
is shown whole, by the name of its directory.

Of a partition's directory, or of a log directory with all that are in it, each log is checked as a whole, with a line for each: every
batch and record, that no offset is missing or comes twice, within a segment or between two, that leader epochs and transactions are what
their files say, and that all files are there. Where a log was compacted, here (cleaner-offset-checkpoint) or as --compacted says, offsets
may be missing. With --live a node may write meanwhile, or have been killed: the end of a log may be torn, for its journal has it.

No node need run. What is wrong with a file is told among its lines, and makes the exit status 1.`,
		Example: `  ringmill dump data/logs/logs-0/00000000000000000000.log
  ringmill dump --data data/logs/logs-0/*.log
  ringmill dump --data data/state/quorum
  ringmill dump data/logs/logs-0                                     one log, checked as a whole
  ringmill dump -o json data/logs | jq 'select(.problems > 0)'       all logs of a log directory
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
	flags.BoolVar(&dirs.Compacted, "compacted", false, "of directories: offsets may be missing in all logs, as followers of compacted ones have it")
	flags.BoolVar(&dirs.Live, "live", false, "of directories: a node has them open, or did not stop cleanly")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		opt.JSON, dirs.JSON = a.output == outputJSON, a.output == outputJSON
		if (dirs.Compacted || dirs.Live) && !slices.ContainsFunc(files, isLogDir) {
			return wrongUse(cmd, "--compacted and --live have no effect without a directory of logs")
		}
		if (opt.Records || opt.Data) && slices.ContainsFunc(files, isLogDir) {
			return wrongUse(cmd, "--records and --data are for files, and for a part of a metadata quorum: name the files in a directory of logs")
		}
		return a.dump(cmd, files, opt, dirs)
	}
	return cmd
}

// dump goes on to the next file after one that is damaged or cannot be read.
func (a *app) dump(cmd *cobra.Command, files []string, opt segment.DumpOptions, dirs segment.DumpDirOptions) error {
	w := bufio.NewWriter(a.stdout)
	problems, failures := 0, []error(nil)
	for _, name := range files {
		show := segment.Dump
		switch {
		case isQuorumDir(name):
			show = dumpQuorum
		case isLogDir(name):
			show = func(w io.Writer, fs segment.FS, dir string, _ segment.DumpOptions) (int, error) {
				return segment.DumpDir(w, fs, named(dir), dirs)
			}
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

// isLogDir tells other directories, which are a partition's or a log directory, or nothing that can be dumped.
func isLogDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() && !isQuorumDir(name)
}

// named is a directory by its own name, which says which partition's it is: of . and .. that is not in the name.
func named(dir string) string {
	dir = filepath.Clean(dir)
	if base := filepath.Base(dir); base == "." || base == ".." {
		if whole, err := filepath.Abs(dir); err == nil {
			return whole
		}
	}
	return dir
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
		return wrongUse(cmd, "%s: no log directory, and none of a partition or of a metadata quorum", name)
	}
	return wrongUse(cmd, "%s: %w", name, segment.ErrDumpKind)
}
