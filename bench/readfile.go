package bench

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of at most some bytes. A longer one, a device without an end among them, is an error, and no more of it is held. Other errors are
// those of os.Open and of reading.
func ReadFile(path string, most int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if len(text) > most {
		return nil, fmt.Errorf("%s: more than %d bytes", path, most)
	}
	return text, err
}
