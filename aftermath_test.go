package callgate

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What a handler left running is told of the end of its turn if that was canceled,
// and of nothing that happens later.
func TestOnTurnCanceled(t *testing.T) {
	for _, tt := range []struct {
		name string
		// run dispatches a call of leave, and what else it likes, and says how often
		// what leave left behind has to be told.
		run  func(ctx context.Context, cancel func(), d *Dispatcher, cat *Catalog)
		told int32
	}{
		{"the turn is canceled while another call runs", func(ctx context.Context, cancel func(), d *Dispatcher, cat *Catalog) {
			time.AfterFunc(time.Second, cancel)
			d.Dispatch(ctx, cat, Calls(Call{Name: "leave"}, Call{Name: "wait"}))
		}, 1},
		{"the context ends when the turn is over", func(ctx context.Context, cancel func(), d *Dispatcher, cat *Catalog) {
			d.Dispatch(ctx, cat, Calls(Call{Name: "leave"}))
			d.Dispatch(ctx, cat, Calls(Call{Name: "leave"}, Call{Name: "done"}))
			cancel()
		}, 0},
		{"a later turn is canceled", func(ctx context.Context, cancel func(), d *Dispatcher, cat *Catalog) {
			d.Dispatch(ctx, cat, Calls(Call{Name: "leave"}))
			time.AfterFunc(time.Second, cancel)
			d.Dispatch(ctx, cat, Calls(Call{Name: "wait"}))
		}, 0},
		{"the reader leaves before all is answered", func(ctx context.Context, _ func(), d *Dispatcher, cat *Catalog) {
			for range d.Stream(ctx, cat, Calls(Call{Name: "leave"}, Call{Name: "wait"})) {
				break
			}
		}, 1},
		{"the reader leaves at the last answer", func(ctx context.Context, _ func(), d *Dispatcher, cat *Catalog) {
			left := 2
			for range d.Stream(ctx, cat, Calls(Call{Name: "leave"}, Call{Name: "done"})) {
				if left--; left == 0 {
					break
				}
			}
		}, 0},
		{"the turn of a sub-agent is canceled", func(ctx context.Context, _ func(), d *Dispatcher, cat *Catalog) {
			d.Dispatch(ctx, cat, Calls(Call{Name: "agent"}))
		}, 1},
		{"the turn in which a sub-agent had its turn is canceled", func(ctx context.Context, cancel func(), d *Dispatcher, cat *Catalog) {
			time.AfterFunc(time.Second, cancel)
			d.Dispatch(ctx, cat, Calls(Call{Name: "quickagent"}, Call{Name: "wait"}))
		}, 1},
		{"the handler comes when the turn is over", func(ctx context.Context, _ func(), d *Dispatcher, cat *Catalog) {
			d.Dispatch(ctx, cat, Calls(Call{Name: "late"}))
			time.Sleep(time.Hour)
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told atomic.Int32
				d := &Dispatcher{Policy: AllowAll}
				leave := func(ctx context.Context) {
					x, _ := ExecutionFrom(ctx)
					x.OnTurnCanceled(func() { told.Add(1) })
				}
				var r Registry
				apart := func(name string, fn func(ctx context.Context)) Tool {
					return readOnly(tool(name, func(ctx context.Context, _ Call) (Result, error) { fn(ctx); return Text("ok"), nil }))
				}
				late := apart("late", func(ctx context.Context) { time.Sleep(time.Minute); leave(ctx) })
				late.TimeoutMS = 1000
				if err := r.Register(late, apart("leave", leave), apart("done", func(context.Context) {}),
					apart("wait", func(ctx context.Context) { <-ctx.Done() }),
					apart("agent", func(ctx context.Context) {
						ctx, cancel := context.WithCancel(ctx)
						time.AfterFunc(time.Second, cancel)
						d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "leave"}, Call{Name: "wait"}))
					}),
					apart("quickagent", func(ctx context.Context) { d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "leave"})) }),
				); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tt.run(ctx, cancel, d, r.Catalog())
				cancel()
				synctest.Wait()
				if got := told.Load(); got != tt.told {
					t.Errorf("told %d times, want %d", got, tt.told)
				}
			})
		})
	}
}
