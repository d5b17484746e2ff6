package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// axeCore is the script of axe-core, which knows most of what can be told by a
// machine of WCAG 2.2. The project does not ship it: .ci/axe-core brings it.
var axeCore = sync.OnceValues(func() (string, error) {
	path, err := exec.Command(filepath.Join(root, ".ci", "axe-core")).Output()
	if err != nil {
		return "", fmt.Errorf("axe-core is fetched by .ci/axe-core, which needs the network once: %w %s", err, stderrOf(err))
	}
	script, err := os.ReadFile(strings.TrimSpace(string(path)))
	return string(script), err
})

// axeRules are the rules that count: WCAG 2.2's, A and AA, and what its makers call
// good practice, such as landmarks and the order of headings.
const axeRules = `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}`

// axeLooks are those of them that colours and the width of the screen decide.
const axeLooks = `{type: "rule", values: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]}`

// axeFinding is a rule that a page breaks.
type axeFinding struct {
	ID, Help string
	Nodes    []axeNode
}

type axeNode struct{ HTML, Target, Why string }

// accessible fails the test for whatever axe finds on the page that is open. The
// script comes through the debugger: the page's policy would not let it in.
func (b *browser) accessible(rules string) {
	b.t.Helper()
	if !eval[bool](b, `"axe" in window`) {
		script, err := axeCore()
		must(b.t, err)
		eval[bool](b, script+"\n;true")
	}
	found := eval[[]axeFinding](b, `(async () => {
		const {violations} = await axe.run(document, {runOnly: `+rules+`, resultTypes: ["violations"]});
		return violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.slice(0, 5).map(n => ({HTML: n.html.slice(0, 300), Target: n.target.join(" "), Why: n.failureSummary}))}));
	})()`, chromedp.EvalAwaitPromise)
	for _, f := range found {
		for _, n := range f.Nodes {
			b.t.Errorf("%s breaks %s (%s): %s\n%s\n%s", strings.TrimPrefix(b.location(), b.url), f.ID, f.Help, n.Target, n.HTML, n.Why)
		}
	}
}
