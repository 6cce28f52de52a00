package member

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/hashicorp/memberlist"
)

// keyBytes is the length of a key: AES-256.
const keyBytes = 32

// openKeyring reads the keyring of a node that has one, else makes one of the key. Nil without an error: there is neither.
// The file, serf's own form, is a list of keys in base64 of which the first encrypts.
func (a *Agent) openKeyring(path, key string) (*memberlist.Keyring, error) {
	keys, err := readKeyring(path)
	switch {
	case err != nil:
		return nil, err
	case len(keys) == 0 && key == "":
		return nil, nil
	case len(keys) == 0:
		keys = []string{key}
		if err := writeKeyring(path, keys); err != nil {
			return nil, err
		}
	case key != "" && key != keys[0]:
		a.log.told(slog.LevelWarn, "ringmill.gossip.key is not the key that the keyring encrypts with; the keyring counts", path, "keyring", path)
	}
	return newKeyring(keys)
}

func newKeyring(keys []string) (*memberlist.Keyring, error) {
	decoded := make([][]byte, len(keys))
	for i, k := range keys {
		var err error
		if decoded[i], err = base64.StdEncoding.DecodeString(k); err != nil || len(decoded[i]) != keyBytes {
			return nil, fmt.Errorf("gossip key %d is not %d bytes in base64", i+1, keyBytes)
		}
	}
	return memberlist.NewKeyring(decoded, decoded[0])
}

func readKeyring(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
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

// writeKeyring puts the file there whole or not at all. It need not outlive a power cut: the key is in the configuration still.
func writeKeyring(path string, keys []string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// RotateKey has all nodes encrypt with a new key, given in base64, and forget the old ones: installed everywhere first, then
// used, then alone. A node that is away keeps the old key and has to be given the new one, its keyring removed. An error
// leaves both keys in force, and the call can be repeated.
func (a *Agent) RotateKey(key string) error {
	if _, err := newKeyring([]string{key}); err != nil {
		return err
	}
	if !a.serf.EncryptionEnabled() {
		return errors.New("gossip is not encrypted: start the nodes with ringmill.gossip.key")
	}
	manager := a.serf.KeyManager()
	if _, err := manager.InstallKey(key); err != nil {
		return fmt.Errorf("new gossip key not installed everywhere: %w", err)
	}
	if _, err := manager.UseKey(key); err != nil {
		return fmt.Errorf("new gossip key not in use everywhere: %w", err)
	}
	listed, err := manager.ListKeys()
	if err != nil {
		return fmt.Errorf("gossip keys not known of every node: %w", err)
	}
	for old := range listed.Keys {
		if old == key {
			continue
		}
		if _, err := manager.RemoveKey(old); err != nil {
			return fmt.Errorf("old gossip key not removed everywhere: %w", err)
		}
	}
	return nil
}
