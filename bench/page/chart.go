package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// chart is a plot of lines over two axes.
type chart struct {
	id          string // of the page's elements
	title, desc string // for who cannot see it
	x, y        axis
	lines       []line
	// beyond, if above 0, is from where on x is shaded; marks are where it has upright lines.
	beyond float64
	marks  []float64
	// bare lines have no points marked, however few there are.
	bare bool
}

type axis struct {
	label string
	scale scale
}

// line is drawn through its points, whose x and y are values of the axes; a point whose y is NaN, or not on the scale, leaves a gap. style picks stroke and colour, from 0 to 7.
type line struct {
	name   string
	style  int
	points []point
}

type point struct {
	x, y float64
	// hollow is one that is not to be believed.
	hollow bool
}

// stylesMax is how many styles of lines there are.
const stylesMax = 8

// dotsMax is up to how many points a line has each of them marked.
const dotsMax = 60

// sheet is the size of a drawing; letters have the same size on all.
type sheet struct {
	class         string
	width, height float64
}

// A page shows wide or narrow, by its own width.
var (
	wide   = sheet{"wide", 560, 300}
	narrow = sheet{"narrow", 350, 270}
)

// Margins around the axes, for their labels.
const (
	marginLeft, marginRight = 58.0, 14.0
	marginTop, marginBottom = 12.0, 42.0
)

// svg draws the chart on both sheets.
func (c *chart) svg() template.HTML {
	return c.draw(wide) + c.draw(narrow)
}

func (c *chart) draw(on sheet) template.HTML {
	d := newDrawing(on, c.id, c.title, c.desc)
	if c.beyond > 0 && c.x.scale.at(c.beyond) < 1 {
		from := d.x(c.x.scale.at(c.beyond))
		fmt.Fprintf(d, `<rect class="beyond" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, from, marginTop, d.x(1)-from, d.y(0)-marginTop)
	}
	d.yAxis(c.y)
	d.xAxis(c.x)
	for _, at := range c.marks {
		fmt.Fprintf(d, `<path class="mark" d="M%.1f %.1fV%.1f"/>`, d.x(c.x.scale.at(at)), d.y(0), d.y(1))
	}
	for _, l := range c.lines {
		d.line(c, l)
	}
	return d.close()
}

// drawing is an svg element under way.
type drawing struct {
	strings.Builder
	on sheet
}

func newDrawing(on sheet, id, title, desc string) *drawing {
	d := &drawing{on: on}
	id += "-" + on.class
	fmt.Fprintf(d, `<svg class="%s" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		on.class, on.width, on.height, id, id, id, template.HTMLEscapeString(title), id, template.HTMLEscapeString(desc))
	return d
}

// x and y are where a share of an axis is on the sheet.
func (d *drawing) x(share float64) float64 {
	return marginLeft + share*(d.on.width-marginLeft-marginRight)
}

func (d *drawing) y(share float64) float64 {
	return d.on.height - marginBottom - share*(d.on.height-marginTop-marginBottom)
}

func (d *drawing) close() template.HTML {
	d.WriteString("</svg>\n")
	return template.HTML(d.String())
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, template.HTMLEscapeString(text))
}

func (d *drawing) yAxis(a axis) {
	for _, t := range a.scale.ticks() {
		y := d.y(a.scale.at(t.value))
		fmt.Fprintf(d, `<path class="grid" d="M%.1f %.1fH%.1f"/>`, d.x(0), y, d.x(1))
		d.text("tick y", d.x(0)-6, y+4, t.label)
	}
}

// labelRoom is what a label of the x axis takes at most, for each letter.
const labelRoom = 7.0

func (d *drawing) xAxis(a axis) {
	free := math.Inf(-1)
	for _, t := range a.scale.ticks() {
		x := d.x(a.scale.at(t.value))
		fmt.Fprintf(d, `<path class="grid" d="M%.1f %.1fV%.1f"/>`, x, d.y(0), d.y(1))
		half := float64(len([]rune(t.label))) * labelRoom / 2
		if t.label == "" || x-half < free {
			continue // it has none, or the one before it lies there
		}
		d.text("tick x", x, d.y(0)+16, t.label)
		free = x + half + 4
	}
	d.text("label", (d.x(0)+d.x(1))/2, d.on.height-6, a.label)
}

func (d *drawing) line(c *chart, l line) {
	var path strings.Builder
	var dots []point
	pen := "M"
	for _, p := range l.points {
		if math.IsNaN(p.y) || math.IsInf(p.y, 0) {
			pen = "M"
			continue
		}
		at := point{x: d.x(c.x.scale.at(p.x)), y: d.y(c.y.scale.at(p.y)), hollow: p.hollow}
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, at.x, at.y)
		pen = "L"
		dots = append(dots, at)
	}
	fmt.Fprintf(d, `<path class="line s%d" d="%s"/>`, l.style%stylesMax, path.String())
	if c.bare || len(dots) > dotsMax {
		return
	}
	for _, at := range dots {
		class := "dot"
		if at.hollow {
			class = "dot hollow"
		}
		fmt.Fprintf(d, `<circle class="%s s%d" cx="%.1f" cy="%.1f" r="2.5"/>`, class, l.style%stylesMax, at.x, at.y)
	}
}

// least and most of the lines' y that can be on a logarithmic scale.
func extent(lines []line) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			if p.y > 0 && !math.IsInf(p.y, 0) {
				least, most = min(least, p.y), max(most, p.y)
			}
		}
	}
	return least, most
}

// parts are bars of shares, one below the other on one scale.
type parts struct {
	id          string
	title, desc string
	bars        []bar
}

// bar is the shares of a whole; it has no name if it is alone.
type bar struct {
	name   string
	shares []share
}

// share is a part of a bar, in microseconds.
type share struct {
	name  string
	style int
	us    float64
}

// whole is the sum of the shares, in microseconds, and above 0.
func (b *bar) whole() float64 {
	whole := 1e-9
	for _, s := range b.shares {
		whole += s.us
	}
	return whole
}

// words name the shares with their parts of the whole, for who cannot see the bar.
func (b *bar) words() string {
	var words []string
	for _, s := range b.shares {
		words = append(words, fmt.Sprintf("%s %.1f %%", s.name, s.us/b.whole()*100))
	}
	return strings.Join(words, ", ")
}

// legend names what the bars have, each once.
func (p *parts) legend() (all []entry) {
	for _, b := range p.bars {
		for _, s := range b.shares {
			if e := (entry{s.style, s.name, true}); !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// A bar has its name above it.
const (
	barHeight     = 44.0
	barNameHeight = 20.0
)

func (p *parts) svg() template.HTML {
	height := 0.0
	for _, b := range p.bars {
		if height += barHeight; b.name != "" {
			height += barNameHeight
		}
	}
	return p.draw(sheet{"wide", wide.width, height}) + p.draw(sheet{"narrow", narrow.width, height})
}

func (p *parts) draw(on sheet) template.HTML {
	d := newDrawing(on, p.id, p.title, p.desc)
	most, top := 0.0, 0.0
	for _, b := range p.bars {
		most = max(most, b.whole())
	}
	for _, b := range p.bars {
		if b.name != "" {
			d.text("row", 0, top+15, b.name)
			top += barNameHeight
		}
		at := 0.0
		for _, s := range b.shares {
			width := s.us / most * on.width
			fmt.Fprintf(d, `<rect class="part s%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, s.style, at, top+2, width, barHeight-4)
			at += width
		}
		top += barHeight
	}
	return d.close()
}
