package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func goSDKServer(tools []Tool) (s *gosdk.Server, err error) {
	// AddTool panics on a schema that it cannot take.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("AddTool: %v", p)
		}
	}()
	s = gosdk.NewServer(&gosdk.Implementation{Name: "bench", Version: "v1.0.0"}, nil)
	for _, t := range tools {
		gosdk.AddTool(s, &gosdk.Tool{Name: t.Name, Description: "Run a command.", InputSchema: json.RawMessage(t.Schema)},
			func(ctx context.Context, _ *gosdk.CallToolRequest, in Command) (*gosdk.CallToolResult, any, error) {
				text, err := t.Run(ctx, in)
				if err != nil {
					return nil, nil, err
				}
				return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}, nil, nil
			})
	}
	return s, nil
}

// openGoSDK is the set-up of the SDK's server examples.
func openGoSDK(tools ...Tool) (*Session, error) {
	server, err := goSDKServer(tools)
	if err != nil {
		return nil, err
	}
	return connectGoSDK(server)
}

func connectGoSDK(server *gosdk.Server) (*Session, error) {
	ctx := context.Background()
	ct, st := gosdk.NewInMemoryTransports()
	ss, err := server.Connect(ctx, st, nil)
	if err != nil {
		return nil, err
	}
	client := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "v1.0.0"}, nil)
	cs, err := client.Connect(ctx, ct, nil)
	if err != nil {
		return nil, errors.Join(err, ss.Close())
	}
	return &Session{
		Prepare: func(c Call) func(context.Context) Answer {
			params := gosdk.CallToolParams{Name: c.Name, Arguments: json.RawMessage(c.Args)}
			return func(ctx context.Context) Answer {
				p := params // CallTool sets fields
				return goSDKAnswer(cs.CallTool(ctx, &p))
			}
		},
		Close: func() { cs.Close(); ss.Wait() },
	}, nil
}

// openGoSDKHandler calls the server's own method handler, caught by a receiving
// middleware: the shortest way of the SDK's public API on which arguments are
// validated.
func openGoSDKHandler(tools ...Tool) (*Session, error) {
	server, err := goSDKServer(tools)
	if err != nil {
		return nil, err
	}
	var handler gosdk.MethodHandler
	var session *gosdk.ServerSession
	server.AddReceivingMiddleware(func(next gosdk.MethodHandler) gosdk.MethodHandler {
		return func(ctx context.Context, method string, req gosdk.Request) (gosdk.Result, error) {
			if r, ok := req.(*gosdk.CallToolRequest); ok && handler == nil {
				handler, session = next, r.Session
			}
			return next(ctx, method, req)
		}
	})
	s, err := connectGoSDK(server)
	if err != nil {
		return nil, err
	}
	// One call of a tool that does not exist brings a session into the hand.
	s.Ask(context.Background(), Call{Name: "absent", Args: "{}"})
	if handler == nil {
		s.Close()
		return nil, errors.New("go-sdk: no call came by")
	}
	s.Prepare = func(c Call) func(context.Context) Answer {
		return func(ctx context.Context) Answer {
			req := &gosdk.CallToolRequest{Session: session, Params: &gosdk.CallToolParamsRaw{Name: c.Name, Arguments: json.RawMessage(c.Args)}}
			res, err := handler(ctx, "tools/call", req)
			r, _ := res.(*gosdk.CallToolResult)
			return goSDKAnswer(r, err)
		}
	}
	return s, nil
}

func goSDKAnswer(r *gosdk.CallToolResult, err error) Answer {
	if err != nil {
		return Answer{Err: err}
	}
	a := Answer{Failed: r.IsError}
	if len(r.Content) > 0 {
		if t, ok := r.Content[0].(*gosdk.TextContent); ok {
			a.Text = t.Text
		}
	}
	return a
}
