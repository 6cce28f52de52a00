package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
)

// rowChart is a plot of rows, one below the other, each with its name over a bar along a common axis.
type rowChart struct {
	id          string
	title, desc string
	x           axis
	rows        []row
	// mark is where a line across all rows is; none if it is NaN.
	mark float64
}

// row is a bar from one value of the axis to another, with a dot at a third if that is a number.
type row struct {
	name         string
	style        int
	from, to, at float64
}

// A row has its name's letters and its bar below each other.
const (
	rowHeight, rowBar = 36.0, 10.0
	rowMargin         = 24.0
)

func (c *rowChart) svg() template.HTML {
	height := marginTop + float64(len(c.rows))*rowHeight + marginBottom
	return c.draw(sheet{"wide", wide.width, height}) + c.draw(sheet{"narrow", narrow.width, height})
}

func (c *rowChart) draw(on sheet) template.HTML {
	d := newDrawing(on, c.id, c.title, c.desc)
	x := func(v float64) float64 {
		return rowMargin + min(max(c.x.scale.at(v), 0), 1)*(on.width-2*rowMargin)
	}
	bottom := on.height - marginBottom
	var taken [][2]float64
	for _, t := range c.x.scale.ticks() {
		at := x(t.value)
		fmt.Fprintf(d, `<path class="grid" d="M%.1f %.1fV%.1f"/>`, at, bottom, marginTop)
		half := float64(len([]rune(t.label)))*labelRoom/2 + 2
		from, to := at-half, at+half
		if from < 0 || to > on.width || slices.ContainsFunc(taken, func(o [2]float64) bool { return from < o[1] && o[0] < to }) {
			continue
		}
		d.text("tick x", at, bottom+16, t.label)
		taken = append(taken, [2]float64{from, to})
	}
	d.text("label", on.width/2, on.height-6, c.x.label)
	if !math.IsNaN(c.mark) {
		fmt.Fprintf(d, `<path class="mark" d="M%.1f %.1fV%.1f"/>`, x(c.mark), bottom, marginTop)
	}
	for i, r := range c.rows {
		top := marginTop + float64(i)*rowHeight
		d.text("row", rowMargin, top+14, r.name)
		fmt.Fprintf(d, `<rect class="part s%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, r.style%stylesMax, x(r.from), top+20, max(x(r.to)-x(r.from), 1), rowBar)
		if !math.IsNaN(r.at) {
			fmt.Fprintf(d, `<circle class="dot hollow s%d" cx="%.1f" cy="%.1f" r="4"/>`, r.style%stylesMax, x(r.at), top+20+rowBar/2)
		}
	}
	return d.close()
}

// ratios is a logarithmic scale around 1.
type ratios struct{ low, high float64 } // logarithms

// newRatios makes one that has room for 1 and what is between least and most.
func newRatios(least, most float64) ratios {
	low, high := math.Log(min(least, 1/1.05)), math.Log(max(most, 1.05))
	room := (high - low) / 20
	return ratios{low - room, high + room}
}

func (s ratios) at(v float64) float64 { return (math.Log(v) - s.low) / (s.high - s.low) }

func (s ratios) ticks() (all []tick) {
	all = append(all, tick{1, "1"}) // which is what all is about: its label comes before others that lie near
	for _, v := range []float64{0.01, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.5, 2, 5, 10, 100} {
		if at := s.at(v); at >= 0 && at <= 1 {
			all = append(all, tick{v, fmt.Sprintf("%.4g", v)})
		}
	}
	return all
}
