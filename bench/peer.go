package bench

import (
	"context"
	"sync"
)

// A Tool is what every peer is given: the handler takes a [Command].
type Tool struct {
	Name   string
	Schema string
	Run    func(context.Context, Command) (string, error)
}

// A Peer is one way from arguments as a provider delivers them to the result of
// a typed handler.
type Peer struct {
	Name string
	// Checks says what is checked before the handler runs: "schema" (the whole
	// JSON Schema), "required" (that required names are there) or "nothing"
	// (it decodes, and what decodes runs).
	Checks string
	// Path says which way of the library this is.
	Path string
	// Turns reports whether the library itself sees a model's turn: its calls
	// together, and how it ended. For the others a batch is one goroutine a call.
	Turns bool
	Open  func(tools ...Tool) (*Session, error)
}

// A Call is a model's call as a provider delivers it.
type Call struct {
	Name, Args string
	// Cut says that the provider ended the turn at its output limit. Only peers
	// that see turns can be told.
	Cut bool
}

// An Answer is what a peer made of a call. Text is what the model would read;
// Failed says that the model is told of a failure; Err is an error that reached
// the embedding program instead.
type Answer struct {
	Text   string
	Failed bool
	Err    error
}

// A Session is an opened peer.
type Session struct {
	// Prepare makes the wire form of a call; what it returns carries it, any
	// number of times.
	Prepare func(Call) func(context.Context) Answer
	// PrepareBatch does so for the calls of one turn. Nil: see [Peer.Turns].
	PrepareBatch func([]Call) func(context.Context) []Answer
	Close        func()
}

// Ask carries one call.
func (s *Session) Ask(ctx context.Context, c Call) Answer { return s.Prepare(c)(ctx) }

// Batch prepares the calls of one turn.
func (s *Session) Batch(calls []Call) func(context.Context) []Answer {
	if s.PrepareBatch != nil {
		return s.PrepareBatch(calls)
	}
	prepared := make([]func(context.Context) Answer, len(calls))
	for i, c := range calls {
		prepared[i] = s.Prepare(c)
	}
	return func(ctx context.Context) []Answer {
		answers := make([]Answer, len(prepared))
		var wg sync.WaitGroup
		for i, call := range prepared {
			wg.Go(func() { answers[i] = call(ctx) })
		}
		wg.Wait()
		return answers
	}
}

// Peers returns the gate first, then its peers.
func Peers() []Peer {
	return append(gatePeers(),
		Peer{Name: "go-sdk", Checks: "schema", Path: "AddTool, called by a client over NewInMemoryTransports", Open: openGoSDK},
		Peer{Name: "go-sdk/handler", Checks: "schema", Path: "AddTool, its method handler called in process: no client, transport or JSON-RPC", Open: openGoSDKHandler},
		Peer{Name: "mcp-go", Checks: "nothing", Path: "NewTypedToolHandler, HandleMessage", Open: openMCPGo},
		Peer{Name: "mcp-go/validating", Checks: "schema", Path: "the same with WithInputSchemaValidation and WithRecovery", Open: openMCPGoValidating},
		Peer{Name: "fantasy", Checks: "nothing", Path: "NewAgentTool, its Run called in process", Open: openFantasyTool},
		Peer{Name: "fantasy/agent", Checks: "required", Path: "the same tool in NewAgent with a scripted model, one step", Turns: true, Open: openFantasyAgent},
	)
}
