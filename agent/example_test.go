package agent_test

import (
	"context"
	"fmt"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/scripted"
)

// An agent is a model, tools and a gate. Here the model plays a script: it
// forgets an argument, reads what was wrong, and does better.
func Example() {
	var registry callgate.Registry
	registry.Register(callgate.Must(callgate.Func(
		callgate.Spec{Name: "weather.lookup", Annotations: callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)}},
		func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			return "4 °C in " + in.City, nil
		})))

	script, _ := scripted.Parse([]byte(`
		turn
		  call weather.lookup {}
		turn
		  expect invalid_arguments
		  expect /city
		  call weather.lookup {"city": "Oslo"}
		turn
		  expect 4 °C
		  say It is cold in Oslo.
	`))
	a := agent.Agent{Model: &scripted.Model{Steps: script}, Tools: registry.Catalog, Session: "demo"}
	out, err := a.Run(context.Background(), []llm.Message{llm.UserText("How is the weather in Oslo?")})
	fmt.Println(out.Reason, out.Text, err)
	// Output: final_answer It is cold in Oslo. <nil>
}
