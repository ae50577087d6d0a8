package openai_test

import (
	"context"
	"fmt"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/provider/openai"
)

// An agent with an HTTP client of its own needs three calls: Encode for the
// request, Decode for the response, Results for the next request.
func Example() {
	var registry callgate.Registry
	registry.Register(weather)
	var gate callgate.Dispatcher

	catalog := registry.Catalog()
	codec := openai.Encode(catalog)
	fmt.Println(string(codec.Tools)) // goes into the request

	response, err := codec.Decode([]byte(`{"choices": [{"finish_reason": "tool_calls", "message": {
		"role": "assistant", "content": null, "tool_calls": [
			{"id": "call_a", "type": "function", "function": {"name": "weather_lookup", "arguments": "{\"city\": \"Oslo\"}"}}]}}]}`))
	if err != nil {
		panic(err)
	}
	results := gate.Dispatch(context.Background(), catalog, response.Turn("session-1", 1))
	messages, _ := codec.Results(results)
	fmt.Println(string(messages)) // joins the messages of the next request
	// Output:
	// [{"type":"function","function":{"name":"weather_lookup","description":"Look up the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}]
	// [{"role":"tool","tool_call_id":"call_a","content":"4 °C in Oslo"}]
}

var weather = callgate.Must(callgate.Func(callgate.Spec{
	Name:        "weather.lookup",
	Description: "Look up the weather.",
	Annotations: callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
	InputSchema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
}, func(_ context.Context, in struct {
	City string `json:"city"`
}) (string, error) {
	return "4 °C in " + in.City, nil
}))
