//go:build !invariants

package iouring

// invariants is on under the build tag of that name: checks that cost too much for production.
const invariants = false

// shuffle keeps the kernel's order.
func shuffle([]Event) {}
