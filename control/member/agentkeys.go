package member

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/hashicorp/memberlist"

	"github.com/ringmill/ringmill/segment"
)

const (
	// keyBytes is the length of a key: AES-256.
	keyBytes = 32
	// keyringName is the file in Config.Dir that holds the keys.
	keyringName = "keyring"
)

// openKeyring reads the keyring of a node that has one, else makes one of the key. Nil without an error: there is neither.
// The file, serf's own form, is a list of keys in base64 of which the first encrypts.
func (a *Agent) openKeyring(fsys segment.FS, path, key string) (*memberlist.Keyring, error) {
	keys, err := readKeyring(fsys, path)
	switch {
	case err != nil:
		return nil, err
	case len(keys) == 0 && key == "":
		return nil, nil
	case len(keys) == 0:
		keys = []string{key}
		if err := writeKeyring(fsys, path, keys); err != nil {
			return nil, err
		}
	case key != "" && key != keys[0]:
		a.log.told(slog.LevelWarn, "ringmill.gossip.key is not the key that the keyring encrypts with; the keyring counts", path, "keyring", path)
	}
	return newKeyring(keys)
}

// Keys are those that an Agent with this configuration takes, the one that it encrypts with first; none where it has none. Nothing is
// written. The error names the keyring that cannot be read, or the key that is none.
func Keys(fsys segment.FS, dir, key string) ([][]byte, error) {
	keys, err := readKeyring(fsys, filepath.Join(dir, keyringName))
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 && key != "" {
		keys = []string{key}
	}
	return decodeKeys(keys)
}

func decodeKeys(keys []string) ([][]byte, error) {
	decoded := make([][]byte, len(keys))
	for i, k := range keys {
		var err error
		if decoded[i], err = base64.StdEncoding.DecodeString(k); err != nil || len(decoded[i]) != keyBytes {
			return nil, fmt.Errorf("gossip key %d is not %d bytes in base64", i+1, keyBytes)
		}
	}
	return decoded, nil
}

func newKeyring(keys []string) (*memberlist.Keyring, error) {
	decoded, err := decodeKeys(keys)
	if err != nil {
		return nil, err
	}
	return memberlist.NewKeyring(decoded, decoded[0])
}

func readKeyring(fsys segment.FS, path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := fsys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys []string
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, fmt.Errorf("%s is no list of keys: %w; remove it to begin again with ringmill.gossip.key", path, err)
	}
	return keys, nil
}

// writeKeyring puts the file there whole or not at all, durably, and with it its directory's own name: from then on the keyring counts, and an
// operator may take the key out of the configuration.
func writeKeyring(fsys segment.FS, path string, keys []string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	if err := fsys.WriteFileAtomic(path, text); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(filepath.Dir(path)))
}
