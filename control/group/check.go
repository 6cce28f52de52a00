package group

func (c *Coordinator) check() {}
