package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A program that was killed and started again submits its last turn once more: what
// had been done is answered from the record.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	var r callgate.Registry
	if err := r.Register(callgate.Tool{
		Spec: callgate.Spec{Name: "invoice.send", InputSchema: json.RawMessage(`{"type":"object","properties":{"no":{"type":"integer"}}}`)},
		Handler: func(context.Context, callgate.Call) (callgate.Result, error) {
			fmt.Println("sending")
			return callgate.Text("sent"), nil
		},
	}); err != nil {
		log.Fatal(err)
	}

	var head journal.Head
	for range 2 { // lives of the program
		j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
		if err != nil {
			log.Fatal(err)
		}
		gate := callgate.Dispatcher{Policy: callgate.AllowAll, Executor: j.Executor(nil)}
		res := gate.Dispatch(context.Background(), r.Catalog(), callgate.Turn{Session: "march", Number: 7, Calls: []callgate.Call{
			{ID: "call_0", Name: "invoice.send", Arguments: json.RawMessage(`{"no":12}`)},
		}})[0]
		fmt.Println(res.ContentText(), res.Recorded)
		v, err := j.Verify(context.Background(), head)
		if err != nil {
			log.Fatal(err)
		}
		head = v.Head
		fmt.Println("rows:", head.Rows)
		j.Close()
	}
	// Output:
	// sending
	// sent false
	// rows: 2
	// sent true
	// rows: 2
}
