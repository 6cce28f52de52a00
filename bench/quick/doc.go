// Package quick says in a minute and a half what a node can do here, and what holds it up.
//
//	limits ─▶ client alone ─▶ capacity ─▶ search ─▶ points at shares of the rate that was found
//	  │            │             │ what node, disk, network and processors did meanwhile
//	  └────────────┴─────────────┴─▶ shares ─▶ bottleneck: the greatest of them, in a sentence
//
// A share is what was used of a limit that was measured, both on this machine and in this run. What could not be measured is in none: nothing
// is guessed. Where no share is near 1, that is the sentence.
package quick
