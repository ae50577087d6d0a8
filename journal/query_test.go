package journal

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// No query's cost grows with the journal: each walks one index, and sorts nothing.
func TestQueriesAreBounded(t *testing.T) {
	g := newRig(t, Options{}, nil)
	g.submit(1, 2, "read")
	queries := map[string]string{
		"latest": latest, "recovery": openClaims, "owners": openOwners, "turns": turnPage, "approvals": approvalsOf, "head": headRow, "sessions": sessionPage,
	}
	for name, q := range map[string]func(*row) (string, []any){"session": bySession("s"), "tool": byTool("read")} {
		queries[name], _ = q(nil)
		queries[name+", next page"], _ = q(&row{})
	}
	for name, q := range queries {
		if strings.HasPrefix(q, "WHERE") {
			q = `SELECT ` + columns + ` FROM calls ` + q + ` LIMIT 10`
		}
		args := make([]any, strings.Count(q, "?"))
		for i := range args {
			args[i] = 1
		}
		rows, err := g.read.QueryContext(context.Background(), `EXPLAIN QUERY PLAN `+q, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var plan []string
		for rows.Next() {
			var a, b, c int
			var step string
			if err := rows.Scan(&a, &b, &c, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
		}
		rows.Close()
		if name == "head" && slices.Equal(plan, []string{"SCAN chain"}) {
			continue // by its key, from the end, and for one row
		}
		if name == "sessions" { // and counts of what each has
			plan = slices.DeleteFunc(plan[1:], func(step string) bool {
				return strings.HasPrefix(step, "CORRELATED SCALAR SUBQUERY") || strings.HasPrefix(step, "SEARCH") && strings.Contains(step, "INDEX")
			})
			if !slices.Equal(plan, []string{"SCAN calls USING INDEX calls_open"}) {
				t.Errorf("%s: %q", name, plan)
			}
			continue
		}
		if len(plan) != 1 || !strings.Contains(plan[0], "USING INDEX") && !strings.Contains(plan[0], "USING COVERING INDEX") {
			t.Errorf("%s: %q", name, plan)
		}
	}
}
