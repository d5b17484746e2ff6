package booking

import "iter"

// rows is a table as one member of a set sees it: what is stored, under what
// the members before left, under its own writes. Values are whole rows and
// never changed in place: whoever edits one replaces its slices.
type rows[K comparable, V any] struct {
	base map[K]V
	set  map[K]V
	own  map[K]V
}

func newRows[K comparable, V any](base map[K]V) *rows[K, V] {
	return &rows[K, V]{base: base, set: map[K]V{}, own: map[K]V{}}
}

func (r *rows[K, V]) get(k K) (V, bool) {
	if v, ok := r.own[k]; ok {
		return v, true
	}
	if v, ok := r.set[k]; ok {
		return v, true
	}
	v, ok := r.base[k]
	return v, ok
}

func (r *rows[K, V]) put(k K, v V) { r.own[k] = v }

// keep makes the member's writes the set's; drop forgets them.
func (r *rows[K, V]) keep() {
	for k, v := range r.own {
		r.set[k] = v
	}
	clear(r.own)
}

func (r *rows[K, V]) drop() { clear(r.own) }

// changed are the rows that the set wrote.
func (r *rows[K, V]) changed() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range r.set {
			if !yield(k, v) {
				return
			}
		}
	}
}

// all are the rows as the member sees them.
func (r *rows[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i, m := range []map[K]V{r.own, r.set, r.base} {
			for k, v := range m {
				_, own := r.own[k]
				_, set := r.set[k]
				if (i > 0 && own) || (i > 1 && set) {
					continue
				}
				if !yield(k, v) {
					return
				}
			}
		}
	}
}
