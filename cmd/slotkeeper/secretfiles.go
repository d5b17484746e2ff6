package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// maxSecretFile is more than any secret of ours: a wrong path must not fill the
// memory.
const maxSecretFile = 64 << 10

// secret is a setting that is better not in an environment, which others on the
// machine may list: it may stand in a file instead, whose path is in the variable of
// its name and _FILE. Container engines and systemd hand secrets over so.
func (c *config) secret(getenv func(string) string, name string) string {
	value, path := getenv("SLOTKEEPER_"+name), getenv("SLOTKEEPER_"+name+"_FILE")
	if path == "" {
		return value
	}
	if value != "" {
		c.problems = append(c.problems, fmt.Errorf("SLOTKEEPER_%s: it is given twice: also as a file", name))
		return ""
	}
	text, err := readSecretFile(path)
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("SLOTKEEPER_%s_FILE: %w", name, err))
	}
	return text
}

// readSecretFile reads the first line of a file, of which there is one: editors and
// echo end it.
func readSecretFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxSecretFile {
		return "", fmt.Errorf("%s is too long for a secret", path)
	}
	b, err := os.ReadFile(path) //nolint:gosec // whoever runs the program names its files
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(b), "\r\n")
	switch {
	case text == "":
		return "", fmt.Errorf("%s is empty", path)
	case strings.ContainsAny(text, "\r\n"):
		return "", errors.New("the file has several lines")
	}
	return text, nil
}
