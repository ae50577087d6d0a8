package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func hexSum(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// seal returns lines as a file, with the last line that they need.
func seal(lines []string) string {
	all := strings.Join(lines, "\n") + "\n"
	count := func(kind string) (n int) {
		for _, l := range lines {
			if strings.HasPrefix(l, `{"`+kind+`":`) {
				n++
			}
		}
		return n
	}
	return all + fmt.Sprintf(`{"end":{"turns":%d,"approvals":%d,"calls":%d,"artifacts":%d,"sha256":"%s"}}`+"\n",
		count("turn"), count("approval"), count("call"), count("artifact"), hexSum(all))
}

const artifactID = "abcdefghijklmnopqrst"

// good returns the lines of a session b that was forked from a after turn 1.
func good() []string {
	call := func(where, tool, args, code, state, more string) string {
		ref := ""
		if strings.Contains(more, "artifact") {
			ref = "artifact:" + artifactID
		}
		return fmt.Sprintf(`{"call":{%s,"tool":"%s","effect":"once","arguments":"%s","digest":"%s","verdict":"allow","claimed":5,"started":6,"ended":7,"attempts":1,"state":"%s","code":"%s","result":"{\"code\":\"%s\",\"state\":\"%s\",\"artifact\":\"%s\"}"%s}}`,
			where, tool, args, hexSum(tool+"\x00"+args), state, code, code, state, ref, more)
	}
	return []string{
		`{"format":"callgate session","version":1,"head":"9:` + hexSum("") + `","sessions":[{"id":"a","title":"Ünï","created":1,"updated":2},{"id":"b","parentTurn":1,"created":3,"updated":4}]}`,
		`{"turn":{"session":"a","pos":0,"number":1,"role":"user","body":"Go.","digest":"` + hexSum("Go.") + `","created":4}}`,
		`{"turn":{"session":"a","pos":1,"number":1,"role":"assistant","format":"llm","body":{"base64":"//4="},"digest":"` + hexSum("\xff\xfe") + `","created":4,"input":7}}`,
		`{"approval":{"session":"a","turn":1,"index":0,"tool":"t","digest":"` + hexSum("") + `","approved":true,"by":"me","asked":4,"answered":5}}`,
		call(`"session":"a","turn":1,"index":0,"run":0`, "t", "x", "timeout", "unknown", `,"labels":"{\"a\":\"b\"}"`),
		call(`"session":"a","turn":1,"index":0,"run":1`, "t", "x", "", "done", ""),
		call(`"session":"a","turn":1,"index":1,"run":0`, "u", "y", "", "done", ""),
		`{"turn":{"session":"b","pos":0,"number":2,"role":"assistant","body":"More.","digest":"` + hexSum("More.") + `","created":8}}`,
		call(`"session":"b","turn":2,"index":0,"run":0`, "t", "z", "", "done", `,"truncated":true,"artifact":"`+artifactID+`","artifactSum":"`+hexSum("whole")+`"`),
		`{"artifact":{"id":"` + artifactID + `","size":5,"sha256":"` + hexSum("whole") + `"}}`,
		`{"piece":"` + base64.StdEncoding.EncodeToString([]byte("whole")) + `"}`,
	}
}

type file struct {
	Header Header
	Items  []Item
}

func readAll(data string) (f file, err error) {
	r, err := NewReader(strings.NewReader(data))
	if err != nil {
		return f, err
	}
	f.Header = r.Header
	for {
		it, err := r.Next()
		if err == io.EOF {
			return f, nil
		} else if err != nil {
			return f, err
		}
		f.Items = append(f.Items, it)
	}
}

func (f file) write() (string, error) {
	var b bytes.Buffer
	w, err := NewWriter(&b, f.Header)
	if err != nil {
		return "", err
	}
	for _, it := range f.Items {
		if err := w.Write(it); err != nil {
			return "", err
		}
	}
	err = w.Close()
	return b.String(), err
}

func TestRead(t *testing.T) {
	f, err := readAll(seal(good()))
	if err != nil {
		t.Fatal(err)
	}
	if f.Header.Sessions[0].Title != "Ünï" || f.Header.Sessions[1].ParentTurn != 1 || len(f.Items) != 10 {
		t.Errorf("%+v", f)
	}
	if got := f.Items[1].Turn; got.Body != "\xff\xfe" || got.Input != 7 {
		t.Errorf("%+v", got)
	}
	if got := f.Items[7].Call; got.Artifact != artifactID || !got.Truncated || got.Started != 6 {
		t.Errorf("%+v", got)
	}
	if got := f.Items[9].Piece; string(got) != "whole" {
		t.Errorf("%q", got)
	}
}

// Each file that is not one that was written is refused, at its line.
func TestRefused(t *testing.T) {
	// with changes one line of the good file, and makes the last line anew.
	with := func(n int, old, new string) string {
		lines := good()
		if !strings.Contains(lines[n-1], old) {
			t.Fatalf("line %d has no %s: %s", n, old, lines[n-1])
		}
		lines[n-1] = strings.Replace(lines[n-1], old, new, 1)
		return seal(lines)
	}
	// order puts the lines in another order, with some left out or twice.
	order := func(numbers ...int) string {
		var lines []string
		for _, n := range numbers {
			lines = append(lines, good()[n-1])
		}
		return seal(lines)
	}
	whole := seal(good())
	for what, c := range map[string]struct{ data, says string }{
		"nothing":                {"", "line 1: the file is empty"},
		"something else":         {"a\n", "line 1: it is no exported session"},
		"another format":         {with(1, "callgate session", "callgate eval"), "line 1: it is no exported session"},
		"a later version":        {with(1, `"version":1`, `"version":2,"new":3`), "line 1: it has version 2 of the format; this program reads version 1"},
		"no version":             {with(1, `"version":1,`, ``), "line 1: it has version 0"},
		"unknown in the header":  {with(1, `"version":1`, `"version":1,"x":1`), `line 1: /x: unknown object member name`},
		"unknown in a session":   {with(1, `"id":"a"`, `"id":"a","owner":"x"`), `line 1: /sessions/0/owner: unknown`},
		"no head":                {with(1, `"9:`, `"+9:`), "line 1: the head"},
		"a short head":           {with(1, hexSum(""), "00"), "line 1: the head"},
		"no session":             {`{"format":"callgate session","version":1,"head":"9:` + hexSum("") + `","sessions":[]}` + "\n", "line 1: it has 0 sessions"},
		"a session without name": {with(1, `"id":"a"`, `"id":""`), "line 1: a session has no name"},
		"two of one name":        {with(1, `"id":"b"`, `"id":"a"`), "line 1: two sessions are named"},
		"a parent outside":       {with(1, `"id":"a"`, `"id":"a","parentTurn":3`), "line 1: session \"a\" was forked from one that is not there"},
		"a session's time":       {with(1, `"created":3`, `"created":-3`), "line 1: session \"b\": the time -3 is out of range"},
		"unknown line":           {with(3, `{"turn"`, `{"turm"`), "line 3: /turm: unknown"},
		"other case":             {with(3, `"pos"`, `"Pos"`), "line 3: /turn/Pos: unknown"},
		"unknown member":         {with(5, `"run":0`, `"run":0,"seq":1`), "line 5: /call/seq: unknown"},
		"a name twice":           {with(5, `"run":0`, `"run":0,"run":0`), "line 5: it is no JSON of this format"},
		"two things":             {with(3, `{"turn"`, `{"piece":"","turn"`), "line 3: it says 2 things"},
		"nothing in a line":      {with(3, good()[2], `{}`), "line 3: it says 0 things"},
		"null":                   {with(3, good()[2], `{"turn":null}`), "line 3: it says 0 things"},
		"two values":             {with(3, good()[2], good()[2]+` {}`), "line 3: it is no JSON of this format"},
		"a null text":            {with(2, `"Go."`, `null`), "line 2: /turn/body: it is neither a string nor"},
		"no base64":              {with(3, `//4=`, `//4`), "line 3: /turn/body: it is no base64"},
		"loose base64":           {with(3, `//4=`, `//5=`), "line 3: /turn/body: it is no base64"},
		"base64 of a text":       {with(3, `//4=`, `YQ==`), "line 3: /turn/body: it is a text"},
		"more beside base64":     {with(3, `//4="`, `//4=","x":1`), "line 3: "},
		"invalid UTF-8":          {with(2, `Go.`, "Go\xff"), "line 2: it is no JSON of this format"},
		"half a surrogate":       {with(2, `Go.`, `\ud800`), "line 2: it is no JSON of this format"},
		"a large number":         {with(3, `"input":7`, `"input":9223372036854775808`), "line 3: /turn/input: "},
		"a fraction":             {with(3, `"input":7`, `"input":7.5`), "line 3: /turn/input: "},
		"a place left out":       {with(3, `"pos":1`, `"pos":2`), "line 3: turn 1 has place 2, want 1"},
		"a place twice":          {order(1, 2, 2), "line 3: turn 1 has place 0, want 1"},
		"a turn twice":           {with(2, `"user"`, `"assistant"`), "line 3: turn 1 of the model is there twice"},
		"another body":           {with(2, `"Go."`, `"No."`), "line 2: turn 1: its digest is not that of its body"},
		"no digest of a body":    {with(2, hexSum("Go."), "xx"), "line 2: turn 1: the digest"},
		"a digest in capitals":   {with(2, hexSum("Go."), strings.ToUpper(hexSum("Go."))), "line 2: turn 1: the digest"},
		"a turn's time":          {with(2, `"created":4`, `"created":253402300800000000`), "line 2: turn 1: the time"},
		"a session out of order": {order(1, 8, 2), `line 3: turn 1 of session "a" is not in its place`},
		"an unknown session":     {with(2, `"session":"a"`, `"session":"c"`), `line 2: turn 1 of session "c" is not in its place, or the first line`},
		"a turn after a call":    {order(1, 2, 5, 3), "line 4: turn 1 of session \"a\" is not in its place"},
		"an approval after":      {order(1, 5, 4), "line 3: the approval of call 1/0 of session \"a\" is not in its place"},
		"a call after artifacts": {order(1, 9, 10, 11, 9), "line 5: call 2/0 of session \"b\" is not in its place"},
		"a turn after artifacts": {seal([]string{good()[0], strings.Replace(good()[8], `"session":"b","turn":2`, `"session":"a","turn":1`, 1), good()[9], good()[10], good()[7]}),
			"line 5: turn 2 of session \"b\" is not in its place"},
		"a later turn of a":       {with(3, `"number":1`, `"number":2`), `line 3: turn 2 of session "a" belongs to turn 2; the next session was forked from it after turn 1`},
		"a later call of a":       {with(7, `"turn":1`, `"turn":2`), `line 7: call 2/1 of session "a" belongs to turn 2`},
		"an approval's digest":    {with(4, hexSum(""), ""), "line 4: the approval of call 1/0: the digest"},
		"an approval's time":      {with(4, `"asked":4`, `"asked":-4`), "line 4: the approval of call 1/0: the time"},
		"an approval's index":     {with(4, `"index":0`, `"index":-1`), "line 4: the approval of call 1/-1: the index is out of range"},
		"approvals out of order":  {seal([]string{good()[0], strings.Replace(good()[3], `"index":0`, `"index":1`, 1), good()[3]}), "line 3: the approval of call 1/0 is not in its place"},
		"an index":                {with(7, `"index":1`, `"index":2147483648`), "line 7: call 1/2147483648: the index is out of range"},
		"an index below 0":        {with(5, `"index":0`, `"index":-1`), "line 5: call 1/-1: the index is out of range"},
		"calls out of order":      {order(1, 7, 5), "line 3: call 1/0 is not in its place"},
		"a call twice":            {order(1, 5, 5), "line 3: call 1/0: run 0 does not come next"},
		"the first run missing":   {order(1, 6), "line 2: call 1/0: run 1 does not come next"},
		"a run missing":           {with(6, `"run":1`, `"run":2`), "line 6: call 1/0: run 2 does not come next"},
		"an open call":            {with(7, `"state":"done"`, `"state":""`), "line 7: call 1/1: it is open"},
		"an unknown state":        {with(7, `"state":"done"`, `"state":"over"`), "line 7: call 1/1: the state \"over\" is unknown"},
		"an unknown code":         {with(5, `"code":"timeout"`, `"code":"late"`), "line 5: call 1/0: the code \"late\" is unknown"},
		"an unknown effect":       {with(7, `"once"`, `"twice"`), "line 7: call 1/1: the effect \"twice\" is unknown"},
		"an unknown verdict":      {with(7, `"allow"`, `"maybe"`), "line 7: call 1/1: the verdict \"maybe\" is unknown"},
		"attempts":                {with(7, `"attempts":1`, `"attempts":-1`), "line 7: call 1/1: -1 attempts"},
		"other arguments":         {with(7, `"arguments":"y"`, `"arguments":"x"`), "line 7: call 1/1: its digest is not that of its tool and arguments"},
		"another tool":            {with(7, `"tool":"u"`, `"tool":"t"`), "line 7: call 1/1: its digest is not that of its tool and arguments"},
		"no digest":               {with(7, hexSum("u\x00y"), ""), "line 7: call 1/1: the digest"},
		"labels":                  {with(5, `"labels":"{\"a\":\"b\"}"`, `"labels":"{\"a\":1}"`), "line 5: call 1/0: its labels"},
		"null labels":             {with(5, `"labels":"{\"a\":\"b\"}"`, `"labels":"null"`), "line 5: call 1/0: its labels"},
		"a call's time":           {with(7, `"claimed":5`, `"claimed":-5`), "line 7: call 1/1: the time"},
		"no result":               {with(7, `"result":"{`, `"result":"`), "line 7: call 1/1: its result cannot be read"},
		"another result's code":   {with(7, `{\"code\":\"\"`, `{\"code\":\"timeout\"`), "line 7: call 1/1: its result has another code or state"},
		"another result's state":  {with(7, `\"state\":\"done\"`, `\"state\":\"unknown\"`), "line 7: call 1/1: its result has another code or state"},
		"an artifact of another":  {with(7, `"claimed"`, `"artifact":"`+artifactID+`","claimed"`), "line 7: call 1/1: its result names another artifact"},
		"a digest of no artifact": {with(7, `"claimed"`, `"artifactSum":"`+hexSum("")+`","claimed"`), "line 7: call 1/1: the digest"},
		"an artifact's digest":    {with(9, hexSum("whole"), "00"), "line 9: call 2/0: the digest"},
		"two artifacts' digests": {seal([]string{good()[0], good()[8], strings.NewReplacer(`"index":0`, `"index":1`, hexSum("whole"), hexSum("half")).Replace(good()[8])}),
			"line 3: call 2/1: another call says another digest"},
		"nobody's artifact":       {order(1, 2, 10, 11), "line 3: no call names the artifact"},
		"an artifact twice":       {order(1, 9, 10, 11, 10, 11), "line 5: no call names the artifact"},
		"another sum":             {with(10, hexSum("whole"), hexSum("half")), "line 10: the artifact abcdefghijklmnopqrst has another digest than its call says"},
		"a size below 0":          {with(10, `"size":5`, `"size":-5`), "line 10: the artifact abcdefghijklmnopqrst has -5 bytes"},
		"another content":         {with(11, `"d2`, `"e2`), "line 11: the artifact abcdefghijklmnopqrst does not have the digest"},
		"a size of 0":             {with(10, `"size":5`, `"size":0`), "line 10: the artifact abcdefghijklmnopqrst does not have the digest"},
		"a longer one":            {with(10, `"size":5`, `"size":4`), "line 11: a piece of an artifact has 5 bytes, want 4"},
		"an empty piece":          {with(11, good()[10], `{"piece":""}`), "line 11: a piece of an artifact has 0 bytes, want 5"},
		"a piece too many":        {order(1, 9, 10, 11, 11), "line 5: a piece of an artifact has 5 bytes, want 0"},
		"a piece of nothing":      {order(1, 11), "line 2: a piece of an artifact has 5 bytes, want 0"},
		"an empty one of nothing": {seal([]string{good()[0], `{"piece":""}`}), "line 2: a piece of an artifact has 0 bytes, want 0"},
		"a turn in the last line": {strings.Replace(whole, `{"end"`, good()[1][:len(good()[1])-1]+`,"end"`, 1), "line 12: the last line says more"},
		"a piece missing":         {order(1, 9, 10), "line 4: 5 bytes of the artifact"},
		"a turn within pieces":    {order(1, 9, 10, 8), "line 4: 5 bytes of the artifact"},
		"no last line":            {strings.Join(good(), "\n") + "\n", "line 11: the file ends before its last line: it was cut"},
		"cut within the last":     {whole[:len(whole)-1], "line 12: the file ends before its last line: it was cut"},
		"cut within a line":       {whole[:len(whole)/2], ": the file ends before its last line: it was cut"},
		"a line cut out":          {strings.Replace(whole, good()[6]+"\n", "", 1), "line 11: the lines before are not those"},
		"a changed byte":          {strings.Replace(whole, `"me"`, `"us"`, 1), "line 12: the lines before are not those"},
		"a blank":                 {strings.Replace(whole, `,"by":`, `, "by":`, 1), "line 12: the lines before are not those"},
		"carriage returns":        {strings.ReplaceAll(whole, "\n", "\r\n"), "line 12: the lines before are not those"},
		"another count":           {strings.Replace(whole, `"turns":3`, `"turns":4`, 1), "line 12: it counts 4 turns, 1 approvals, 4 calls and 1 artifacts; there are 3, 1, 4 and 1"},
		"more in the last line":   {strings.Replace(whole, `{"end"`, `{"piece":"","end"`, 1), "line 12: the last line says more"},
		"more after the last":     {whole + "\n", "line 13: there is more after the last line"},
		"half a line after":       {whole + " ", "line 13: "},
		"unknown in the last":     {strings.Replace(whole, `{"turns":3`, `{"x":0,"turns":3`, 1), "line 12: /end/x: unknown"},
		"two files":               {whole + whole, "line 13: there is more after the last line"},
		"a bomb of brackets":      {with(2, `"Go."`, strings.Repeat("[", 20000)), "line 2: "},
		"an artifact, no digest":  {with(9, `,"artifactSum":"`+hexSum("whole")+`"`, ``), "line 10: the artifact abcdefghijklmnopqrst has another digest"},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := readAll(c.data); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// What was redacted has the digest of what was there before.
func TestRedacted(t *testing.T) {
	lines := good()
	for _, n := range []int{1, 6} { // a turn and a call
		lines[n] = strings.NewReplacer(`"digest":`, `"redacted":true,"digest":`, `"Go."`, `"REDACTED"`, `"y"`, `"REDACTED"`).Replace(lines[n])
	}
	if _, err := readAll(seal(lines)); err != nil {
		t.Error(err)
	}
}

func TestLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("16 MiB")
	}
	body := strings.Repeat("x", MaxLine)
	lines := append(good()[:1], `{"turn":{"session":"a","pos":0,"number":1,"role":"user","body":"`+body+`"}}`)
	if _, err := readAll(seal(lines)); err == nil || !strings.Contains(err.Error(), "line 2: it has more than 16777216 bytes") {
		t.Errorf("read: %v", err)
	}
	f := file{Header{Head: "0:" + hexSum(""), Sessions: []Session{{ID: "a"}}}, []Item{{Turn: &Turn{Session: "a", Role: "user", Body: Text(body), Digest: hexSum(body)}}}}
	if _, err := f.write(); err == nil || !strings.Contains(err.Error(), "the limit is 16777216") {
		t.Errorf("written: %v", err)
	}
}

// endless gives the same line again and again.
type endless struct {
	line string
	at   int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], e.line[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.line)
	}
	return n, nil
}

// A file without end is given up at the limit.
func TestTotal(t *testing.T) {
	if testing.Short() {
		t.Skip("a gibibyte")
	}
	d, err := NewReader(io.MultiReader(strings.NewReader(good()[0]+"\n"), &endless{line: `{"x":1}` + "\n"}))
	if err != nil {
		t.Fatal(err)
	}
	d.total = MaxTotal - 1<<20
	for {
		if _, err = d.read(); err != nil {
			break
		}
	}
	if !strings.Contains(err.Error(), "more than 1073741824 bytes") || d.total > MaxTotal+1<<17 {
		t.Errorf("%v after %d bytes", err, d.total)
	}
	w, err := NewWriter(io.Discard, Header{Head: "0:" + hexSum(""), Sessions: []Session{{ID: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	w.total = MaxTotal - 10
	if err := w.Write(Item{Turn: &Turn{Session: "a", Role: "user", Digest: hexSum("")}}); err == nil || !strings.Contains(err.Error(), "more than 1073741824 bytes") {
		t.Error(err)
	}
}

var errDisk = errors.New("no disk")

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errDisk }
func (failing) Write([]byte) (int, error) { return 0, errDisk }

// A source or a destination that fails is what the error says.
func TestFaults(t *testing.T) {
	r, err := NewReader(io.MultiReader(strings.NewReader(good()[0]+"\n"), failing{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, errDisk) {
			t.Error(err)
		}
	}
	w, err := NewWriter(failing{}, r.Header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if w, err = NewWriter(io.Discard, r.Header); err != nil {
		t.Fatal(err)
	}
	if w.Write(Item{}) == nil || w.Close() == nil {
		t.Error("a file with a line that was refused is complete")
	}
}

// What is written is what is read, whatever bytes it has.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(100) {
		f := random(rand.New(rand.NewPCG(seed, 1)))
		data, err := f.write()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := readAll(data)
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Fatalf("seed %d: %v\n%+v\nwant\n%+v", seed, err, got, f)
		}
	}
}

func random(r *rand.Rand) (f file) {
	text := func() Text {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.IntN(256))
			if r.IntN(4) > 0 {
				b[i] = "ab\x00\"\\\n{<\u2028é"[r.IntN(13)]
			}
		}
		return Text(b)
	}
	at := func() int64 { return r.Int64N(maxTime + 1) }
	f.Header = Header{Head: fmt.Sprintf("%d:%s", r.Int64(), hexSum("x")), Sessions: []Session{}}
	turn := int64(0)
	for i := range 1 + r.IntN(3) {
		name := Text(fmt.Sprint(i)) + text()
		s := Session{ID: name, Workspace: text(), Title: text(), ParentTurn: turn, Created: at(), Updated: at()}
		f.Header.Sessions = append(f.Header.Sessions, s)
		first := turn + 1
		for pos := range r.IntN(4) {
			turn++
			body := text()
			f.Items = append(f.Items, Item{Turn: &Turn{Session: name, Pos: int64(pos), Number: turn, Role: "assistant", Format: text(), Body: body, Digest: hexSum(string(body)),
				Redacted: r.IntN(2) > 0, Model: text(), Stop: text(), Input: r.Int64(), Output: r.Int64(), CacheRead: r.Int64(), CacheWrite: -r.Int64(), Created: at()}})
		}
		for n := first; n <= turn; n++ {
			f.Items = append(f.Items, Item{Approval: &Approval{Session: name, Turn: n, Index: r.Int64N(2), Tool: text(), ToolDigest: text(), Digest: hexSum("x"), Rule: text(), Reason: text(),
				Approved: r.IntN(2) > 0, By: text(), Message: text(), Asked: at(), Answered: at()}})
		}
		for n := first; n <= turn; n++ {
			for run := range r.Int64N(3) {
				tool, args := text(), text()
				f.Items = append(f.Items, Item{Call: &Call{Session: name, Turn: n, Run: run, CallID: text(), Tool: tool, Source: text(), ToolDigest: text(), Effect: "read-only", Arguments: args,
					Digest: hexSum(string(tool) + "\x00" + string(args)), Redacted: r.IntN(2) > 0, Verdict: "ask", Rule: text(), Reason: text(), By: text(), Sandbox: text(),
					Claimed: at(), Started: at(), Ended: at(), Attempts: r.Int64N(9), State: "canceled", Code: "canceled", Truncated: r.IntN(2) > 0,
					Result: `{"code":"canceled","state":"canceled"}`}})
			}
		}
	}
	if r.IntN(8) == 0 && f.Items != nil && f.Items[len(f.Items)-1].Call != nil {
		c := f.Items[len(f.Items)-1].Call
		whole := strings.Repeat("0123456789abcdef", r.IntN(3)*PieceSize/16+r.IntN(100))
		c.Artifact, c.ArtifactSum = artifactID, hexSum(whole)
		c.Result = `{"code":"canceled","state":"canceled","artifact":"artifact:` + artifactID + `"}`
		f.Items = append(f.Items, Item{Artifact: &Artifact{artifactID, int64(len(whole)), hexSum(whole)}})
		for len(whole) > 0 {
			n := min(len(whole), PieceSize)
			f.Items = append(f.Items, Item{Piece: []byte(whole[:n])})
			whole = whole[n:]
		}
	}
	return f
}

// FuzzRead reads any lines, as they are and with the last line that they need: what
// is accepted is written again as a file that reads to the same.
func FuzzRead(f *testing.F) {
	f.Add(strings.Join(good(), "\n"))
	for i := 1; i < len(good()); i++ {
		f.Add(good()[0] + "\n" + good()[i])
	}
	f.Add(good()[0])
	f.Add(seal(good()))
	f.Add(strings.ReplaceAll(strings.Join(good(), "\n"), `"digest"`, `"redacted":true,"digest"`))
	f.Fuzz(func(t *testing.T, data string) {
		for _, data := range []string{data, seal(strings.Split(data, "\n"))} {
			first, err := readAll(data)
			if err != nil {
				continue
			}
			again, err := first.write()
			if err != nil {
				t.Fatalf("what was accepted cannot be written: %v", err)
			}
			second, err := readAll(again)
			if err != nil || !reflect.DeepEqual(first, second) {
				t.Fatalf("%v\n%+v\nwas\n%+v", err, second, first)
			}
		}
	})
}
