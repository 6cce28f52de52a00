package bench

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is the machine that the generator ran on: figures mean nothing without it. What cannot be read is empty.
type Host struct {
	Processor   string `json:"processor"`
	Processors  int    `json:"processors"` // that this process may use
	MemoryBytes int64  `json:"memoryBytes"`
	Kernel      string `json:"kernel"`
	// FileSystem is that of the working directory.
	FileSystem string `json:"fileSystem"`
	Governor   string `json:"governor"`
	Go         string `json:"go"`
	Version    string `json:"version"`
	Revision   string `json:"revision"` // of the source, with + if it was changed
}

// ReadHost describes this machine.
func ReadHost() Host {
	h := Host{Processors: clientCores(), Go: runtime.Version()}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	h.Processor = fieldOf(cpu, "model name")
	memory, _ := os.ReadFile("/proc/meminfo")
	h.MemoryBytes = statusBytes(memory, "MemTotal:")
	governor, _ := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	h.Governor = strings.TrimSpace(string(governor))
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	h.FileSystem = fileSystemOf(".")
	h.Version, h.Revision = buildOf()
	return h
}

// fieldOf is the value of the first line "name : value".
func fieldOf(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if key, value, found := bytes.Cut(line, []byte(":")); found && strings.TrimSpace(string(key)) == name {
			return strings.TrimSpace(string(value))
		}
	}
	return ""
}

// fileSystems are those of statfs(2) that data may lie on.
var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.F2FS_SUPER_MAGIC: "f2fs",
}

func fileSystemOf(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return ""
	}
	return fileSystems[int64(s.Type)]
}

func buildOf() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value + revision
		case s.Key == "vcs.modified" && s.Value == "true":
			revision += "+"
		}
	}
	return info.Main.Version, revision
}
