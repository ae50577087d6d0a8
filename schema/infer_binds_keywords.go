package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bindKeywords are those of one subschema that say something about binding. Rest holds all others.
type bindKeywords struct {
	Type                 jsontext.Value            `json:"type"`
	Properties           map[string]jsontext.Value `json:"properties"`
	PatternProperties    map[string]jsontext.Value `json:"patternProperties"`
	AdditionalProperties jsontext.Value            `json:"additionalProperties"`
	Items                jsontext.Value            `json:"items"`
	PrefixItems          []jsontext.Value          `json:"prefixItems"`
	MinItems             jsontext.Value            `json:"minItems"`
	MaxItems             jsontext.Value            `json:"maxItems"`
	Minimum              jsontext.Value            `json:"minimum"`
	Maximum              jsontext.Value            `json:"maximum"`
	ExclusiveMinimum     jsontext.Value            `json:"exclusiveMinimum"`
	ExclusiveMaximum     jsontext.Value            `json:"exclusiveMaximum"`
	MultipleOf           jsontext.Value            `json:"multipleOf"`
	Enum                 []jsontext.Value          `json:"enum"`
	Const                jsontext.Value            `json:"const"`
	Pattern              jsontext.Value            `json:"pattern"`
	Format               jsontext.Value            `json:"format"`
	ContentEncoding      jsontext.Value            `json:"contentEncoding"`
	Ref                  string                    `json:"$ref"`
	AnyOf                []jsontext.Value          `json:"anyOf"`
	OneOf                []jsontext.Value          `json:"oneOf"`
	Rest                 map[string]jsontext.Value `json:",embed"`
}

// annotations never refuse a value; any other keyword in Rest may.
var annotations = []string{"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default",
	"examples", "example", "deprecated", "readOnly", "writeOnly", "contentMediaType"}

// widening keywords in Rest refuse values by their length or company, never by what the binding of one looks at.
var harmless = []string{"required", "dependentRequired", "minProperties", "maxProperties", "uniqueItems", "minLength", "maxLength"}

// narrows reports whether a keyword that we do not follow may exclude values.
func (k *bindKeywords) narrows() bool {
	for name := range k.Rest {
		if !slices.Contains(annotations, name) && !slices.Contains(harmless, name) && !strings.HasPrefix(name, "x-") {
			return true
		}
	}
	return false
}

// asserts reports whether the subschema says anything but $ref, anyOf, oneOf and annotations.
func (k *bindKeywords) asserts() bool {
	for name := range k.Rest {
		if !slices.Contains(annotations, name) && !strings.HasPrefix(name, "x-") {
			return true
		}
	}
	return k.Type != nil || k.Properties != nil || k.PatternProperties != nil || k.AdditionalProperties != nil || k.Items != nil || k.PrefixItems != nil ||
		k.MinItems != nil || k.MaxItems != nil || k.Minimum != nil || k.Maximum != nil || k.ExclusiveMinimum != nil || k.ExclusiveMaximum != nil ||
		k.MultipleOf != nil || k.Enum != nil || k.Const != nil || k.Pattern != nil
}

// types lists the names in type, nil where there is no such keyword.
func (k *bindKeywords) types() (names []string) {
	switch k.Type.Kind() {
	case '"':
		var one string
		json.Unmarshal(k.Type, &one)
		return []string{one}
	case '[':
		json.Unmarshal(k.Type, &names)
	}
	return names
}

// lengthOf reads a length, -1 where there is none.
func lengthOf(raw jsontext.Value) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return -1
	}
	return n
}
