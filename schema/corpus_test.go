package schema

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCorpus compiles the input schema of every tool in the catalogues under
// CALLGATE_CORPUS: each compiles or is refused with a reason, and nearly all can
// be answered by Check.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("CALLGATE_CORPUS")
	if dir == "" {
		return // the own shapes are compiled by the other tests
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogues in %s: %v", dir, err)
	}
	tools, refused, fast, whole := 0, 0, 0, 0
	left := map[string]int{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var catalogue struct {
			Tools []struct {
				Name         string
				InputSchema  json.RawMessage
				OutputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &catalogue); err != nil {
			t.Fatal(f, err)
		}
		for _, tool := range catalogue.Tools {
			tools++
			if len(tool.OutputSchema) > 0 {
				if _, err := Compile(tool.OutputSchema); err != nil {
					t.Logf("%s %s: output: %v", filepath.Base(f), tool.Name, err)
				}
			}
			s, err := Compile(tool.InputSchema)
			if err != nil {
				refused++
				t.Logf("%s %s: %v", filepath.Base(f), tool.Name, err)
				continue
			}
			if ok, why := s.Fast(); ok {
				fast++
			} else {
				t.Logf("%s %s: not fast: %s", filepath.Base(f), tool.Name, why)
			}
			if len(s.left) == 0 {
				whole++
			}
			seen := map[string]bool{}
			for _, why := range s.left {
				k, _, _ := strings.Cut(why, " at ")
				if !seen[k] {
					seen[k] = true
					left[k]++
				}
			}
		}
	}
	share := float64(fast) / float64(tools)
	t.Logf("%d tools: %d refused, %.2f %% can be answered by Check, %.2f %% whatever the arguments", tools, refused, 100*share, 100*float64(whole)/float64(tools))
	for _, k := range slices.Sorted(maps.Keys(left)) {
		t.Logf("left to the engine: %s in %d tools", k, left[k])
	}
	if share <= 0.95 {
		t.Errorf("only %.1f %% of the tools are on the fast tier", 100*share)
	}
}
