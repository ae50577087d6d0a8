package replay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/scripted"
	"github.com/callgate/callgate/replay"
	"github.com/callgate/callgate/session"
)

// A session that was recorded once is the model and the tools of a test.
func Example() {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer j.Close()

	lookup := callgate.Must(callgate.Func(callgate.Spec{Name: "weather.lookup", Annotations: callgate.Annotations{ReadOnlyHint: true}},
		func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			fmt.Println("asking the weather service")
			return "4 °C in " + in.City, nil
		}))

	// Once, with a model (here one that plays a script) and the tool itself.
	script, _ := scripted.Parse([]byte(`
		turn
		  call weather.lookup {"city": "Oslo"}
		turn
		  expect 4 °C
		  say It is cold in Oslo.
	`))
	question := llm.UserText("How is the weather in Oslo?")
	held, err := session.Begin(context.Background(), j, "oslo", journal.About{})
	if err != nil {
		log.Fatal(err)
	}
	defer held.Close()
	if err := held.Say(question); err != nil {
		log.Fatal(err)
	}
	var tools callgate.Registry
	tools.Register(lookup)
	gate := &callgate.Dispatcher{Executor: j.Executor(nil), Observers: []callgate.Observer{j.Observer()}}
	a := agent.Agent{Model: &scripted.Model{Steps: script}, Tools: tools.Catalog, Gate: gate, Session: held.ID(), OnResponse: held.Keep}
	out, err := a.Run(context.Background(), []llm.Message{question})
	fmt.Println(out.Text, err)

	// Then as often as one likes, without either.
	tape, err := replay.Read(context.Background(), j, "oslo")
	if err != nil {
		log.Fatal(err)
	}
	model, err := tape.Model()
	if err != nil {
		log.Fatal(err)
	}
	var played callgate.Registry
	played.Register(tape.Tools(lookup.Spec)...)
	a = agent.Agent{Model: model, Tools: played.Catalog}
	out, err = a.Run(context.Background(), []llm.Message{question})
	fmt.Println(out.Text, err, model.Done())
	// Output:
	// asking the weather service
	// It is cold in Oslo. <nil>
	// It is cold in Oslo. <nil> <nil>
}
