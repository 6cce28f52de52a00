package eos

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/twmb/franz-go/pkg/kgo"
)

// event is one line of a transactional history: see tools/ringcheck.
type event struct {
	Op     string    `json:"op"`
	T0     int64     `json:"t0,omitempty"`
	T1     int64     `json:"t1,omitempty"`
	Proc   uint32    `json:"proc"`
	Txn    uint32    `json:"txn"`
	ID     string    `json:"id,omitempty"`
	Res    string    `json:"res,omitempty"`
	Commit bool      `json:"commit,omitempty"`
	Topic  string    `json:"topic,omitempty"`
	Part   int32     `json:"part"`
	Group  string    `json:"group,omitempty"`
	From   string    `json:"from,omitempty"`
	Offset int64     `json:"offset"`
	Stable *int64    `json:"stable,omitempty"`
	High   *int64    `json:"high,omitempty"`
	End    int64     `json:"end"`
	Recs   [][]int64 `json:"recs,omitempty"`
}

// history is the file of one process. Each line is one write(2), so that kill -9 leaves whatever was told.
type history struct {
	mu   sync.Mutex
	file *os.File
}

func appendHistory(path string) (*history, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &history{file: file}, err
}

func (h *history) add(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic("BUG: history: " + err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.file.Write(append(line, '\n')); err != nil {
		panic("history: " + err.Error()) // nothing that follows could be judged
	}
}

// now is nanoseconds of the machine's monotonic clock, the same in all processes (clock_gettime(2)).
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("BUG: clock_gettime: " + err.Error())
	}
	return ts.Nano()
}

// valueBytes lets some hundred transactions fill a segment.
const valueBytes = 600

// encode is a record's value: process, counter, CRC of all but these 12 bytes, padding.
func encode(process, counter uint32) []byte {
	value := make([]byte, valueBytes)
	binary.BigEndian.PutUint32(value, process)
	binary.BigEndian.PutUint32(value[4:], counter)
	for i := 12; i < len(value); i++ {
		value[i] = byte(counter + uint32(i))
	}
	binary.BigEndian.PutUint32(value[8:], crc32.ChecksumIEEE(value[12:])^process^counter)
	return value
}

// decode gives offset, process and counter.
func decode(r *kgo.Record) ([]int64, error) {
	if len(r.Value) != valueBytes {
		return nil, fmt.Errorf("%s-%d offset %d: %d bytes", r.Topic, r.Partition, r.Offset, len(r.Value))
	}
	process, counter := binary.BigEndian.Uint32(r.Value), binary.BigEndian.Uint32(r.Value[4:])
	if crc32.ChecksumIEEE(r.Value[12:])^process^counter != binary.BigEndian.Uint32(r.Value[8:]) {
		return nil, fmt.Errorf("%s-%d offset %d: the record's bytes have changed", r.Topic, r.Partition, r.Offset)
	}
	return []int64{r.Offset, int64(process), int64(counter)}, nil
}

func decodeAll(records []*kgo.Record) [][]int64 {
	var out [][]int64
	for _, r := range records {
		if r.Attrs.IsControl() {
			continue
		}
		rec, err := decode(r)
		if err != nil {
			panic(err) // the process ends, and its supervisor fails with what it said
		}
		out = append(out, rec)
	}
	return out
}
