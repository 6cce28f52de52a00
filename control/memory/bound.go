// Package memory bounds what the coordinators of one owner take together: one of them may take as much as all, and all
// together take no more than that.
package memory

// Bound is how much that is. It has the coordinators' owner.
type Bound struct {
	used, max int64 // bytes
}

// NewBound makes a bound of so many bytes.
func NewBound(max int64) *Bound { return &Bound{max: max} }

// Used is what is known to be taken, in bytes.
func (b *Bound) Used() int64 { return b.used }

// Account is what one coordinator takes of a Bound. The others know of it what it was last told.
type Account struct {
	bound *Bound
	told  int64 // bytes
}

// Account opens an account that takes nothing.
func (b *Bound) Account() Account { return Account{bound: b} }

// Fits reports whether growth more bytes are within the bound for a coordinator that takes so many now.
func (a *Account) Fits(taken, growth int64) bool {
	return a.bound.used+taken-a.told+growth <= a.bound.max
}

// Tell says what the coordinator takes now. One that reads its log is not its owner's yet and tells nothing: what the log says has
// to be kept, whatever it takes.
func (a *Account) Tell(taken int64) {
	a.bound.used += taken - a.told
	a.told = taken
}
