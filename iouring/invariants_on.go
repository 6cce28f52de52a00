//go:build invariants

package iouring

import "math/rand/v2"

// invariants is on under the build tag of that name: checks that cost too much for production.
const invariants = true

// shuffle puts events into another order that the kernel might have chosen. Accepts stay where they are: the last one's
// being the last means something.
func shuffle(events []Event) {
	rand.Shuffle(len(events), func(i, j int) {
		if events[i].Kind != EventAccept && events[j].Kind != EventAccept {
			events[i], events[j] = events[j], events[i]
		}
	})
}
