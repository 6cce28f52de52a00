package world

import "time"

// Process is something that runs, stops, and may run again: a node or a client.
type Process struct {
	world *World
	name  string
	place int // in the network

	life     uint64 // counts starts
	running  bool
	paused   bool
	deferred []func() // what was due while paused, in order
}

// NewProcess gives a process that does not run yet. place is where it is in the network.
func (w *World) NewProcess(name string, place int) *Process {
	return &Process{world: w, name: name, place: place}
}

// Name is what traces call it.
func (p *Process) Name() string { return p.name }

// Running says that it was started and not ended; a paused process runs too.
func (p *Process) Running() bool { return p.running }

// Paused says that it is stopped by SIGSTOP or its like.
func (p *Process) Paused() bool { return p.paused }

// Life counts starts: what belongs to an earlier one is nobody's.
func (p *Process) Life() uint64 { return p.life }

// Start begins a life.
func (p *Process) Start() {
	if p.running {
		panic("BUG: a process is started twice")
	}
	p.life++
	p.running, p.paused, p.deferred = true, false, nil
}

// End ends the life: what it had asked for does not happen.
func (p *Process) End() { p.running, p.paused, p.deferred = false, false, nil }

// Pause lets nothing happen in the process until Resume; what is due meanwhile happens then, in order.
func (p *Process) Pause() { p.paused = p.running }

// Resume ends a Pause.
func (p *Process) Resume() {
	if !p.paused {
		return
	}
	p.paused = false
	deferred, life := p.deferred, p.life
	p.deferred = nil
	for _, fn := range deferred {
		p.world.After(0, func() { p.run(life, fn) })
	}
}

// After calls fn once d has passed, unless the process's life has ended by then.
func (p *Process) After(d time.Duration, fn func()) {
	life := p.life
	p.world.After(d, func() { p.run(life, fn) })
}

func (p *Process) run(life uint64, fn func()) {
	switch {
	case !p.running || p.life != life:
	case p.paused:
		p.deferred = append(p.deferred, fn)
	default:
		p.world.Mix(uint64(p.place), p.life)
		fn()
	}
}

// Every calls fn each d, first after a part of d that phase says, as long as the life lasts.
func (p *Process) Every(d, phase time.Duration, fn func()) {
	var again func()
	again = func() {
		p.After(d, again)
		fn()
	}
	p.After(phase, again)
}
