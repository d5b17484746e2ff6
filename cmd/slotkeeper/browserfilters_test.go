package main

import (
	"net/http"
	"strings"

	"github.com/chromedp/chromedp"
)

// A filtered list is an address: loaded anew, or opened by somebody else, who has to
// sign in first, it shows the same.

// sharesFilters sets every filter of every list.
func (b *browser) sharesFilters(paths []string) {
	b.t.Helper()
	other := b.beside()
	for i, path := range paths {
		b.open(path, http.StatusOK)
		want := eval[string](b, setFilters)
		b.click(filterForm + ` button:not([type=button])`)
		if got := eval[string](b, filterState); got != want {
			b.t.Errorf("%s: asked for\n%s\nand got\n%s", path, want, got)
		}
		shown := eval[string](b, listShown)
		address, _, _ := strings.Cut(strings.TrimPrefix(b.location(), b.url), "#")
		b.open(address, http.StatusOK)
		b.showsFiltered(address, want, shown)
		if i == 0 {
			other.entersBy(address)
		} else {
			other.open(address, http.StatusOK)
		}
		other.showsFiltered(address, want, shown)
	}
}

// entersBy opens an address that was passed on: after signing in it is there.
func (b *browser) entersBy(address string) {
	b.t.Helper()
	b.open(address, http.StatusOK)
	b.isAt("/signin")
	b.must(chromedp.SendKeys(chromedp.ID("username"), "admin"), chromedp.SendKeys(chromedp.ID("password"), adminPassword))
	b.click("main button")
	if at := strings.TrimPrefix(b.location(), b.url); at != address {
		b.t.Errorf("signed in, the browser is at %s, not at %s", at, address)
	}
}

func (b *browser) showsFiltered(address, want, shown string) {
	b.t.Helper()
	if got := eval[string](b, filterState); got != want {
		b.t.Errorf("%s has the filters\n%s\nnot\n%s", address, got, want)
	}
	if got := eval[string](b, listShown); got != shown {
		b.t.Errorf("%s shows\n%s\nnot\n%s", address, got, shown)
	}
}

const filterForm = `main form[method=get]`

// filterState is what is chosen, and listShown what comes of it.
const (
	filterState = `JSON.stringify([...document.querySelectorAll('` + filterForm + ` :is(input:not([type=hidden]), select)')].map(e => [e.name, e.type === "checkbox" ? e.checked : e.value]))`
	listShown   = `document.querySelector("main").innerText`
)

// setFilters chooses otherwise in every control, and answers what is chosen then.
const setFilters = `(() => {
	for (const e of document.querySelectorAll('` + filterForm + ` :is(input:not([type=hidden]), select)')) {
		if (e.type === "checkbox") e.checked = !e.checked;
		else if (e.type === "search") e.value = "visit";
		else if (e.name === "range") e.value = "all";
		else if (e.tagName === "SELECT" && e.options.length > 1) e.selectedIndex = e.selectedIndex === 1 ? 2 : 1;
	}
	return ` + filterState + `;
})()`
