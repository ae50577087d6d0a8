package journal

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
)

// A shape is what a database consists of: the definition of each table, index and
// trigger by its name.
type shape map[string]string

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func shapeOf(ctx context.Context, q queryer) (shape, error) {
	rows, err := q.QueryContext(ctx, `SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	s := shape{}
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		s[name] = definition
	}
	return s, rows.Err()
}

// rightShape is the shape of a journal of the newest format.
var rightShape = sync.OnceValues(func() (shape, error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, m := range migrations {
		if _, err := c.ExecContext(ctx, m); err != nil {
			return nil, err
		}
	}
	return shapeOf(ctx, c)
})

// checkShape names what was added, taken away or changed of the tables: an index that
// is gone lets two rows have one place, a trigger changes rows by itself.
func checkShape(ctx context.Context, q queryer) error {
	right, err := rightShape()
	if err != nil {
		return err
	}
	found, err := shapeOf(ctx, q)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(right)) {
		switch got, ok := found[name]; {
		case !ok:
			return &Broken{0, name + " of the database is gone"}
		case got != right[name]:
			return &Broken{0, name + " of the database was changed"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, ok := right[name]; !ok {
			return &Broken{0, name + " was added to the database"}
		}
	}
	return nil
}
