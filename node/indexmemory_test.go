package node

import (
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// The oldest loaded indexes go when there are more than fit; the newest stays, however large it is.
func TestIndexMemoryIsBounded(t *testing.T) {
	gone := &partition{stopped: wire.UnknownTopicOrPartition} // its log must not be touched
	var m indexMemory
	segments := make([]segment.Segment, 5)
	for i := range segments {
		m.add(gone, &segments[i], indexBytesMax/3)
	}
	if len(m.loaded) != 3 || m.bytes > indexBytesMax || m.loaded[0].segment != &segments[2] {
		t.Errorf("%d indexes of %d bytes are kept", len(m.loaded), m.bytes)
	}
	var huge segment.Segment
	m.add(gone, &huge, 2*indexBytesMax)
	if len(m.loaded) != 1 || m.loaded[0].segment != &huge || m.bytes != 2*indexBytesMax {
		t.Errorf("after a huge one %d indexes of %d bytes are kept", len(m.loaded), m.bytes)
	}
}
