package web_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
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
		if wide > w {
			who, _ := chromedp.Run(tctx, chromedp.Evaluate[string](fmt.Sprintf(`[...document.querySelectorAll("main *, header *")].filter(e=>e.getBoundingClientRect().right>%d+1).slice(0,4).map(e=>e.tagName+"."+e.className).join(" ; ")`, w)))
			t.Errorf("%s: %d wide in %d: %s", line, wide, w, who)
		}
		if name != "-" {
			os.WriteFile("/tmp/w/"+name+".png", buf, 0o644)
		}
	}
}
