package store

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/uuid"
	"gorm.io/gorm/schema"
)

// columnKind is what a column holds, in both databases.
type columnKind int

const (
	kindText columnKind = iota
	kindID
	kindTime
	kindBytes
	kindBool
	kindInt
	kindBig
)

// table is how a row type stands in the database. Its columns have the names
// that GORM gives them too.
type table struct {
	name    string
	columns []column
}

type column struct {
	name  string
	field int
	kind  columnKind
}

var tables memo[reflect.Type, *table]

// memo keeps what is made once for each key.
type memo[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]V
}

func (m *memo[K, V]) get(k K, produce func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.made[k]
	if !ok {
		if m.made == nil {
			m.made = map[K]V{}
		}
		v = produce()
		m.made[k] = v
	}
	return v
}

// tableOf is the table of a row type.
func tableOf[R interface{ TableName() string }]() *table {
	t := reflect.TypeFor[R]()
	return tables.get(t, func() *table {
		out := &table{name: (*new(R)).TableName()}
		for i := range t.NumField() {
			f := t.Field(i)
			name := schema.ParseTagSetting(f.Tag.Get("gorm"), ";")["COLUMN"]
			if name == "" {
				name = schema.NamingStrategy{}.ColumnName("", f.Name)
			}
			out.columns = append(out.columns, column{name: name, field: i, kind: kindOfColumn(f.Type)})
		}
		return out
	})
}

func kindOfColumn(t reflect.Type) columnKind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[uuid.UUID]():
		return kindID
	case t == reflect.TypeFor[stamp]():
		return kindTime
	case t == reflect.TypeFor[[]byte]():
		return kindBytes
	case t.Kind() == reflect.Bool:
		return kindBool
	case t.Kind() == reflect.Int:
		return kindInt
	case t.Kind() == reflect.Int64:
		return kindBig
	}
	return kindText
}

// list is the table's columns, each after the prefix.
func (t *table) list(prefix string) string {
	var b strings.Builder
	for i, c := range t.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(prefix + `"` + c.name + `"`)
	}
	return b.String()
}

// values are a row's, in the order of the columns: nil, or the one type of the
// column's kind (uuid.UUID, time.Time, string, []byte, bool, int64).
func (t *table) values(row reflect.Value) ([]any, error) {
	out := make([]any, len(t.columns))
	for i, c := range t.columns {
		f := row.Field(c.field)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		v, err := valueOf(f)
		if err != nil {
			return nil, fmt.Errorf("store: %s.%s: %w", t.name, c.name, err)
		}
		out[i] = v
	}
	return out, nil
}

func valueOf(f reflect.Value) (any, error) {
	switch v := f.Interface().(type) {
	case uuid.UUID:
		return v, nil
	case stamp:
		return v.t, nil
	case []byte:
		if v == nil {
			return nil, nil //nolint:nilnil // null is a value
		}
		return v, nil
	case driver.Valuer:
		return v.Value()
	}
	switch {
	case f.Kind() == reflect.String:
		return f.String(), nil
	case f.Kind() == reflect.Bool:
		return f.Bool(), nil
	case f.CanInt():
		return f.Int(), nil
	}
	return nil, fmt.Errorf("no column holds %s", f.Type())
}

// fill puts a database's values into a row.
func (t *table) fill(row reflect.Value, values []any) error {
	for i, c := range t.columns {
		if err := assign(row.Field(c.field), values[i]); err != nil {
			return fmt.Errorf("store: %s.%s: %w", t.name, c.name, err)
		}
	}
	return nil
}

func assign(f reflect.Value, v any) error {
	if f.Kind() == reflect.Pointer {
		if v == nil {
			f.SetZero()
			return nil
		}
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	if id, ok := v.([16]byte); ok {
		v = id[:]
	}
	if s, ok := f.Addr().Interface().(sql.Scanner); ok {
		return s.Scan(v)
	}
	switch v := v.(type) {
	case string:
		if f.Kind() == reflect.String {
			f.SetString(v)
			return nil
		}
	case []byte:
		if f.Kind() == reflect.Slice {
			f.SetBytes(v)
			return nil
		}
	case bool:
		if f.Kind() == reflect.Bool {
			f.SetBool(v)
			return nil
		}
	case int16, int32, int64:
		n := reflect.ValueOf(v).Int()
		switch {
		case f.CanInt():
			f.SetInt(n)
			return nil
		case f.Kind() == reflect.Bool:
			f.SetBool(n != 0)
			return nil
		}
	case nil:
		if f.Kind() == reflect.Slice {
			f.SetZero()
			return nil
		}
	}
	return fmt.Errorf("a column holds %T, not %s", v, f.Type())
}
