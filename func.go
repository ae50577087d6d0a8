package callgate

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/callgate/callgate/schema"
)

// Func makes a Tool of an ordinary function.
//
// The input schema is inferred from In unless spec has one (see [schema.For] for
// the struct tags); one that In cannot bind is an error. Arguments are bound by
// [schema.Bind]: names match exactly, numbers keep every digit.
//
// A string that fn returns is the text of the result, and a [Result] is the
// result. Any other type is sent as JSON, both as text and as structured content
// that is checked against the output schema, which is inferred from Out unless
// spec has one.
func Func[In, Out any](spec Spec, fn func(context.Context, In) (Out, error)) (Tool, error) {
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	var err error
	if len(spec.InputSchema) == 0 {
		spec.InputSchema, err = schema.ForType(in)
	} else {
		err = schema.Binds(in, spec.InputSchema)
	}
	if err != nil {
		return Tool{}, fmt.Errorf("tool %q: input: %w", spec.Name, err)
	}
	encode := encoderOf[Out]()
	if encode == nil {
		if len(spec.OutputSchema) == 0 && (out.Kind() == reflect.Struct || out.Kind() == reflect.Map) {
			if spec.OutputSchema, err = schema.ForType(out); err != nil {
				return Tool{}, fmt.Errorf("tool %q: output: %w", spec.Name, err)
			}
		}
		encode = structured[Out]
	}
	pool := sync.Pool{New: func() any { return new(In) }}
	return Tool{Spec: spec, Handler: func(ctx context.Context, call Call) (Result, error) {
		args := pool.Get().(*In)
		if err := schema.Bind(call.Arguments, args); err != nil {
			return Result{}, unbindable(err)
		}
		in := *args // fn gets a copy; what it points to is its own
		*args = *new(In)
		pool.Put(args)
		v, err := fn(ctx, in)
		if err != nil {
			// What fn returns beside an error counts if it says so itself.
			if r, ok := any(v).(Result); ok {
				return r, err
			}
			return Result{}, err
		}
		return encode(v)
	}}, nil
}

// encoderOf returns how a value of type Out becomes a result, or nil for JSON.
func encoderOf[Out any]() func(Out) (Result, error) {
	switch reflect.TypeFor[Out]() {
	case reflect.TypeFor[string]():
		return func(v Out) (Result, error) { return Text(any(v).(string)), nil }
	case reflect.TypeFor[Result]():
		return func(v Out) (Result, error) { return any(v).(Result), nil }
	}
	return nil
}

func structured[Out any](v Out) (Result, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return Result{}, &Error{Code: ExecutionError, Message: "the tool ran, but its output cannot be written as JSON", Cause: err}
	}
	r := Text(string(b))
	r.Structured = stdjson.RawMessage(b)
	return r, nil
}

// unbindable is the failure of arguments that satisfy the schema and still do not
// fit the Go type: a number beyond int64, say. The function was not entered.
func unbindable(err error) *Error {
	v, ok := schema.BindViolation(err)
	if !ok {
		v = schema.Violation{Keyword: "type", Message: "the value does not fit"}
	}
	return &Error{Code: InvalidArguments, Message: v.String(), Violations: []schema.Violation{v}, NotStarted: true, Cause: err}
}
