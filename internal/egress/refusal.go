package egress

import (
	"errors"
	"fmt"
)

// A refusal is what the rules of the gate say no to, as opposed to what failed.
type refusal struct {
	host   string // as the process named it, or nearly
	reason string
	fix    string // what a person would do to allow it, "" if nothing would
}

// Error says what was refused, and why and what to do next.
func (r *refusal) Error() string {
	s := "callgate: egress denied: " + r.host + ": " + r.reason
	if r.fix != "" {
		s += "\n" + r.fix
	}
	return s
}

// refuse tells the owner of the gate if err is a refusal, and reports whether it is.
func (g *Gate) refuse(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	if ok && g.OnRefused != nil {
		g.OnRefused(r.host, r.reason)
	}
	return ok
}

// notAllowed is the refusal of a host that no pattern names.
func notAllowed(t target) *refusal {
	return &refusal{t.String(), "no pattern allows it",
		fmt.Sprintf("to allow it: --allow-host %s, or %q in the list egress.allow under sandbox in callgate.yaml", t, t)}
}

// malformed is the refusal of what is not the name of a host.
func malformed(s string, err error) *refusal {
	return &refusal{quote(s), "it is no host: " + err.Error(), ""}
}
