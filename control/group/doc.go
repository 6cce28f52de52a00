// Package group is the classic group coordinator as a pure state machine: one Coordinator for each __consumer_offsets
// partition.
package group
