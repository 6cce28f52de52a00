package eos

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/load"
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

// valueBytes lets some hundred transactions fill a segment.
const valueBytes = 600

// encode is a record's value.
func encode(process, counter uint32) []byte { return load.Value(process, counter, valueBytes) }

// decode gives offset, process and counter.
func decode(r *kgo.Record) ([]int64, error) {
	name, err := load.Name(r, valueBytes)
	if err != nil {
		return nil, err
	}
	return []int64{int64(name[0]), int64(name[1]), int64(name[2])}, nil
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
