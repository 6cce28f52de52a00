package node

import "runtime/debug"

// Version is the module's version that the binary was built from; "(devel)" for a build from a checkout without tags.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
