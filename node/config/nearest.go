package config

import "slices"

// Nearest returns the candidate that is fewest edits away from s, or "" if none is near enough to be meant.
// Of two as near, the alphabetically first is taken.
func Nearest(s string, candidates []string) string {
	best, bestDistance := "", max(2, len(s)/3)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := editDistance(s, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b
// (optimal string alignment), over bytes: property names are ASCII.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
