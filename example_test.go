package callgate_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/callgate/callgate"
)

func Example() {
	// A tool is registered once: its schema comes from the type, its handler is
	// an ordinary function, its policy is in the annotations.
	type args struct {
		City string `json:"city" description:"name of a city" minLength:"1"`
		Days int64  `json:"days,omitempty" minimum:"1" maximum:"7"`
	}
	forecast := callgate.Must(callgate.Func(callgate.Spec{
		Name:        "weather.forecast",
		Description: "Forecast the weather of a city.",
		Annotations: callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
	}, func(_ context.Context, in args) (string, error) {
		return fmt.Sprintf("%s: sun for %d days", in.City, max(in.Days, 1)), nil
	}))

	var tools callgate.Registry
	if err := tools.Register(forecast); err != nil {
		panic(err)
	}

	// What a model might propose in one turn. The zero Dispatcher runs
	// read-only tools and nothing else.
	var gate callgate.Dispatcher
	results := gate.Dispatch(context.Background(), tools.Catalog(), callgate.Calls(
		callgate.Call{ID: "1", Name: "weather.forecast", Arguments: json.RawMessage(`{"city": "Oslo", "days": 3}`)},
		callgate.Call{ID: "2", Name: "weather.forecast", Arguments: json.RawMessage(`{"town": "Oslo", "days": "3"}`)},
		callgate.Call{ID: "3", Name: "weather.forecast", Arguments: json.RawMessage(`{"city": "Oslo", "city": "Rome"}`)},
		callgate.Call{ID: "4", Name: "weather_forcast", Arguments: json.RawMessage(`{}`)},
	))
	for _, r := range results {
		fmt.Println(r.CallID, r)
	}
	// Output:
	// 1 Oslo: sun for 3 days
	// 2 Error [invalid_arguments]: /city: missing required field; expected string
	// /days: expected integer, got string "3"; the string holds the integer as text: send the integer itself, without quotes
	// /town: unknown field; the fields here are city, days
	// 3 Error [malformed_arguments]: /city: duplicate member "city" at byte 17: a name may appear once in an object; send the arguments as one JSON object
	// 4 Error [unknown_tool]: there is no tool named "weather_forcast"; did you mean "weather.forecast"?
}
