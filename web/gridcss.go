package web

import (
	"bytes"
	"fmt"
	"time"
)

// The policy forbids style attributes, so the places of the week's grid are
// classes: tN begins N steps from the top, hN is N steps high, cI-N is column I
// of N. app.css says how high a step is. Where the screen is narrow, and on
// paper, app.css makes the week a list instead: the width below is the same there.
const (
	gridStep    = 5 * time.Minute
	gridSteps   = int(25 * time.Hour / gridStep) // the longest day
	gridColumns = 3
)

func gridCSS() []byte {
	var b bytes.Buffer
	b.WriteString("@media screen and (min-width:56.01rem){\n")
	for n := range gridSteps + 1 {
		fmt.Fprintf(&b, ".t%d{top:calc(var(--step)*%d)}.h%d{height:calc(var(--step)*%d)}\n", n, n, n, n)
	}
	for n := 1; n <= gridColumns; n++ {
		for i := range n {
			fmt.Fprintf(&b, ".c%d-%d{left:%.4f%%;width:%.4f%%}\n", i, n, float64(i)*100/float64(n), 100/float64(n))
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// step is how many steps a duration is, rounded down.
func step(d time.Duration) int { return min(int(d/gridStep), gridSteps) }
