package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/callgate/callgate/internal/yamlfile"
	"github.com/callgate/callgate/schema"
)

// consistent checks what the schema of the file cannot say: that the schemas of
// commands compile, that names are unique, that keys have pointers.
func (f *File) consistent() error {
	var faults []*yamlfile.Error
	names := map[string]int{}
	for i, c := range f.Commands {
		at := fmt.Sprintf("/commands/%d", i)
		if first, taken := names[c.Name]; taken {
			faults = append(faults, f.doc.Fault(at+"/name", "the tool %q is already declared at %s", c.Name, f.Where(fmt.Sprintf("/commands/%d/name", first))))
		} else {
			names[c.Name] = i
		}
		for key, raw := range map[string][]byte{"inputSchema": c.InputSchema, "outputSchema": c.OutputSchema} {
			if len(raw) == 0 {
				continue
			}
			if _, err := schema.Compile(raw); err != nil {
				faults = append(faults, f.doc.Fault(at+"/"+key+pathOf(err), "%s of %s: %v", key, c.Name, err))
			}
		}
		for j, a := range c.Access {
			if _, err := parseKey(a.Key); err != nil {
				faults = append(faults, f.doc.Fault(fmt.Sprintf("%s/access/%d/key", at, j), "%v", err))
			}
		}
		for j, kind := range c.Repair {
			if !contains(schema.RepairKinds(), kind) {
				faults = append(faults, f.doc.Fault(fmt.Sprintf("%s/repair/%d", at, j), "%q is not one of %s", kind, strings.Join(schema.RepairKinds(), ", ")))
			}
		}
		if _, err := c.timeout(); err != nil {
			faults = append(faults, f.doc.Fault(at+"/timeout", "%v", err))
		}
		faults = append(faults, c.Confine.consistent(f.doc, at)...)
		if strings.TrimSpace(c.Command[0]) == "" {
			faults = append(faults, f.doc.Fault(at+"/command/0", "the program has no name"))
		}
	}
	faults = append(faults, f.Confine.consistent(f.doc, "")...)
	for i, p := range f.Journal.Redact {
		switch re, err := regexp.Compile(p); {
		case err != nil:
			faults = append(faults, f.doc.Fault(fmt.Sprintf("/journal/redact/%d", i), "%v", err))
		case re.MatchString(""):
			faults = append(faults, f.doc.Fault(fmt.Sprintf("/journal/redact/%d", i), "the pattern matches the empty text, and so everywhere"))
		}
	}
	return yamlfile.Join(faults)
}
