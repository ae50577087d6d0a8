package schema

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bind decodes data, which a schema has accepted, into the value that v points to, with the v2 semantics of
// github.com/go-json-experiment/json: names match exactly, a duplicate name is an error, numbers are read as text into the Go type (2^53+1
// arrives as such in an int64). What the value held before is dropped, never merged with; after an error it is undefined.
//
// A JSON Schema calls 5.0 and 1e2 integers, the package does not: for an integer field such a number is read as 5 and 100, exactly. At most
// 64 numbers of one document may be spelled so. A number outside the Go type is an error, never wrapped or rounded.
//
// An error of Bind is a *json.SemanticError or a *jsontext.SyntacticError whose JSONPointer says where; [BindViolation] puts the former in words for a model.
//
// Into an any, a number arrives as float64; an integer that a float64 would round arrives as int64 or uint64, and one that these cannot
// hold either is an error. Use jsontext.Value to keep numbers as they are written.
func Bind(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return errors.New("schema: Bind needs a pointer to bind into")
	}
	for left := maxRespelled; ; left-- {
		rv.Elem().SetZero()
		err := json.Unmarshal(data, v, bindOptions(rv.Type().Elem()))
		if err == nil || left == 0 {
			return err
		}
		respelled, ok := respellInteger(data, err)
		if !ok {
			return err
		}
		data = respelled
	}
}

// BindViolation turns an error of [Bind] into a violation of keyword "bind", in the words of JSON. It is false for any other error.
//
// Binding fails after validation only where a schema admits more than its Go type, which an inferred one does not, types with an
// UnmarshalText of their own apart; [Binds] tells most other cases at registration.
func BindViolation(err error) (Violation, bool) {
	var at *json.SemanticError
	if !errors.As(err, &at) || at.GoType == nil {
		return Violation{}, false
	}
	v := Violation{Path: clip(string(at.JSONPointer), maxPath), Keyword: "bind", Expected: bindsFrom(at.GoType), Got: kindName(at.JSONKind)}
	if len(at.JSONValue) > 0 {
		v.Got = clip(string(at.JSONValue), maxShown)
	}
	v.Message = "must be " + v.Expected + ", got " + oneLine(v.Got)
	if methodsOf(behindPointers(at.GoType)).unmarshalText && at.Err != nil {
		v.Message += ": " + oneLine(clip(at.Err.Error(), maxShown))
	}
	return v, true
}

// bindsFrom says which JSON a type binds, in words.
func bindsFrom(t reflect.Type) string {
	t = behindPointers(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "a moment as in RFC 3339, such as 2006-01-02T15:04:05Z"
	case isBytes(t) && t.Kind() == reflect.Array:
		return "base64 text of " + strconv.Itoa(t.Len()) + " bytes"
	case isBytes(t):
		return "base64 text"
	case t.Kind() == reflect.Array:
		return "an array of " + strconv.Itoa(t.Len())
	}
	switch takes := goTakes(t); {
	case len(takes) == 0:
		return "absent"
	case takes[0] == "integer":
		lo, hi := integerRange(t)
		return "an integer from " + lo + " to " + hi
	case takes[0] == "number":
		return "a number within " + strconv.Itoa(t.Bits()) + "-bit floating point"
	case takes[0] == "array" || takes[0] == "object":
		return "an " + takes[0]
	default:
		return "a " + takes[0]
	}
}

// bindOptions returns what binding into t needs beyond the defaults.
func bindOptions(t reflect.Type) json.Options {
	if with, ok := holdsAny.Load(t); ok {
		return with.(json.Options)
	}
	with := json.JoinOptions()
	if reachesAny(t, map[reflect.Type]bool{}) {
		with = wholeNumbers
	}
	holdsAny.Store(t, with)
	return with
}

// holdsAny has the options for types seen before: a few, as many as there are tools. It is a cache of a pure function.
var holdsAny sync.Map

// reachesAny reports whether a value of type t may hold an empty interface. Types that decode themselves are asked as well: they cost nothing.
func reachesAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return reachesAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if reachesAny(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// wholeNumbers decodes numbers into an any without losing digits of an integer.
var wholeNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := string(raw)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	if strings.ContainsAny(text, ".eE") || math.Abs(f) < 1<<53 {
		*v = f
		return nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		if *v = i; i == 1<<53 || i == -1<<53 {
			*v = f
		}
		return nil
	}
	u, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return err
	}
	*v = u
	return nil
}))

// maxRespelled bounds how often Bind reads a document again.
const maxRespelled = 64

// respellInteger writes the number at which binding failed without fraction and exponent, if it is an integer.
func respellInteger(data []byte, failure error) ([]byte, bool) {
	var at *json.SemanticError
	if !errors.As(failure, &at) || at.JSONKind != '0' || at.GoType == nil || !errors.Is(at.Err, strconv.ErrSyntax) {
		return nil, false
	}
	span, ok := locate(data, string(at.JSONPointer))
	if !ok {
		return nil, false
	}
	spelled := string(data[span.start:span.end])
	text, ok := integerText(spelled)
	if !ok || text == spelled {
		return nil, false // -1 for an unsigned field stays what it is
	}
	return splice(data, span.start, span.end, []byte(text)), true
}

// integerText returns the plain decimal spelling of a JSON number that is an integer of at most 20 digits.
func integerText(number string) (string, bool) {
	digits, exponent := number, 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		n, err := strconv.ParseInt(strings.TrimPrefix(number[i+1:], "+"), 10, 16)
		if err != nil {
			return "", false
		}
		digits, exponent = number[:i], int(n)
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = whole + fraction
	exponent -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	for exponent < 0 && strings.HasSuffix(digits, "0") {
		digits, exponent = digits[:len(digits)-1], exponent+1
	}
	switch {
	case digits == "":
		return "0", true
	case exponent < 0 || len(digits)+exponent > 20:
		return "", false
	}
	return sign + digits + strings.Repeat("0", exponent), true
}
