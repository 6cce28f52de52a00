//go:build !invariants

package group

// checkEverything: the build tag invariants has every call end with a recount of everything.
const checkEverything = false
