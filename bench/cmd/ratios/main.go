// Ratios measures the gate and its peers in one process, in turn, and prints
// what each did with the same bad calls and how long the good ones took, as
// Markdown.
//
//	go run ./cmd/ratios                    everything, three to four minutes
//	go run ./cmd/ratios -run 'dispatch|batch'
//	go run ./cmd/ratios -facts             the correctness tables only, as in FACTS.md
//
// The numbers are reported, never judged: the exit status is 0 whatever they are.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/bench"
)

func main() {
	bench.Child()
	rounds := flag.Int("rounds", 5, "how often each benchmark runs; medians are printed")
	each := flag.Duration("benchtime", 200*time.Millisecond, "how long each benchmark runs in a round")
	run := flag.String("run", "", "regular expression of the benchmarks to run, such as dispatch/small")
	factsOnly := flag.Bool("facts", false, "only the correctness tables")
	testing.Init()
	flag.Parse()
	if err := flag.Set("test.benchtime", each.String()); err != nil {
		fail(err)
	}
	pick, err := regexp.Compile(*run)
	if err != nil {
		fail(err)
	}

	if *factsOnly {
		bench.WriteCorrectness(context.Background(), os.Stdout)
		return
	}
	fmt.Printf("%s\n\n", machine())
	bench.WriteCorrectness(context.Background(), os.Stdout)

	var works []bench.Work
	for _, w := range bench.Works() {
		if pick.MatchString(w.Name()) {
			works = append(works, w)
		}
	}
	rows, err := bench.Measure(works, max(*rounds, 1), func(round int) {
		fmt.Fprintf(os.Stderr, "round %d of %d, %d benchmarks\n", round+1, *rounds, len(works))
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		return
	}
	fmt.Printf("\n## How long it takes\n\n%d rounds of %v each, medians.\n", *rounds, *each)
	bench.WriteRows(os.Stdout, rows)
}

// machine says where and with what the numbers were made.
func machine() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s/%s, GOMAXPROCS %d", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b.String()
	}
	peers := regexp.MustCompile(`^(charm\.land/fantasy|github\.com/(google/jsonschema-go|mark3labs/mcp-go|modelcontextprotocol/go-sdk|santhosh-tekuri/jsonschema/v6))$`)
	for _, d := range info.Deps {
		if peers.MatchString(d.Path) {
			fmt.Fprintf(&b, ", %s %s", d.Path, d.Version)
		}
	}
	return b.String()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "ratios:", err)
	os.Exit(2)
}
