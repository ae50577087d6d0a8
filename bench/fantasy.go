package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"charm.land/fantasy"
)

// fantasyTools makes typed tools. The library infers their schemas from the Go
// type and takes no other, so the schema of t is not used.
func fantasyTools(tools []Tool) []fantasy.AgentTool {
	var made []fantasy.AgentTool
	for _, t := range tools {
		made = append(made, fantasy.NewParallelAgentTool(t.Name, "Run a command.", func(ctx context.Context, in Command, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			text, err := t.Run(ctx, in)
			if err != nil {
				return fantasy.NewTextErrorResponse(err.Error()), nil
			}
			return fantasy.NewTextResponse(text), nil
		}))
	}
	return made
}

func openFantasyTool(tools ...Tool) (*Session, error) {
	byName := make(map[string]fantasy.AgentTool)
	for _, t := range fantasyTools(tools) {
		byName[t.Info().Name] = t
	}
	return &Session{
		Prepare: func(c Call) func(context.Context) Answer {
			return func(ctx context.Context) Answer {
				tool, ok := byName[c.Name]
				if !ok {
					return Answer{Err: errors.New("the caller looks tools up")}
				}
				r, err := tool.Run(ctx, fantasy.ToolCall{ID: "call_1", Name: c.Name, Input: c.Args})
				return Answer{Text: r.Content, Failed: r.IsError, Err: err}
			}
		},
		Close: func() {},
	}, nil
}

// openFantasyAgent runs one step of an agent whose model proposes the calls.
func openFantasyAgent(tools ...Tool) (*Session, error) {
	made := fantasyTools(tools)
	batch := func(calls []Call) func(context.Context) []Answer {
		var parts []fantasy.StreamPart
		for i, c := range calls {
			parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeToolCall, ID: fmt.Sprintf("call_%d", i), ToolCallName: c.Name, ToolCallInput: c.Args})
		}
		finish := fantasy.FinishReasonToolCalls
		if slices.ContainsFunc(calls, func(c Call) bool { return c.Cut }) {
			finish = fantasy.FinishReasonLength
		}
		parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: finish})
		agent := fantasy.NewAgent(scriptedModel{parts}, fantasy.WithTools(made...), fantasy.WithStopConditions(fantasy.StepCountIs(1)))
		return func(ctx context.Context) []Answer {
			res, err := agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: "go"})
			if err != nil {
				return []Answer{{Err: err}}
			}
			var answers []Answer
			for _, r := range res.Steps[0].Content.ToolResults() {
				answers = append(answers, fantasyAnswer(r))
			}
			return answers
		}
	}
	return &Session{
		Prepare: func(c Call) func(context.Context) Answer {
			run := batch([]Call{c})
			return func(ctx context.Context) Answer {
				answers := run(ctx)
				if len(answers) == 0 {
					return Answer{} // a cut turn is recorded and not answered
				}
				return answers[0]
			}
		},
		PrepareBatch: batch,
		Close:        func() {},
	}, nil
}

func fantasyAnswer(r fantasy.ToolResultContent) Answer {
	switch v := r.Result.(type) {
	case fantasy.ToolResultOutputContentText:
		return Answer{Text: v.Text}
	case fantasy.ToolResultOutputContentError:
		return Answer{Text: v.Error.Error(), Failed: true}
	}
	return Answer{Err: fmt.Errorf("a result of type %T", r.Result)}
}

// A scriptedModel says the same parts every time.
type scriptedModel struct{ parts []fantasy.StreamPart }

func (m scriptedModel) Stream(context.Context, fantasy.Call) (fantasy.StreamResponse, error) {
	return func(yield func(fantasy.StreamPart) bool) {
		for _, p := range m.parts {
			if !yield(p) {
				return
			}
		}
	}, nil
}

var errNotScripted = errors.New("the scripted model only streams")

func (scriptedModel) Generate(context.Context, fantasy.Call) (*fantasy.Response, error) {
	return nil, errNotScripted
}

func (scriptedModel) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, errNotScripted
}

func (scriptedModel) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, errNotScripted
}

func (scriptedModel) Provider() string { return "scripted" }
func (scriptedModel) Model() string    { return "scripted" }
