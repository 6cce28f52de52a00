package memory

import "testing"

// TestBound: what one account takes is missing to the others once it is told, and comes back.
func TestBound(t *testing.T) {
	b := NewBound(100)
	first, second := b.Account(), b.Account()
	if !first.Fits(0, 100) || first.Fits(0, 101) || first.Fits(60, 41) {
		t.Error("an account alone has all of the bound and no more")
	}
	if !second.Fits(0, 100) {
		t.Error("what is not told counts for others")
	}
	first.Tell(60)
	if !first.Fits(60, 40) || first.Fits(60, 41) || first.Fits(70, 31) || !second.Fits(0, 40) || second.Fits(0, 41) {
		t.Error("60 of 100 bytes are taken, 40 are left to either")
	}
	second.Tell(50) // as after its log was read
	if b.Used() != 110 || first.Fits(60, 0) || !first.Fits(40, 10) {
		t.Errorf("%d bytes are taken of 100, and what is given back does not count", b.Used())
	}
	first.Tell(0)
	if b.Used() != 50 || !second.Fits(50, 50) {
		t.Errorf("%d bytes are taken after 60 came back", b.Used())
	}
}
