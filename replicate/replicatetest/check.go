package replicatetest

import "fmt"

// CheckPrefixes holds invariant I5: what consumers see of two nodes that are up is the same, wherever both have it. And a part of I12:
// each node's epoch cache says of every record the epoch that it has.
func CheckPrefixes(nodes []*Node) error {
	seen := make(map[int64]Record)
	for _, n := range nodes {
		if n.Down {
			continue
		}
		records, err := n.Records(n.Partition.HighWatermark())
		if err != nil {
			return fmt.Errorf("replicatetest: node %d: %w", n.ID, err)
		}
		for _, r := range records {
			if epoch := n.Log.EpochAt(r.Offset); epoch != r.Epoch {
				return fmt.Errorf("I12: node %d has %v, and epoch %d there in its epoch cache", n.ID, r, epoch)
			}
			if other, known := seen[int64(r.Offset)]; known && other != r {
				return fmt.Errorf("I5: node %d has %v, another has %v", n.ID, r, other)
			}
			seen[int64(r.Offset)] = r
		}
	}
	return nil
}
