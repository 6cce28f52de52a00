// Package page writes results of ringmill bench as pages for a browser: one file each, with its style and its plots in it.
//
// A page asks for nothing: no script, no font, no picture, which its Content-Security-Policy says to the browser too. What a plot shows
// stands in a table as well, and has words in the plot for who cannot see it.
//
//	bench.Report ─▶ run ─▶ sections ┬▶ chart ─▶ <svg class=wide>, <svg class=narrow>   one of them is shown, by the page's width
//	                                └▶ table                                            so that letters have their size on both
//
// Plots are drawn here and not by a library: gonum's adds 11 MB to the binary (measured), and its SVG has neither titles nor colours that
// follow the reader's choice of dark or light.
//
// # Invariants
//
//   - P1 the same result makes the same bytes (testdata/*.html).
//   - P2 colour alone tells nothing: lines differ in their strokes, verdicts in their words.
//   - P3 a page's size has a bound whatever the length of the run: seconds are taken together (pointsMax, rowsMax).
package page
