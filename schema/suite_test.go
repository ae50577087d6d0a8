package schema

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pb33f/jsonschema/v6"
)

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []suiteCase
}

type suiteCase struct {
	Description string
	Data        json.RawMessage
	Valid       bool
}

// ownGroups are in the official suite's form and always run: each draft's
// spelling of what Check takes, with what it must leave alone.
var ownGroups = map[*jsonschema.Draft]string{
	jsonschema.Draft2020: `[
	 {"description":"prefixItems and items","schema":{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}},"tests":[
	  {"description":"first of the prefix, then items","data":[1,"a"],"valid":true},{"description":"wrong rest","data":[1,2],"valid":false}]},
	 {"description":"$ref with siblings","schema":{"$ref":"#/$defs/s","maxLength":2,"$defs":{"s":{"type":"string"}}},"tests":[
	  {"description":"both hold","data":"ab","valid":true},{"description":"the sibling fails","data":"abc","valid":false}]},
	 {"description":"format is an annotation","schema":{"format":"email"},"tests":[{"description":"no mail","data":"x","valid":true}]},
	 {"description":"unevaluatedProperties alone","schema":{"properties":{"a":true},"unevaluatedProperties":false},"tests":[
	  {"description":"known","data":{"a":1},"valid":true},{"description":"unknown","data":{"b":1},"valid":false}]}]`,
	jsonschema.Draft2019: `[
	 {"description":"items list","schema":{"items":[{"type":"integer"}],"additionalItems":false},"tests":[
	  {"description":"fits","data":[1],"valid":true},{"description":"too long","data":[1,2],"valid":false}]},
	 {"description":"format is an annotation","schema":{"format":"date"},"tests":[{"description":"no date","data":"x","valid":true}]}]`,
	jsonschema.Draft7: `[
	 {"description":"siblings of $ref are ignored","schema":{"properties":{"a":{"$ref":"#/definitions/s","maxLength":2}},"definitions":{"s":{"type":"string"}}},"tests":[
	  {"description":"longer than the ignored sibling","data":{"a":"abc"},"valid":true},{"description":"wrong type","data":{"a":1},"valid":false}]},
	 {"description":"format is an annotation","schema":{"type":"string","format":"regex"},"tests":[{"description":"no regex","data":"(","valid":true}]},
	 {"description":"if","schema":{"if":{"required":["a"]},"then":{"required":["b"]}},"tests":[
	  {"description":"then holds","data":{"a":1,"b":1},"valid":true},{"description":"then fails","data":{"a":1},"valid":false},{"description":"no else","data":{},"valid":true}]}]`,
	jsonschema.Draft6: `[
	 {"description":"exclusiveMinimum is a number","schema":{"exclusiveMinimum":0},"tests":[
	  {"description":"above","data":1,"valid":true},{"description":"at","data":0,"valid":false}]},
	 {"description":"format is an annotation","schema":{"format":"ipv4"},"tests":[{"description":"no address","data":"x","valid":true}]}]`,
	jsonschema.Draft4: `[
	 {"description":"exclusiveMinimum is a boolean","schema":{"minimum":0,"exclusiveMinimum":true},"tests":[
	  {"description":"above","data":1,"valid":true},{"description":"at","data":0,"valid":false}]},
	 {"description":"const is unknown","schema":{"const":1},"tests":[{"description":"ignored","data":2,"valid":true}]}]`,
}

// TestSuite holds Explain and Check against the JSON Schema organisation's test
// suite where CALLGATE_SCHEMA_SUITE names a checkout of it, and always against
// ownGroups.
func TestSuite(t *testing.T) {
	root := os.Getenv("CALLGATE_SCHEMA_SUITE")
	for _, run := range []struct {
		dir   string
		draft *jsonschema.Draft
		cases int // mandatory tests at revision 44401e0
	}{
		{"draft2020-12", jsonschema.Draft2020, 1299},
		{"draft2019-09", jsonschema.Draft2019, 1259},
		{"draft7", jsonschema.Draft7, 927},
		{"draft6", jsonschema.Draft6, 0},
		{"draft4", jsonschema.Draft4, 0},
	} {
		t.Run(run.dir, func(t *testing.T) {
			var own []suiteGroup
			if err := json.Unmarshal([]byte(ownGroups[run.draft]), &own); err != nil {
				t.Fatal(err)
			}
			runGroups(t, "own", own, setup{draft: run.draft})
			if root == "" || run.cases == 0 {
				return
			}
			with := setup{draft: run.draft, resources: suiteRemotes(t, filepath.Join(root, "remotes"), run.dir)}
			files, err := filepath.Glob(filepath.Join(root, "tests", run.dir, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			var sum tally
			for _, f := range files {
				raw, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				var groups []suiteGroup
				if err := json.Unmarshal(raw, &groups); err != nil {
					t.Fatal(err)
				}
				sum.add(runGroups(t, filepath.Base(f), groups, with))
			}
			if sum.cases != run.cases {
				t.Errorf("ran %d cases, the suite has %d", sum.cases, run.cases)
			}
			t.Logf("%d cases; of %d valid ones Check is sure of %d (%.0f %%)", sum.cases, sum.valid, sum.fast, 100*float64(sum.fast)/float64(sum.valid))
		})
	}
}

type tally struct{ cases, valid, fast int }

func (t *tally) add(u tally) {
	t.cases += u.cases
	t.valid += u.valid
	t.fast += u.fast
}

func runGroups(t *testing.T, file string, groups []suiteGroup, with setup) (sum tally) {
	for _, g := range groups {
		s, err := compile(g.Schema, with)
		if err != nil {
			t.Errorf("%s: %s: %v", file, g.Description, err)
			continue
		}
		for _, c := range g.Tests {
			sum.cases++
			found, err := s.Explain(c.Data)
			if err != nil {
				t.Errorf("%s: %s: %s: %v", file, g.Description, c.Description, err)
				continue
			}
			if valid := len(found) == 0; valid != c.Valid {
				t.Errorf("%s: %s: %s: Explain says valid=%t\nschema %s\ndata %s\n%v", file, g.Description, c.Description, valid, g.Schema, c.Data, found)
			}
			sure := s.Check(c.Data)
			if sure && !c.Valid {
				t.Errorf("%s: %s: %s: Check says valid\nschema %s\ndata %s", file, g.Description, c.Description, g.Schema, c.Data)
			}
			if c.Valid {
				sum.valid++
				if sure {
					sum.fast++
				}
			}
		}
	}
	return sum
}

// suiteRemotes are the documents that the suite expects at localhost:1234, for
// the engine to find without a loader.
func suiteRemotes(t *testing.T, dir, draft string) map[string]any {
	t.Helper()
	found := map[string]any{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".json" {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if top, _, nested := strings.Cut(rel, "/"); nested && (strings.HasPrefix(top, "draft") || top == "v1") && top != draft {
			return nil
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			return err
		}
		found["http://localhost:1234/"+rel] = doc
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
