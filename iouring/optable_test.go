package iouring

import (
	"testing"
	"unsafe"
)

func TestABISizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"io_uring_sqe", unsafe.Sizeof(sqe{}), 64},
		{"io_uring_sqe.user_data", unsafe.Offsetof(sqe{}.userData), 32},
		{"io_uring_sqe.buf_group", unsafe.Offsetof(sqe{}.bufGroup), 40},
		{"io_uring_cqe", unsafe.Sizeof(cqe{}), 16},
		{"io_uring_getevents_arg", unsafe.Sizeof(getEventsArg{}), 24},
		{"io_uring_buf_reg", unsafe.Sizeof(bufReg{}), 40},
		{"io_uring_buf", unsafe.Sizeof(bufEntry{}), 16},
		{"io_uring_buf.bid", unsafe.Offsetof(bufEntry{}.idTail), 12},
		{"io_uring_rsrc_update", unsafe.Sizeof(rsrcUpdate{}), 16},
		{"io_uring_probe", unsafe.Sizeof(opProbe{}), 16 + 256*8},
		{"cachestat_range and cachestat", unsafe.Sizeof(cachestatArgs{}), 16 + 40},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, the kernel has %d", c.name, c.got, c.want)
		}
	}
}

func TestUserDataPacks(t *testing.T) {
	u := packUserData(EventSync, 0xabcdef, 0x12345678)
	if u.kind() != EventSync || u.generation() != 0xabcdef || u.slot() != 0x12345678 {
		t.Fatalf("%#x: %v %#x %#x", uint64(u), u.kind(), u.generation(), u.slot())
	}
	if u := packUserData(EventRecv, 1<<24, 0); u.generation() != 0 || u.kind() != EventRecv {
		t.Fatalf("the 25th bit of a generation spilt: %#x", uint64(u))
	}
}

// TestSlotGenerations checks that a slot's later tenant is not found under an earlier one's user data.
func TestSlotGenerations(t *testing.T) {
	var table opTable
	first, o := table.add(EventRecvInto, 1, 10)
	o.dst = make([]byte, 8)
	table.remove(first)
	second, o := table.add(EventRecvInto, 2, 11)
	if first.slot() != second.slot() || first == second {
		t.Fatalf("slots %d and %d, user data %#x and %#x: want one slot, two generations", first.slot(), second.slot(), uint64(first), uint64(second))
	}
	if o.dst != nil {
		t.Fatal("the slot kept its former tenant's memory")
	}
	if table.find(first) != nil {
		t.Fatal("found an operation that has ended")
	}
	if got := table.find(second); got == nil || got.token != 2 || got.fd != 11 {
		t.Fatalf("found %+v", got)
	}
	if table.find(packUserData(EventRead, second.generation(), second.slot())) != nil {
		t.Fatal("found an operation of another kind")
	}
	if table.find(packUserData(EventRead, 0, 99)) != nil {
		t.Fatal("found a slot that does not exist")
	}
}

func TestSlotGenerationWraps(t *testing.T) {
	var table opTable
	u, o := table.add(EventRead, 1, 1)
	o.generation = generationMask
	table.remove(packUserData(u.kind(), generationMask, u.slot()))
	next, _ := table.add(EventRead, 1, 1)
	if next.generation() != 0 || table.find(next) == nil {
		t.Fatalf("generation %d after the last", next.generation())
	}
}

func TestLateCompletionPanics(t *testing.T) {
	var table opTable
	u, _ := table.add(EventRead, 1, 1)
	table.remove(u)
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	table.mustFind(u)
}

func TestSlotsAreReused(t *testing.T) {
	var table opTable
	for range 100 {
		var held []userData
		for i := range 10 {
			u, _ := table.add(EventRecv, Token(i), i)
			held = append(held, u)
		}
		for _, u := range held {
			table.remove(u)
		}
	}
	if len(table.ops) != 10 || table.live != 0 {
		t.Fatalf("%d slots, %d live", len(table.ops), table.live)
	}
}
