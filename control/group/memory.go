package group

// Memory is what the coordinators of one owner may take together: one group may be as large as all of them, and all groups
// together are not larger. It has the coordinators' owner.
type Memory struct {
	used, max int64 // bytes
}

// NewMemory makes a bound of so many bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max} }

// fits reports whether growth more bytes are within the bound.
func (c *Coordinator) fits(growth int64) bool {
	return c.cfg.Memory.used+c.memoryBytes-c.sharedBytes+growth <= c.cfg.Memory.max
}

// shareMemory tells the other coordinators what this one takes. One that reads its log is not their owner's yet, and what the
// log says has to be kept whatever it takes.
func (c *Coordinator) shareMemory() {
	if c.phase == phaseLoading {
		return
	}
	c.cfg.Memory.used += c.memoryBytes - c.sharedBytes
	c.sharedBytes = c.memoryBytes
}
