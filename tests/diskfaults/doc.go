// Package diskfaults breaks the disks of clusters of three under load: real processes, real file systems, and tools/ringcheck judges what
// clients saw and what is on the disks in the end.
//
//	load ──▶ three nodes, each on a disk of its own where that is to be broken
//	            │ power cut of one or all · full or failed disk · flipped bits, at rest and while the node runs
//	            │ a device that lies about its syncs, fails writes and syncs, or is slow (tests/faultfs)
//	            ▼
//	         whole again: all replicas in sync, nothing lacking ──▶ … ──▶ verdict, and one line in the ledger
//
// What must hold: no acknowledged record is lost or doubled, no wrong byte is served, a damaged replica is mended from its leader, and in
// the end all replicas have the same bytes.
//
//	RINGMILL_TEST_CUTS     power cuts of a campaign (make soak-disk: 100)
//	RINGMILL_TEST_FLIPS    bits that flip in it (make soak-disk: 1000)
//	RINGMILL_TEST_DEVICES  faults of a device in it (make soak-disk: 60)
//
// Without them each kind happens once or twice.
package diskfaults
