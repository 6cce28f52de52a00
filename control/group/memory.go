package group

// fits reports whether growth more bytes are within the bound.
func (c *Coordinator) fits(growth int64) bool { return c.memory.Fits(c.memoryBytes, growth) }

// tellMemory lets the other coordinators know what this one takes.
func (c *Coordinator) tellMemory() {
	if c.phase != phaseLoading {
		c.memory.Tell(c.memoryBytes)
	}
}
