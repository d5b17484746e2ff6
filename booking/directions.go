package booking

import "strings"

// Directions are the characters that turn the direction of what stands after them,
// or say where that ends. In somebody's name they would turn what is written beside
// it, and can make a text read as another than it is: nothing that people look at
// shows them.
func Directions() []string {
	return []string{"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}
}

var straight = func() *strings.Replacer {
	var pairs []string
	for _, d := range Directions() {
		pairs = append(pairs, d, "\uFFFD")
	}
	return strings.NewReplacer(pairs...)
}()

// Straight shows those characters of a text for what they are.
func Straight(text string) string { return straight.Replace(text) }
