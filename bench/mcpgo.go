package bench

import (
	"context"
	"encoding/json"
	"fmt"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// openMCPGo is the set-up of the library's quick start, with a typed handler.
func openMCPGo(tools ...Tool) (*Session, error) {
	return mcpGoSession(tools, server.WithToolCapabilities(false))
}

// openMCPGoValidating adds the options that the library recommends for new
// servers and for production.
func openMCPGoValidating(tools ...Tool) (*Session, error) {
	return mcpGoSession(tools, server.WithToolCapabilities(false), server.WithInputSchemaValidation(), server.WithRecovery())
}

func mcpGoSession(tools []Tool, options ...server.ServerOption) (*Session, error) {
	s := server.NewMCPServer("bench", "1.0.0", options...)
	for _, t := range tools {
		tool := mcpgo.NewToolWithRawSchema(t.Name, "Run a command.", json.RawMessage(t.Schema))
		s.AddTool(tool, mcpgo.NewTypedToolHandler(func(ctx context.Context, _ mcpgo.CallToolRequest, in Command) (*mcpgo.CallToolResult, error) {
			text, err := t.Run(ctx, in)
			if err != nil {
				return mcpgo.NewToolResultError(err.Error()), nil
			}
			return mcpgo.NewToolResultText(text), nil
		}))
	}
	return &Session{
		Prepare: func(c Call) func(context.Context) Answer {
			message := json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.Name, c.Args))
			return func(ctx context.Context) Answer { return mcpGoAnswer(s.HandleMessage(ctx, message)) }
		},
		Close: func() {},
	}, nil
}

func mcpGoAnswer(m mcpgo.JSONRPCMessage) Answer {
	switch m := m.(type) {
	case mcpgo.JSONRPCError:
		return Answer{Err: fmt.Errorf("%d: %s", m.Error.Code, m.Error.Message)}
	case mcpgo.JSONRPCResponse:
		var r mcpgo.CallToolResult
		switch v := m.Result.(type) {
		case mcpgo.CallToolResult:
			r = v
		case *mcpgo.CallToolResult:
			r = *v
		default:
			return Answer{Err: fmt.Errorf("a result of type %T", v)}
		}
		a := Answer{Failed: r.IsError}
		if len(r.Content) > 0 {
			if t, ok := r.Content[0].(mcpgo.TextContent); ok {
				a.Text = t.Text
			}
		}
		return a
	}
	return Answer{Err: fmt.Errorf("an answer of type %T", m)}
}
