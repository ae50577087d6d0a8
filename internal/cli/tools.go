package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/provider/anthropic"
	"github.com/callgate/callgate/provider/openai"
	"github.com/callgate/callgate/schema"
)

func toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List, show, check and call the tools",
		Example: `  callgate tools list
  callgate tools show edit_file
  callgate tools call read_file '{"path":"go.mod"}'`,
	}
	group(cmd, toolsListCommand(), toolsShowCommand(), toolsSchemaCommand(), toolsValidateCommand(), toolsCallCommand())
	return cmd
}

// printJSON writes v on one line. Text stays as it is: <, > and & mean nothing
// to who reads it.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func jsonFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVar(to, "json", false, usage)
}

func toolsListCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools: name, what a call may do, first line of the description",
		Example: `  callgate tools list
  callgate tools list --json`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			cat, err := flags.shownCatalog()
			if err != nil {
				return err
			}
			if asJSON {
				type tool struct {
					Name        string               `json:"name"`
					Title       string               `json:"title"`
					Description string               `json:"description"`
					Annotations callgate.Annotations `json:"annotations"`
				}
				list := []tool{}
				for s := range cat.All() {
					list = append(list, tool{s.Name, s.Title, firstLine(s.Description), s.Annotations})
				}
				return printJSON(cmd.OutOrStdout(), list)
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for s := range cat.All() {
				fmt.Fprintf(tw, "%s\t%s\t%s\n", s.Name, hints(s.Annotations), firstLine(s.Description))
			}
			return tw.Flush()
		}),
	}
	flags.add(cmd)
	jsonFlag(cmd, &asJSON, "print a JSON list")
	return cmd
}

// hints says in words what a call may do.
func hints(a callgate.Annotations) string {
	var words []string
	switch {
	case a.ReadOnlyHint:
		words = append(words, "reads")
	case a.Destructive():
		words = append(words, "overwrites")
	default:
		words = append(words, "adds")
	}
	if a.IdempotentHint && !a.ReadOnlyHint {
		words = append(words, "repeatable")
	}
	if a.OpenWorld() {
		words = append(words, "open world")
	}
	return strings.Join(words, ", ")
}

// named returns the tool that a person named. The error of an unknown name is
// wrong usage; it names the nearest ones, or all if they are few.
func named(cat *callgate.Catalog, name string) (callgate.Tool, error) {
	t, err := cat.Get(name)
	if e, ok := errors.AsType[*callgate.Error](err); ok {
		names := cat.Names()
		if len(closest.Names(name, names, 1)) == 0 && len(names) <= 20 {
			return t, usagef("there is no tool named %q; the tools are %s", name, strings.Join(names, ", "))
		}
		return t, usagef("%s (callgate tools list shows all)", e.Message)
	}
	return t, err
}

func toolsShowCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show everything about a tool",
		Example: `  callgate tools show edit_file
  callgate tools show edit_file --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTools(true),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			cat, err := flags.shownCatalog()
			if err != nil {
				return err
			}
			t, err := named(cat, args[0])
			if err != nil {
				return err
			}
			digest, err := t.Digest()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					callgate.Spec
					Source string `json:"source"`
					Digest string `json:"digest"`
				}{t.Spec, t.Source, digest})
			}
			return showTool(cmd.OutOrStdout(), t, digest)
		}),
	}
	flags.add(cmd)
	jsonFlag(cmd, &asJSON, "print the tool's definition as JSON, with its source and digest")
	return cmd
}

func showTool(w io.Writer, t callgate.Tool, digest string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s", t.Name)
	if t.Title != "" {
		fmt.Fprintf(&b, " (%s)", t.Title)
	}
	fmt.Fprintf(&b, "\n\n%s\n\n", t.Description)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "A call\t%s\n", hints(t.Annotations))
	fmt.Fprintf(tw, "Repetition\t%s\n", t.Annotations.Effect())
	fmt.Fprintf(tw, "Source\t%s\n", cmp.Or(t.Source, "built in"))
	if d := t.Timeout(); d > 0 {
		fmt.Fprintf(tw, "Time limit\t%v\n", d)
	}
	if t.OutputLimit > 0 {
		fmt.Fprintf(tw, "Output limit\t%d characters\n", t.OutputLimit)
	}
	if len(t.Repair) > 0 {
		fmt.Fprintf(tw, "Repairs\t%s\n", strings.Join(t.Repair, ", "))
	}
	if t.Defer {
		fmt.Fprintf(tw, "Shown\tafter a search\n")
	}
	fmt.Fprintf(tw, "Digest\t%s\n", digest)
	tw.Flush() // into memory
	fmt.Fprintf(&b, "\nInput schema\n%s\n", indented(t.InputSchema))
	if len(t.OutputSchema) > 0 {
		fmt.Fprintf(&b, "\nOutput schema\n%s\n", indented(t.OutputSchema))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// indented returns JSON for people. Only blanks change.
func indented(raw []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return raw
	}
	return b.Bytes()
}

func toolsSchemaCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	var provider string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the tools as a request to a model has them",
		Long: `Print the tools as JSON: as the tools member of a request to a provider's API
with --for, else their full definitions. A provider is shown names and schemas
that it accepts; what is enforced is always the full schema.`,
		Example: `  callgate tools schema --for anthropic
  callgate tools schema --for openai --json | my-agent
  callgate tools schema`,
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			cat, err := flags.shownCatalog()
			if err != nil {
				return err
			}
			var out []byte
			switch provider {
			case "":
				out, err = json.Marshal(cat.Specs())
			case "anthropic":
				out = anthropic.Encode(cat).Tools
			case "openai":
				out = openai.Encode(cat).Tools
			default:
				return usagef("--for %q is none of anthropic, openai", provider)
			}
			if err != nil {
				return err
			}
			if !asJSON {
				out = indented(out)
			}
			_, err = cmd.OutOrStdout().Write(append(out, '\n'))
			return err
		}),
	}
	flags.add(cmd)
	jsonFlag(cmd, &asJSON, "print it on one line")
	cmd.Flags().StringVar(&provider, "for", "", "provider: anthropic or openai")
	cmd.RegisterFlagCompletionFunc("for", oneOf("anthropic", "openai"))
	return cmd
}

// arguments returns the arguments that the command line gives: the second word,
// standard input for -, or nothing.
func arguments(ctx context.Context, cmd *cobra.Command, args []string) (json.RawMessage, error) {
	if len(args) < 2 {
		return nil, nil
	}
	if args[1] != "-" {
		return json.RawMessage(args[1]), nil
	}
	data, err := await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxTurn+1)) })
	if err == nil && len(data) > maxTurn {
		return nil, usagef("the arguments have more than %d bytes", maxTurn)
	}
	return data, err
}

func toolsValidateCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate NAME [ARGS|-]",
		Short: "Check arguments against a tool's schema, without a call",
		Long: `Check arguments exactly as a call's would be, and print each violation on a line:
where (a JSON Pointer), what, and what was expected. ARGS is JSON; - reads it from
standard input; nothing means {}. The exit code is 0 if they are valid, 1 if not.`,
		Example: `  callgate tools validate read_file '{"path":"go.mod"}'
  callgate tools validate read_file - < args.json
  callgate tools validate read_file '{"pth":1}' --json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeTools(true),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			cat, err := flags.shownCatalog()
			if err != nil {
				return err
			}
			if _, err := named(cat, args[0]); err != nil {
				return err
			}
			raw, err := arguments(cmd.Context(), cmd, args)
			if err != nil {
				return err
			}
			violations, err := cat.Validate(args[0], raw)
			return report(cmd.OutOrStdout(), args[0], violations, err, asJSON)
		}),
	}
	flags.add(cmd)
	jsonFlag(cmd, &asJSON, "print the tool, valid, code, message and violations as JSON")
	return cmd
}

// report prints what is wrong with arguments, if anything.
func report(w io.Writer, tool string, violations schema.Violations, malformed error, asJSON bool) error {
	r := struct {
		Tool       string            `json:"tool"`
		Valid      bool              `json:"valid"`
		Code       callgate.Code     `json:"code"`
		Message    string            `json:"message"`
		Violations schema.Violations `json:"violations"`
	}{Tool: tool, Valid: true, Violations: schema.Violations{}}
	text := "valid"
	switch {
	case malformed != nil:
		e, ok := errors.AsType[*callgate.Error](malformed)
		if !ok {
			return malformed
		}
		r.Valid, r.Code, r.Message, text = false, e.Code, e.Message, e.Message
	case len(violations) > 0:
		text = violations.String()
		r.Valid, r.Code, r.Message, r.Violations = false, callgate.InvalidArguments, text, violations
	}
	var err error
	if asJSON {
		err = printJSON(w, r)
	} else {
		_, err = fmt.Fprintln(w, text)
	}
	if err == nil && !r.Valid {
		err = silent(exitError)
	}
	return err
}

func toolsCallCommand() *cobra.Command {
	var flags gateFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call NAME [ARGS|-]",
		Short: "Call a tool through the gate",
		Long: `Call a tool as a model would, through the same gate, and print what the model
would read. ARGS is JSON; - reads it from standard input; nothing means {}. Reads
in the workspace are allowed; every other tool needs --allow. The exit code is 0
for a success, 1 for a failed call, 3 for a denied one.`,
		Example: `  callgate tools call read_file '{"path":"go.mod","limit":3}'
  callgate tools call write_file - --allow write_file < args.json
  callgate tools call read_file '{"path":"go.mod"}' --json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeTools(true),
		RunE: does(func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			g, err := flags.open(cmd)
			if err != nil {
				return err
			}
			defer g.closing(&err)
			if _, err := named(g.catalog, args[0]); err != nil {
				return err
			}
			raw, err := arguments(ctx, cmd, args)
			if err != nil {
				return err
			}
			g.oneTurn()
			turn := callgate.Calls(callgate.Call{ID: "call_1", Name: args[0], Arguments: raw})
			turn.Session = g.session
			if turn.Number, err = g.nextTurn(); err != nil {
				return err
			}
			if g.held != nil {
				body, err := json.Marshal(map[string]any{"calls": turn.Calls})
				if err != nil { // arguments that are no JSON
					body = raw
				}
				if err := g.held.Append(&journal.Turn{Number: turn.Number, Role: journal.Assistant, Format: "callgate", Body: body}); err != nil {
					return fmt.Errorf("the call cannot be recorded, so it was not run: %w", err)
				}
			}
			r := g.dispatcher.Dispatch(ctx, g.catalog, turn)[0]
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), r)
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSuffix(r.ModelText(), "\n"))
			}
			if err == nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			if code := exitFor(r.Code); err == nil && code != exitDone {
				err = silent(code)
			}
			return err
		}),
	}
	flags.add(cmd)
	jsonFlag(cmd, &asJSON, "print every field of the result as JSON")
	return cmd
}
