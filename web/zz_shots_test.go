package web_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

func TestShots(t *testing.T) {
	spec := os.Getenv("SHOTS")
	if spec == "" {
		t.Skip()
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))...)
	defer stop()
	ctx, stop2 := chromedp.NewContext(alloc)
	defer stop2()
	for _, line := range strings.Split(strings.TrimSpace(spec), "\n") {
		var name, url, scheme string
		var w, h int64
		fmt.Sscan(line, &name, &url, &w, &h, &scheme)
		tctx := ctx
		if c := os.Getenv("COOKIE"); c != "" {
			_, err := chromedp.Call(tctx, network.SetCookie, network.SetCookieParams{Name: "slotkeeper_session", Value: c, URL: url})
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := chromedp.Call(tctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if err == nil {
			err = chromedp.Do(tctx, chromedp.EmulateViewport(w, h), chromedp.Navigate(url))
		}
		if err != nil {
			t.Fatal(line, err)
		}
		wide, err := chromedp.Run(tctx, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
		if err != nil {
			t.Fatal(line, err)
		}
		buf, _ := chromedp.Run(tctx, chromedp.CaptureScreenshot())
		if os.Getenv("AXE") != "" {
			src, _ := os.ReadFile("/tmp/w/axe/package/axe.min.js")
			if _, err := chromedp.Run(tctx, chromedp.Evaluate[bool](string(src)+";true")); err != nil {
				t.Fatal(err)
			}
			out, err := chromedp.Run(tctx, chromedp.Evaluate[string](`axe.run(document,{runOnly:["wcag2a","wcag2aa","wcag21a","wcag21aa","wcag22aa","best-practice"]}).then(r=>r.violations.map(v=>v.id+" ("+v.impact+"): "+v.nodes.slice(0,3).map(n=>n.html.slice(0,160)+" | "+n.failureSummary.slice(0,250)).join(" ;; ")).join("\n"))`, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			if out != "" {
				t.Errorf("%s:\n%s", line, out)
			}
		}
		if wide > w {
			who, _ := chromedp.Run(tctx, chromedp.Evaluate[string](fmt.Sprintf(`[...document.querySelectorAll("main *, header *")].filter(e=>e.getBoundingClientRect().right>%d+1).slice(0,4).map(e=>e.tagName+"."+e.className).join(" ; ")`, w)))
			t.Errorf("%s: %d wide in %d: %s", line, wide, w, who)
		}
		if name != "-" {
			os.WriteFile("/tmp/w/"+name+".png", buf, 0o644)
		}
	}
}
