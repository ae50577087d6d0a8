//go:build !linux

package process

import "context"

// startAuto starts cmd at the level that Auto takes here: confine finds it.
func startAuto(ctx context.Context, cmd Command) (*Process, error) { return startAt(ctx, cmd) }
