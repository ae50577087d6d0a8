package shell_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/shell"
)

func TestPaths(t *testing.T) {
	for _, r := range []struct{ line, want string }{
		{`cat a "b c"`, `r:a r:"b c"`},
		{`cat -n -- -a`, `r:-a`},
		{`cat a > b 2>> c < d <> e`, `r:a w:b w:c r:d rw:e`},
		{`ls 2>&1 >&- <<< a`, ``},
		{`echo a &> b >& c`, `w:b w:c`},
		{`sort -k 2 -o out in`, `w:out r:in`},
		{`sort -oout --output=o2 --output o3 in`, `w:out w:o2 w:o3 r:in`},
		{`uniq a b`, `r:a w:b`},
		{`grep -n pat a b`, `r:a r:b`},
		{`grep -e pat a`, `r:a`},
		{`grep -f pats a`, `r:pats r:a`},
		{`sed s/a/b/ x`, `r:x`},
		{`sed -i s/a/b/ x`, `rw:x`},
		{`sed -i.bak -e p x`, `rw:x`},
		{`cp a b dir`, `r:a r:b w:dir`},
		{`cp -t dir a b`, `w:dir r:a r:b`},
		{`mv a b`, `rw:a w:b`},
		{`rm -rf src`, `w:src`},
		{`nohup rm -rf src`, `w:src`},
		{`bash -c 'rm x; tee y'`, `w:x w:y`},
		{`tee -a log`, `w:log`},
		{`chmod +x a`, `w:a`},
		{`cd pkg && cat a`, `r:pkg r:a@pkg`},
		{`cd a; rm x`, `r:a w:x@.|a`},
		{`cd "$d" && echo > x`, `r:?param w:x@?`},
		{`cat $x *.go`, `r:?param r:?glob`},
		{`ls | xargs rm`, ``},
		{`find . -exec rm {} +`, `w:?replace`},
		{`curl -o f -d @x http://h`, `w:f`},
		{`unknown a b`, ``},
		{`cat link/../x`, `r:link/../x`},
		{`head -n 3 a`, `r:a`},
		{`cut -d: -f1 a`, `r:a`},
	} {
		f, err := shell.Parse(r.line)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range shell.Paths(f) {
			mode := ""
			if p.Reads {
				mode += "r"
			}
			if p.Writes {
				mode += "w"
			}
			got = append(got, mode+":"+word(p.Word)+where(p.Dirs))
		}
		if s := strings.Join(got, " "); s != r.want {
			t.Errorf("%s: %s, want %s", r.line, s, r.want)
		}
	}
}
