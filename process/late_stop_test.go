//go:build linux

package process_test

import (
	"context"
	"testing"
	"time"

	"github.com/callgate/callgate/process"
)

// A process that has run for longer than a helper may take to start it is stopped as
// soon as a younger one: by its helper, which still hears of it.
func TestStopOfAnOldProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 11 seconds")
	}
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := in(t, "sleep 1000")
	cmd.Timeout = process.Forever
	p, err := process.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(11 * time.Second)
	begin := time.Now()
	cancel()
	r := p.Wait()
	if took := time.Since(begin); took > 4*time.Second || r.Signal != "SIGTERM" || r.Reason != process.Canceled {
		t.Errorf("it took %v, %s by %s", took, r.Reason, r.Signal)
	}
}
