package replicate

import "github.com/ringmill/ringmill/wire"

// Lack says that the replica may lack what it has promised to keep: its log is damaged, or was lost and begun anew. From here on a
// follower promises nothing (MayFetch). The owner tells the controller of it (Lacking) until that has taken the replica out of the ISR
// and the ELR under a later leader epoch; then nobody counts on what it had, no promise of it that is still on its way counts either,
// and Follow has it mended. A leader leads on meanwhile: nobody else may have what it has.
func (p *Partition) Lack() {
	if !p.lacking {
		p.lacking, p.lackingSince = true, p.leaderEpoch
	}
}

// Lacking is what the controller is to be told: whether the replica lacks something that somebody may count on, and the newest leader
// epoch in which it may have promised it.
func (p *Partition) Lacking() (since wire.LeaderEpoch, lacking bool) {
	return p.lackingSince, p.lacking
}

// mend has a follower cut its log where it is damaged, once nobody counts on it.
func (p *Partition) mend(counted bool, eff *Effects) {
	if !p.lacking || counted || p.leaderEpoch <= p.lackingSince || p.truncating {
		return
	}
	p.lacking = false
	if d := p.log.Damage(); d != nil {
		p.truncate(max(d.Offset, p.log.LogStartOffset()), eff)
	}
}
