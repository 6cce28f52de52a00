// Package cluster is a simulated cluster: nodes made of production code, clients, faults and judges. Run is one run of a seed.
//
// # What is real and what is made
//
//	real    control/quorum with etcd's raft, over its files; control/image
//	        segment/segmenttest: synced bytes survive, of the others any page may or may not, or be torn
//	made    the goroutines, rings and connections of a node: *service files, one thread, the least that does what node does
//	        clocks that drift, disks that take their time, the network (package world)
//
// A sync takes a while. What a power cut in the meantime finds is the disk's business: what is synced gets there at the beginning or at
// the end. A node that a fault brings down ends at one of its next operations on the disk, so that a cut comes
// between the write and the sync, or in the middle of a change of names.
//
// # Phases
//
//	safety     clients work, faults strike, all of them drawn before the run begins; what is said and shown is judged at once
//	liveness   everything is healed, nothing new is sent; the cluster must become whole in time (whole)
//	judgement  what is left, beside what was said
//
// # Invariants
//
//   - R1: the quorum has one leader a term.
//   - R2: an index of the quorum's log holds one entry, on all nodes and for good; none is left out, no proposal is there twice.
//   - R3: after an index all nodes have the same image, and every entry fits the image before it.
//   - I13: what the controller answers is linearizable: no block of producer ids is given twice, or out of order in real time.
//   - whole: a healed cluster is whole within Options.Liveness.
//   - fail-stop: no error of a disk without a fault; assertion, panic: none at all.
//
// The numbers are those of tools/ringcheck where both judge the same.
package cluster
