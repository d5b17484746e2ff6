package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/go-analyze/charts"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// deliveryChart shows how much came in each part of a time, as bars and as a table
// with the same numbers.
type deliveryChart struct {
	Name    string // a message's key's end
	Picture template.HTML
	Rows    []chartRow
	Series  []chartSeries
	Total   int
}

// chartRow is one bar.
type chartRow struct {
	Label  string // as it stands under the bar
	Full   string // with its date, and its zone where that matters
	At     time.Time
	Counts []int // by series
}

// chartSeries is what is told apart by colour; Class gives it.
type chartSeries struct {
	Name  string // a message's key's end
	Class string
	Count int
}

// What a chart tells apart, from the ground up: what is well, what came again, what is
// still worked on, what somebody may look at, and what somebody must.
var chartSets = []struct {
	name     string
	statuses []booking.ReceiptStatus
}{
	{"settled", []booking.ReceiptStatus{booking.StatusProcessed, booking.StatusUnchanged, booking.StatusIgnored}},
	{"copies", []booking.ReceiptStatus{booking.StatusDuplicate}},
	{"open", []booking.ReceiptStatus{booking.StatusWaiting, booking.StatusPending}},
	{"refused", []booking.ReceiptStatus{booking.StatusRejected, booking.StatusConflict}},
	{"failed", []booking.ReceiptStatus{booking.StatusFailed, booking.StatusDead}},
}

func newDeliveryChart(name string, begins []time.Time, counts []map[booking.ReceiptStatus]int, who viewer) (deliveryChart, error) {
	c := deliveryChart{Name: name}
	for i, set := range chartSets {
		c.Series = append(c.Series, chartSeries{Name: set.name, Class: fmt.Sprintf("series-%d", i)})
	}
	d := who.language.dates
	for i, begin := range begins {
		row := chartRow{At: begin, Counts: make([]int, len(chartSets))}
		on := calendar.DateOf(begin, who.zone)
		if name == "day" {
			row.Label, row.Full = d.time(begin.In(who.zone)), d.shortDay(on)+", "+d.time(begin.In(who.zone))+" "+zoneName(begin.In(who.zone))
		} else {
			row.Label, row.Full = fmt.Sprintf("%d %s", on.Day, d.shortMonths[on.Month-1]), d.shortDay(on)
		}
		for j, set := range chartSets {
			for _, status := range set.statuses {
				row.Counts[j] += counts[i][status]
			}
			c.Series[j].Count += row.Counts[j]
			c.Total += row.Counts[j]
		}
		c.Rows = append(c.Rows, row)
	}
	if c.Total == 0 {
		return c, nil
	}
	picture, err := c.draw(who.language)
	if err != nil {
		return c, fmt.Errorf("web: the chart of deliveries: %w", err)
	}
	c.Picture = picture
	return c, nil
}

// The colours that the library draws with are names only: each becomes a class, and
// the style sheet says how it looks in light and dark.
const (
	inkText = iota + 1
	inkLine
	inkAxis
	inkSeries
)

// inkNames are how the style sheet calls those that are no series'; what is drawn in
// none of ours is not drawn.
var inkNames = map[int]string{0: "none", inkText: "text", inkLine: "line", inkAxis: "axis"}

func ink(n int) charts.Color { return charts.Color{R: 1, G: 2, B: uint8(n), A: 255} } //nolint:gosec // they are few

// chartWidth and chartHeight are the picture's own measures; the page scales it.
const (
	chartWidth  = 640
	chartHeight = 200
	chartText   = 9
)

// draw has the bars drawn by the library, as SVG.
func (c deliveryChart) draw(l *language) (template.HTML, error) {
	theme := charts.ThemeOption{
		AxisStrokeColor: ink(inkAxis), AxisSplitLineColor: ink(inkLine), TextColor: ink(inkText),
		BackgroundColor: charts.ColorTransparent,
	}
	values := make([][]float64, len(c.Series))
	labels := make([]string, len(c.Rows))
	most := 0
	for i, row := range c.Rows {
		// From now backwards, evenly.
		if (len(c.Rows)-1-i)%labelEvery(len(c.Rows)) == 0 {
			labels[i] = row.Label
		}
		sum := 0
		for j, n := range row.Counts {
			values[j] = append(values[j], float64(n))
			sum += n
		}
		most = max(most, sum)
	}
	for i := range c.Series {
		theme.SeriesColors = append(theme.SeriesColors, ink(inkSeries+i))
	}
	painter := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: chartHeight, Theme: charts.MakeTheme(theme),
	})
	step := stepOf(most)
	err := painter.BarChart(charts.BarChartOption{
		Padding:     charts.Box{Top: 8, Left: 4, Right: 8, Bottom: 4, IsSet: true},
		SeriesList:  charts.NewSeriesListBar(values),
		StackSeries: charts.Ptr(true),
		Legend:      charts.LegendOption{Show: charts.Ptr(false)},
		CategoryAxis: charts.CategoryAxisOption{
			Labels: labels, LabelCount: len(labels), LabelFontStyle: charts.FontStyle{FontSize: chartText},
		},
		ValueAxis: []charts.ValueAxisOption{{
			Min: charts.Ptr(0.0), Max: charts.Ptr(float64(step * chartSteps)), LabelCount: chartSteps + 1, LabelFontStyle: charts.FontStyle{FontSize: chartText},
			ValueFormatter: func(v float64) string { return l.number(int(v)) },
		}},
	})
	if err != nil {
		return "", err
	}
	svg, err := painter.Bytes()
	if err != nil {
		return "", err
	}
	return restyle(svg)
}

// labelEvery is how many bars have a label between them, so that half a dozen stand
// under them all.
func labelEvery(bars int) int { return max(bars/6, 1) }

// chartSteps are the lines across a chart.
const chartSteps = 4

// stepOf is a round number of deliveries, of which so many steps are room enough.
func stepOf(most int) int {
	for unit := 1; ; unit *= 10 {
		for _, n := range []int{1, 2, 5} {
			if n*unit*chartSteps >= most {
				return n * unit
			}
		}
	}
}

// restyle takes the styles out of an SVG, which the content security policy forbids,
// and puts classes in their place: a colour of ours is one, and what is stroked,
// filled or written says so. Whatever is not drawing is left out.
func restyle(svg []byte) (template.HTML, error) {
	var out bytes.Buffer
	d := xml.NewDecoder(bytes.NewReader(svg))
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return template.HTML(out.String()), nil //nolint:gosec // made here, of escaped values
		}
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			out.WriteString("<" + t.Name.Local)
			if depth == 1 {
				fmt.Fprintf(&out, ` class="chart" viewBox="0 0 %d %d" aria-hidden="true" focusable="false"`, chartWidth, chartHeight)
			}
			for _, a := range t.Attr {
				name, value := a.Name.Local, a.Value
				switch {
				case depth == 1 || a.Name.Space != "":
					continue
				case name == "style":
					name, value = "class", classesOf(value)
				}
				out.WriteString(" " + name + `="` + template.HTMLEscapeString(value) + `"`)
			}
			out.WriteString(">")
		case xml.EndElement:
			depth--
			out.WriteString("</" + t.Name.Local + ">")
		case xml.CharData:
			out.WriteString(template.HTMLEscapeString(strings.TrimSpace(string(t))))
		}
	}
}

// classesOf turns "stroke:rgb(1,2,3);fill:none" into the classes that say the same.
func classesOf(style string) string {
	var out []string
	for _, rule := range strings.Split(style, ";") {
		property, value, _ := strings.Cut(rule, ":")
		switch property {
		case "stroke", "fill":
			if n := inkOf(value); n >= inkSeries {
				out = append(out, fmt.Sprintf("%s-series-%d", property, n-inkSeries))
			} else {
				out = append(out, property+"-"+inkNames[n])
			}
		}
	}
	return strings.Join(out, " ")
}

// inkOf is which ink a colour is, 0 for one that is none of ours.
func inkOf(colour string) int {
	for n := inkText; n < inkSeries+len(chartSets); n++ {
		if colour == ink(n).String() {
			return n
		}
	}
	return 0
}
