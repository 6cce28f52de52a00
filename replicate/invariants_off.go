//go:build !invariants

package replicate

// checkEverything: the build tag invariants has every step end with the costly checks too.
const checkEverything = false
