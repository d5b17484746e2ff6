package store

// SealedColumns are all that a change of the key seals anew, for a test that none
// is forgotten.
func SealedColumns() []string {
	var out []string
	for _, t := range sealedTables {
		for _, column := range t.columns {
			out = append(out, t.name+"."+column)
		}
	}
	return out
}
