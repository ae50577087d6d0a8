package anthropic_test

import (
	"context"
	"fmt"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/provider/anthropic"
)

// An agent with an HTTP client of its own needs three calls: Encode for the
// request, Decode for the response, Results for the next request.
func Example() {
	var registry callgate.Registry
	registry.Register(weather)
	var gate callgate.Dispatcher

	catalog := registry.Catalog()
	codec := anthropic.Encode(catalog)
	fmt.Println(string(codec.Tools)) // goes into the request

	response, err := codec.Decode([]byte(`{"role": "assistant", "stop_reason": "tool_use", "content": [
		{"type": "text", "text": "Let me look."},
		{"type": "tool_use", "id": "toolu_a", "name": "weather_lookup", "input": {"city": "Oslo"}}]}`))
	if err != nil {
		panic(err)
	}
	results := gate.Dispatch(context.Background(), catalog, response.Turn("session-1", 1))
	message, _ := codec.Results(results)
	fmt.Println(string(message)) // joins the messages of the next request
	// Output:
	// [{"name":"weather_lookup","description":"Look up the weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}]
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":"4 °C in Oslo"}]}
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
