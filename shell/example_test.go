package shell_test

import (
	"fmt"

	"github.com/callgate/callgate/shell"
)

// A judge sees a wrapper and what it starts, wherever they hide.
func ExampleParse() {
	f, err := shell.Parse(`cd src && CTX=prod nohup helm "up"grade $(cat name) > log`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range f.Commands {
		fmt.Print(c.Dirs, c.Via)
		for _, w := range c.Words {
			if w.Literal() {
				fmt.Printf(" %q", w.Text)
			} else {
				fmt.Printf(" (%s)", w.Why)
			}
		}
		fmt.Println()
	}
	for _, r := range f.Redirects {
		fmt.Println(r.Dirs, r.Op, r.Target.Text, r.Writes)
	}
	// Output:
	// [.] [] "cd" "src"
	// [src] [] "nohup" "helm" "upgrade" (cmd)
	// [src] [nohup] "helm" "upgrade" (cmd)
	// [src] [] "cat" "name"
	// [src] > log true
}

// A line that is not proven to write nothing comes with the reason.
func ExampleReadOnly() {
	for _, line := range []string{
		`grep -rn needle . | sort | uniq -c | head`,
		`sort -o notes.txt notes.txt`,
		`sort *`,
		`git log --oneline`,
		`ls $(rm x)`,
		`eval ls`,
	} {
		f, err := shell.Parse(line)
		if err != nil {
			fmt.Println(err)
			continue
		}
		ok, why := shell.ReadOnly(f, shell.Untrusted)
		if ok {
			fmt.Println("writes nothing")
		} else {
			fmt.Println(why)
		}
	}
	// Output:
	// writes nothing
	// sort: -o is not among the flags known to be harmless
	// sort: * may become an option
	// git: the repository's configuration can run programs, and the folder is not trusted
	// rm: not in the table of commands that write nothing
	// eval ls: what it does is only known when it runs (code)
}
