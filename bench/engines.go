package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	google "github.com/google/jsonschema-go/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
)

// An Engine turns the bytes of arguments into a verdict.
type Engine struct {
	Name string
	// Checks says what a verdict of nil means: "schema", "JSON" (well formed),
	// or "Go type" (it can be decoded).
	Checks string
	// Compile prepares a shape; what it returns is timed. The error of a
	// verdict is what a model would be told.
	Compile func(Shape) (func(args []byte) error, error)
	// Bind decodes arguments into a Go value, as who uses the engine would next.
	// Nil: the engine stands in the validation tables only.
	Bind func(args []byte, v any) error
}

// Engines returns the gate first, then its peers, then two floors that check no
// schema.
func Engines() []Engine {
	return append(gateEngines(),
		Engine{"santhosh", "schema", compileSanthosh, json.Unmarshal},
		Engine{"google", "schema", compileGoogle, json.Unmarshal},
		Engine{"json.Unmarshal", "Go type", func(s Shape) (func([]byte) error, error) {
			return func(args []byte) error { return json.Unmarshal(args, s.New()) }, nil
		}, nil},
		Engine{"json.Valid", "JSON", func(Shape) (func([]byte) error, error) {
			return func(args []byte) error {
				if !json.Valid(args) {
					return errors.New("not JSON")
				}
				return nil
			}, nil
		}, nil},
	)
}

// compileSanthosh follows the package's examples: UnmarshalJSON, AddResource,
// Compile; then UnmarshalJSON and Validate.
func compileSanthosh(s Shape) (func([]byte) error, error) {
	doc, err := santhosh.UnmarshalJSON(bytes.NewReader([]byte(s.Schema)))
	if err != nil {
		return nil, err
	}
	c := santhosh.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return nil, err
	}
	return func(args []byte) error {
		v, err := santhosh.UnmarshalJSON(bytes.NewReader(args))
		if err != nil {
			return err
		}
		return compiled.Validate(v)
	}, nil
}

// compileGoogle follows the package's documentation: unmarshal a Schema, Resolve;
// then encoding/json into an any, and Validate.
func compileGoogle(s Shape) (func([]byte) error, error) {
	var doc google.Schema
	if err := json.Unmarshal([]byte(s.Schema), &doc); err != nil {
		return nil, err
	}
	resolved, err := doc.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	return func(args []byte) error {
		var v any
		if err := json.Unmarshal(args, &v); err != nil {
			return err
		}
		return resolved.Validate(v)
	}, nil
}
