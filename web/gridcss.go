package web

import (
	"bytes"
	"fmt"
	"time"
)

// The policy forbids style attributes, so the places of the calendar's grids are
// classes, which set what calendar.css reckons with: tN begins N steps from the
// top, hN is N steps high, cI-N is column I of N. Of a grid abreast-N says that at most
// N things stand side by side in a column of it.
const (
	gridStep  = 5 * time.Minute
	gridSteps = int(25 * time.Hour / gridStep) // the longest day
	// Columns that share a day's width: in a grid of one day there is room for more.
	weekColumns     = 3
	resourceColumns = 2
	dayColumns      = 8
)

func gridCSS() []byte {
	var b bytes.Buffer
	for n := range gridSteps + 1 {
		fmt.Fprintf(&b, ".t%d{--t:%d}.h%d{--h:%d}\n", n, n, n, n)
	}
	for n := 1; n <= dayColumns; n++ {
		fmt.Fprintf(&b, ".abreast-%d{--abreast:%d}\n", n, n)
		for i := range n {
			fmt.Fprintf(&b, ".c%d-%d{--c:%.4f%%;--w:%.4f%%}\n", i, n, float64(i)*100/float64(n), 100/float64(n))
		}
	}
	return b.Bytes()
}

// step is how many steps a duration is, rounded down.
func step(d time.Duration) int { return min(int(d/gridStep), gridSteps) }

func topClass(d time.Duration) string { return fmt.Sprintf("t%d", step(d)) }

func gridClass(top, height time.Duration, column, columns int) string {
	return fmt.Sprintf("t%d h%d c%d-%d", step(top), step(top+height)-step(top), column, columns)
}
