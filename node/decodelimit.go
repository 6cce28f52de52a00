package node

import "sync"

// decodeLimit bounds what decoded cold requests may hold: kmsg amplifies a request up to 32 times.
type decodeLimit struct {
	mu   sync.Mutex
	cond *sync.Cond
	used int // bytes of encoded requests
}

func newDecodeLimit() *decodeLimit {
	d := &decodeLimit{}
	d.cond = sync.NewCond(&d.mu)
	return d
}

// decodeBytesMax is the sum of encoded sizes decoded at once, 256 MiB decoded at worst.
const decodeBytesMax = 8 << 20

// begin waits until a request of so many bytes may be decoded. One that is larger than the bound is decoded alone.
func (d *decodeLimit) begin(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.used > 0 && d.used+bytes > decodeBytesMax {
		d.cond.Wait()
	}
	d.used += bytes
}

// end says that what a request was decoded to is not needed any more.
func (d *decodeLimit) end(bytes int) {
	d.mu.Lock()
	d.used -= bytes
	d.mu.Unlock()
	d.cond.Broadcast()
}
