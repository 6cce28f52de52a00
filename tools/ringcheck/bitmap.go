package main

// pageBits is the number of counters a page holds: a page is 1 KiB, dense senders fill it and a stray counter costs no more.
const pageBits = 8192

// bitmap is a growing set of counters in pages.
type bitmap map[uint32]*[pageBits / 64]uint64

func (b bitmap) set(i uint32) {
	page := b[i/pageBits]
	if page == nil {
		page = new([pageBits / 64]uint64)
		b[i/pageBits] = page
	}
	page[i%pageBits/64] |= 1 << (i % 64)
}

func (b bitmap) has(i uint32) bool {
	page := b[i/pageBits]
	return page != nil && page[i%pageBits/64]&(1<<(i%64)) != 0
}

// senders holds one set of counters a process.
type senders map[uint32]bitmap

func (s senders) add(process, counter uint32) {
	b := s[process]
	if b == nil {
		b = bitmap{}
		s[process] = b
	}
	b.set(counter)
}

func (s senders) has(process, counter uint32) bool { return s[process].has(counter) }
