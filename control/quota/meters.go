package quota

import "container/list"

// The bounds of what one kind of quota remembers: some 10 MiB with Kafka's eleven windows, where a share is a Rate.
const (
	metersMax      = 10_000
	metersBytesMax = 4 << 20 // of names: a client id may have 32 KiB
)

// Sizes of what a share takes beside its name, a little more than the structs do.
const (
	meterBytes  = 256
	sampleBytes = 24
)

// MemoryMax is what one kind of quota may remember of clients, in bytes.
func MemoryMax(w Windows) int64 {
	return metersMax*(meterBytes+sampleBytes*int64(w.Count+1)) + metersBytesMax
}

// meterIdleMS is how long an unused share is remembered (ClientQuotaManager.InactiveSensorExpirationTimeSeconds).
const meterIdleMS = 3600 * 1000

// share is a key by which consumption is counted.
type share interface {
	comparable
	bytes() int
}

// meters keeps an M for each share, and forgets those that were used least recently (Q3).
type meters[K share, M any] struct {
	places map[K]*list.Element // of a *meter[K, M]
	recent list.List           // most recently used first
	names  int                 // bytes of the shares' names
}

type meter[K share, M any] struct {
	share  K
	usedMS int64
	value  M
}

// of gives a share's M, a new one if there is none. It is valid until the next of.
func (m *meters[K, M]) of(k K, now int64) *M {
	m.expire(now)
	if at, ok := m.places[k]; ok {
		m.recent.MoveToFront(at)
		found := at.Value.(*meter[K, M])
		found.usedMS = now
		return &found.value
	}
	if m.places == nil {
		m.places = make(map[K]*list.Element)
	}
	fresh := &meter[K, M]{share: k, usedMS: now}
	m.places[k] = m.recent.PushFront(fresh)
	m.names += k.bytes()
	for len(m.places) > metersMax || m.names > metersBytesMax && len(m.places) > 1 {
		m.forgetOldest()
	}
	return &fresh.value
}

// expire forgets what was not used for an hour.
func (m *meters[K, M]) expire(now int64) {
	for m.recent.Len() > 0 && now-m.recent.Back().Value.(*meter[K, M]).usedMS >= meterIdleMS {
		m.forgetOldest()
	}
}

func (m *meters[K, M]) forgetOldest() {
	oldest := m.recent.Remove(m.recent.Back()).(*meter[K, M])
	delete(m.places, oldest.share)
	m.names -= oldest.share.bytes()
}

func (m *meters[K, M]) len() int { return len(m.places) }
