package apitest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"slotkeeper/providers"
)

// Trouble is what an API does instead of answering.
type Trouble string

// The troubles that can be switched on.
const (
	Healthy Trouble = ""
	// Limited answers 429, as past the limits.
	Limited Trouble = "limited"
	// Spent answers rightly, and says in the header that it was the last request
	// of its window (Limits.Told).
	Spent Trouble = "spent"
	// Blocked answers 403 with a page: a layer in front of the API that limits.
	Blocked Trouble = "blocked"
	// Unauthorized, Forbidden and Missing answer 401, 403 and 404 in the API's JSON.
	Unauthorized Trouble = "unauthorized"
	Forbidden    Trouble = "forbidden"
	Missing      Trouble = "missing"
	// Broken and Unavailable answer 500 and 503.
	Broken      Trouble = "broken"
	Unavailable Trouble = "unavailable"
	// NotHere answers 404 with the page of something in front.
	NotHere Trouble = "not here"
	// Slow answers rightly, after a while; Hanging never answers.
	Slow    Trouble = "slow"
	Hanging Trouble = "hanging"
	// Unheard does what it is asked and never answers.
	Unheard Trouble = "unheard"
	// Garbage answers 200 with what is no JSON, Misshapen with JSON of something
	// else, Cut with the beginning of a JSON text, Endless without end.
	Garbage   Trouble = "garbage"
	Misshapen Trouble = "misshapen"
	Cut       Trouble = "cut"
	Endless   Trouble = "endless"
	// Dropped closes the connection without an answer.
	Dropped Trouble = "dropped"
	// Elsewhere redirects to another host.
	Elsewhere Trouble = "elsewhere"
	// Halfway answers rightly until something was deleted, and from then on 500 to
	// what would make something: what is replaced is gone, and not replaced.
	Halfway Trouble = "halfway"
)

// slowness is how long a slow answer takes.
const slowness = 3 * time.Second

// maxLog bounds the record of requests.
const maxLog = 200_000

// Limits of an API, in its own time. Zero means none.
type Limits struct {
	PerSecond   float64
	Burst       int
	Connections int
	// Requests in a window of Per, for each Who; nil counts all together. Block is
	// how long whoever asks for more is refused; 0 is until the window's end.
	Requests int
	Per      time.Duration
	Block    time.Duration
	Who      func(*http.Request) string
	// Told has every answer say what is left of the window, in headers of that
	// name: CalendlyHeaders, CalcomHeaders.
	Told string
	// Header are sent with every 429.
	Header http.Header
}

// Front is what stands in front of an API: it counts, limits and fails, and lets
// the rest through.
type Front struct {
	api    http.Handler
	limits Limits
	tempo  providers.Tempo
	now    func() time.Time
	// text is the API's own body of an error.
	text   func(status int) string
	tokens *rate.Limiter

	server *http.Server
	url    string
	ctx    context.Context // of the server's life, for what hangs
	end    context.CancelFunc

	mu      sync.Mutex
	trouble Trouble
	only    string // the path that has the trouble; "" is every one
	deleted bool   // something, since the trouble was set
	open    int
	most    int
	log     []Request
	windows map[string]window // by who asks
}

// Request is one that came.
type Request struct {
	At     time.Time
	Method string
	Path   string
	Who    string // as Limits.Who tells
	Status int    // 0 when it got none
}

// NewFront puts itself before an API. text is the API's body of an error.
func NewFront(api http.Handler, limits Limits, tempo providers.Tempo, now func() time.Time, text func(status int) string) *Front {
	f := &Front{api: api, limits: limits, tempo: tempo, now: now, text: text, windows: map[string]window{}}
	if limits.PerSecond > 0 {
		f.tokens = rate.NewLimiter(rate.Limit(tempo.Rate(limits.PerSecond)), max(limits.Burst, 1))
	}
	f.ctx, f.end = context.WithCancel(context.Background())
	return f
}

// Start serves on loopback, at an address that URL tells, until Close.
func (f *Front) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f.url = "http://" + listener.Addr().String()
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := f.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.end() // nothing is served any more, and callers see that
		}
	}()
	return nil
}

// URL is where it serves, without a path.
func (f *Front) URL() string { return f.url }

// Close ends it, and with it what hangs.
func (f *Front) Close() error {
	f.end()
	if f.server == nil {
		return nil
	}
	return f.server.Close()
}

// Set switches a trouble on or, with Healthy, off, for requests that begin from
// now on. With a path only requests whose path has it in it are troubled.
func (f *Front) Set(t Trouble, only ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble, f.only, f.deleted = t, strings.Join(only, ""), false
}

// Requests are all that came, in order.
func (f *Front) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Request(nil), f.log...)
}

// Count is how many requests came with that in their path.
func (f *Front) Count(part string) int {
	n := 0
	for _, r := range f.Requests() {
		if strings.Contains(r.Path, part) {
			n++
		}
	}
	return n
}

// Busiest is the largest number of requests that came within one second of the
// API's time.
func (f *Front) Busiest() int {
	all, from, most := f.Requests(), 0, 0
	for to := range all {
		for all[to].At.Sub(all[from].At) >= f.tempo.Wait(time.Second) {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// MostConnections is the largest number of requests that were open at once.
func (f *Front) MostConnections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// ServeHTTP takes a request in, and notes what became of it.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i, open := f.arrive(r)
	noted := &statusWriter{ResponseWriter: w}
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.open--
		if i < len(f.log) {
			f.log[i].Status = noted.status
		}
	}()
	spent := f.spent(w.Header(), f.who(r))
	if f.over(open) || spent {
		f.limited(noted)
		return
	}
	f.mu.Lock()
	trouble := f.trouble
	if !strings.Contains(r.URL.Path, f.only) {
		trouble = Healthy
	}
	f.mu.Unlock()
	f.serve(noted, r, trouble)
}

func (f *Front) arrive(r *http.Request) (index, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open++
	f.most = max(f.most, f.open)
	if len(f.log) < maxLog {
		f.log = append(f.log, Request{At: f.now(), Method: r.Method, Path: r.URL.Path, Who: f.who(r)})
	}
	return len(f.log) - 1, f.open
}

func (f *Front) over(open int) bool {
	return f.limits.Connections > 0 && open > f.limits.Connections || f.tokens != nil && !f.tokens.Allow()
}

func (f *Front) limited(w http.ResponseWriter) {
	for name, values := range f.limits.Header {
		w.Header()[name] = values
	}
	f.fail(w, http.StatusTooManyRequests)
}

func (f *Front) fail(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(f.text(status))) // a client that left
}

const page = "<html><head><title>%s</title></head><body>%s</body>\n</html>\n"

func (f *Front) page(w http.ResponseWriter, status int) {
	name := http.StatusText(status)
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(strings.Replace(strings.Replace(page, "%s", strconv.Itoa(status)+" "+name, 1), "%s", name, 1))) // a client that left
}

func (f *Front) serve(w *statusWriter, r *http.Request, trouble Trouble) {
	switch trouble {
	case Healthy:
		f.answer(w, r)
	case Slow:
		f.wait(r.Context(), f.tempo.Wait(slowness))
		f.answer(w, r)
	case Hanging:
		f.wait(r.Context(), 0)
	case Unheard:
		f.api.ServeHTTP(unsent{http.Header{}}, r)
		f.wait(r.Context(), 0)
	case Limited:
		f.tellSpent(w.Header())
		f.limited(w)
	case Spent:
		f.tellSpent(w.Header())
		f.answer(w, r)
	case Blocked:
		f.page(w, http.StatusForbidden)
	case NotHere:
		f.page(w, http.StatusNotFound)
	case Unauthorized:
		f.fail(w, http.StatusUnauthorized)
	case Forbidden:
		f.fail(w, http.StatusForbidden)
	case Missing:
		f.fail(w, http.StatusNotFound)
	case Broken:
		f.fail(w, http.StatusInternalServerError)
	case Unavailable:
		f.fail(w, http.StatusServiceUnavailable)
	case Elsewhere:
		http.Redirect(w, r, "http://elsewhere.invalid"+r.URL.Path, http.StatusFound)
	case Garbage, Misshapen, Cut, Endless:
		f.wrong(w, r, trouble)
	case Dropped:
		panic(http.ErrAbortHandler)
	case Halfway:
		f.halfway(w, r)
	}
}

func (f *Front) halfway(w *statusWriter, r *http.Request) {
	f.mu.Lock()
	f.deleted = f.deleted || r.Method == http.MethodDelete
	broken := f.deleted && r.Method == http.MethodPost
	f.mu.Unlock()
	if broken {
		f.fail(w, http.StatusInternalServerError)
		return
	}
	f.answer(w, r)
}

func (f *Front) answer(w *statusWriter, r *http.Request) {
	f.api.ServeHTTP(w, r)
	if w.status == 0 {
		w.status = http.StatusOK // as net/http answers for whoever writes nothing
	}
}

var wrongAnswers = map[Trouble]string{
	Garbage:   "OK\x00\xff<br>",
	Misshapen: `{"id":1,"status":"ok","resource":{"uri":"https://api.calendly.com/users/1"},"canceled":"no"}`,
	Cut:       `{"id":1841200301,"canceled":fal`,
}

// wrong answers 200 with what nobody asked for.
func (f *Front) wrong(w http.ResponseWriter, r *http.Request, trouble Trouble) {
	w.Header().Set("Content-Type", "application/json")
	if answer, ends := wrongAnswers[trouble]; ends {
		_, _ = w.Write([]byte(answer)) // a client that left
		return
	}
	chunk := []byte(`{"a":"` + strings.Repeat("a", 64<<10))
	for r.Context().Err() == nil && f.ctx.Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// wait is until the time has passed, or for ever when there is none. When nobody
// waits any more it ends the request, for returning would answer it.
func (f *Front) wait(ctx context.Context, d time.Duration) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-f.ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// unsent takes an answer that nobody gets.
type unsent struct{ header http.Header }

func (u unsent) Header() http.Header       { return u.header }
func (unsent) Write(b []byte) (int, error) { return len(b), nil }
func (unsent) WriteHeader(int)             {}
