// Package faultfs is a file system of the tests' own whose device can be broken.
//
// A [Disk] passes everything on to a folder, by FUSE, and does wrong where it is told to: writes and syncs of some files fail (EIO), syncs take
// long, or a device says that it has synced and has not.
//
//	New ── mounted ──┬─ FailWrites, FailSyncs ───────┬─ Heal
//	                 ├─ Slow ────────────────────────┤
//	                 └─ Lie … the node is killed … Cut ── mounted, without what was written since the lie began
//
// A lie begins with a copy of the files that it is about; Cut gives each of them its bytes of then, and takes away those that were not there.
// Everything is kept before a lie begins, synced or not: tests/powercut is for what a device with an honest flush loses.
//
// The server runs in the test's process. It needs root and /dev/fuse; where they can't be had, New skips the test and says what was missing.
package faultfs
