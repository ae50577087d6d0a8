package eval

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
)

// The elements of a JUnit report that CI systems read: testsuites, testsuite,
// testcase, and in it failure, error or skipped.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Time    string        `xml:"time,attr"`
		Skipped *struct{}     `xml:"skipped"`
		Error   *junitProblem `xml:"error"`
		Failure *junitProblem `xml:"failure"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: a test case for each task, since a
// task may pass although some of its trials fail. The text of a failure has a line
// for each trial that did not pass. What XML does not allow is left out: control
// characters, terminal escapes.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{junitCounts: junitCounts{
		Name: xmlText("callgate eval " + r.Suite), Tests: len(r.Tasks) + len(r.Skipped),
		Failures: r.Totals.Failed, Errors: r.Totals.Errors + r.Totals.Incomplete, Skipped: len(r.Skipped),
	}}
	whole := 0.0
	for _, t := range r.Tasks {
		took := 0.0
		for _, tr := range t.Results {
			took += tr.DurationMS
		}
		whole += took
		c := junitCase{Class: "eval", Name: t.Name, File: xmlText(t.File), Time: seconds(took)}
		switch t.Status {
		case Failed:
			c.Failure = t.problem()
		case Errors, Incomplete:
			c.Error = t.problem()
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, name := range r.Skipped {
		suite.Cases = append(suite.Cases, junitCase{Class: "eval", Name: name, Time: seconds(0), Skipped: &struct{}{}})
	}
	suite.Time = seconds(whole)
	all := junitSuites{junitCounts: suite.junitCounts, Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// problem describes why the task did not pass.
func (t *TaskReport) problem() *junitProblem {
	if t.Error != "" {
		return &junitProblem{Type: "task", Message: xmlText(t.Error), Text: xmlText(t.Error)}
	}
	p := &junitProblem{Message: fmt.Sprintf("%d of %d trials passed; %d must", t.Passes, t.Trials, t.Needed)}
	if t.Status == Incomplete {
		p.Type, p.Message = "interrupted", fmt.Sprintf("interrupted after %d of %d trials, of which %d passed", t.Trials, t.planned, t.Passes)
	}
	var lines []string
	for i := range t.Results {
		tr := &t.Results[i]
		if tr.Status == Passed {
			continue
		}
		lines = append(lines, fmt.Sprintf("trial %d: %s", tr.Number, tr.Why()))
		switch {
		case p.Type != "":
		case tr.Failure != nil:
			p.Type = tr.Failure.Kind
		default:
			p.Type = "trial"
		}
	}
	p.Text = xmlText(strings.Join(lines, "\n"))
	return p
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }

// xmlText leaves out what XML 1.0 (section 2.2, Char) does not allow.
func xmlText(s string) string {
	s, _ = plaintext.Clean(s, false)
	return strings.Map(func(r rune) rune {
		if r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, s)
}
