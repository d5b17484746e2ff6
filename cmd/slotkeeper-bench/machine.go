package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// describeMachine says on what was measured, and how busy it was before.
func describeMachine(ctx context.Context, w io.Writer) {
	kernel := "an unknown kernel"
	if out, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		kernel = strings.TrimSpace(string(out))
	}
	memory := "unknown"
	if kib, err := strconv.ParseInt(strings.TrimSuffix(fieldOf("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		memory = fmt.Sprintf("%.0f GB", float64(kib)/(1<<20))
	}
	model := fieldOf("/proc/cpuinfo", "model name")
	if model == "" {
		model = "unknown"
	}
	fmt.Fprintf(w, "Processor: %s (%s), %d cores. Memory: %s. %s, %s.\n", model, runtime.GOARCH, runtime.NumCPU(), memory, kernel, runtime.Version())
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	if busy, err := busyness(string(b)); err == nil {
		fmt.Fprintf(w, "Load average before the run: %.2f.\n", busy)
		if busy > float64(runtime.NumCPU())/2 {
			fmt.Fprintln(w, "The machine was BUSY: stop whatever else runs, and run it again.")
		}
	}
	fmt.Fprintln(w, "Load generator, server and database share the machine. Measure on a quiet one: no tests, no browser, mains power.")
}

// fieldOf is the first value of a name in a file of the kernel's, "" when there
// is none.
func fieldOf(file, name string) string {
	b, err := os.ReadFile(file) //nolint:gosec // G304: one of /proc
	if err != nil {
		return ""
	}
	return valueOf(string(b), name)
}

func valueOf(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// busyness is the load of the last minute.
func busyness(loadavg string) (float64, error) {
	first, _, _ := strings.Cut(loadavg, " ")
	return strconv.ParseFloat(first, 64)
}
