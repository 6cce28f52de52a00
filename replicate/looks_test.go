package replicate

// UnderMinISR says whether a leader has too few replicas in sync to take produces with acks=all.
func (p *Partition) UnderMinISR() bool { return p.reign != nil && p.reign.underMinISR() }
