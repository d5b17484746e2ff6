package web

// generations remember what was asked for lately, of many keys that strangers choose:
// when one generation is full the older is forgotten, so that they cannot fill the
// memory. At most twice maxClients are remembered. The zero value is empty; it is for
// one at a time.
type generations[K comparable, V any] struct {
	recent, older map[K]V
}

// maxClients bounds a generation.
const maxClients = 10_000

// get finds a key's value, or makes it.
func (g *generations[K, V]) get(key K, fresh func() V) V {
	if v, found := g.recent[key]; found {
		return v
	}
	v, found := g.older[key]
	if !found {
		v = fresh()
	}
	if g.recent == nil || len(g.recent) >= maxClients {
		g.older, g.recent = g.recent, map[K]V{}
	}
	g.recent[key] = v
	return v
}
