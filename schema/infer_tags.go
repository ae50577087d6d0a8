package schema

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A tagSet holds the tags of one field on their way to the type that they speak of. Who uses one takes it;
// what is left over at the end did not apply.
type tagSet struct{ tags map[string]string }

// constraintTags are the tags that ForType reads beside description, in the order errors name them.
var constraintTags = []string{"enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"}

func readTags(tag reflect.StructTag, at goPath) (*tagSet, error) {
	c := &tagSet{tags: map[string]string{}}
	for _, key := range constraintTags {
		if v, ok := tag.Lookup(key); ok {
			if v == "" {
				return nil, at.errorf("the tag %s is empty", key)
			}
			c.tags[key] = v
		}
	}
	return c, nil
}

// take removes a tag and returns its text.
func (c *tagSet) take(key string) string {
	v := c.tags[key]
	delete(c.tags, key)
	return v
}

func (c *tagSet) takeItems() (lo, hi string) { return c.take("minItems"), c.take("maxItems") }

// leftOver is the error for tags that nothing in the field's type could use.
func (c *tagSet) leftOver(at goPath, t reflect.Type) error {
	for _, key := range constraintTags {
		if _, ok := c.tags[key]; ok {
			return at.errorf("the tag %s does not apply to %v", key, t)
		}
	}
	return nil
}

// textKeywords adds the keywords of a string.
func (c *tagSet) textKeywords(o *inferObject, at goPath, t reflect.Type) error {
	if err := c.enum(o, at, t); err != nil {
		return err
	}
	if err := countKeywords(o, at, "minLength", c.take("minLength"), "maxLength", c.take("maxLength")); err != nil {
		return err
	}
	pattern := c.take("pattern")
	if pattern == "" {
		return nil
	}
	if err := patternError(pattern); err != nil {
		return at.errorf("the tag pattern does not compile: %w", err)
	}
	o.str("pattern", pattern)
	return nil
}

// numberKeywords adds the keywords of a number; lo and hi are the bounds of its type.
func (c *tagSet) numberKeywords(o *inferObject, at goPath, t reflect.Type, lo, hi string) error {
	if err := c.enum(o, at, t); err != nil {
		return err
	}
	least, most := lo, hi
	for _, b := range [2]struct {
		key   string
		bound *string
	}{{"minimum", &least}, {"maximum", &most}} {
		text := c.take(b.key)
		if text == "" {
			continue
		}
		if err := bindsText(text, t); err != nil {
			return at.errorf("the tag %s:%q is not a value of %v", b.key, text, t)
		}
		*b.bound = text
	}
	if exactNumber(least).Cmp(exactNumber(most)) > 0 {
		return at.errorf("minimum %s is over maximum %s", least, most)
	}
	if o.has("enum") && least == lo && most == hi {
		return nil // each value was bound to the type already
	}
	o.num("minimum", least)
	o.num("maximum", most)
	return nil
}

// enum adds the enum, whose every value must bind.
func (c *tagSet) enum(o *inferObject, at goPath, t reflect.Type) error {
	text := c.take("enum")
	if text == "" {
		return nil
	}
	var values []string
	for v := range strings.SplitSeq(text, ",") {
		asJSON := v
		switch {
		case v != strings.TrimSpace(v) || v == "":
			return at.errorf("the tag enum has %q: write values without blanks, parted by single commas", v)
		case string(o.get("type")) == `"string"`:
			asJSON = string(jsonString(v))
		}
		if err := bindsText(asJSON, t); err != nil {
			return at.errorf("the enum value %s is not a value of %v", v, t)
		}
		if slices.Contains(values, asJSON) {
			return at.errorf("the tag enum has %s twice", v)
		}
		values = append(values, asJSON)
	}
	o.raw("enum", []byte("["+strings.Join(values, ",")+"]"))
	return nil
}

// bindsText reports whether the JSON text binds to a t.
func bindsText(text string, t reflect.Type) error {
	if !jsontext.Value(text).IsValid() || text == "null" {
		return fmt.Errorf("%s is not a value", text)
	}
	return json.Unmarshal([]byte(text), reflect.New(t).Interface())
}

// countKeywords adds a pair of bounds on a length; an empty text adds nothing.
func countKeywords(o *inferObject, at goPath, minName, minText, maxName, maxText string) error {
	counts := [2]uint64{}
	for i, p := range [2]struct{ name, text string }{{minName, minText}, {maxName, maxText}} {
		if p.text == "" {
			continue
		}
		n, err := strconv.ParseUint(p.text, 10, 31)
		if err != nil {
			return at.errorf("the tag %s:%q is not a count", p.name, p.text)
		}
		counts[i] = n
		o.num(p.name, strconv.FormatUint(n, 10))
	}
	if minText != "" && maxText != "" && counts[0] > counts[1] {
		return at.errorf("%s %d is over %s %d", minName, counts[0], maxName, counts[1])
	}
	return nil
}

// exactNumber is the exact value of a JSON number that is already known to fit a Go number.
func exactNumber(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

// patternError reports why the schema compiler would refuse a pattern.
func patternError(pattern string) error {
	_, err := new(patterns).compile(pattern)
	return err
}
