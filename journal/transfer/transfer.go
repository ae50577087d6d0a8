// Package transfer is the file form of recorded sessions: what package journal
// exports, and imports into another journal.
//
// # The format
//
// A file is JSON Lines, UTF-8, each line ended by a line feed. The first line says
// what the file is, and which sessions it holds: the one that was exported comes last,
// before it those that it was forked from, the oldest first, each with its turns and
// calls up to the turn that the next one was forked from.
//
//	{"format":"callgate session","version":1,"head":"…","sessions":[{…}]}
//	{"turn":{…}}
//	{"approval":{…}}
//	{"call":{…}}
//	{"artifact":{…}}
//	{"piece":"…"}
//	{"end":{"turns":1,"approvals":1,"calls":1,"artifacts":1,"sha256":"…"}}
//
// Then come for each session in that order its turns by place, its approvals by turn
// and index, and its calls by turn, index and run; then whole outputs, if they were
// asked for, in pieces of 1 MiB. The last line has the counts and the SHA-256 of all
// bytes before it.
//
// A text is a JSON string if it is valid UTF-8, else {"base64":"…"}: every byte comes
// back as it was. Digests are in hex, times in microseconds since 1970. A member that
// is absent stands for its zero value.
//
// # What it promises
//
// A file that was cut or changed by accident is noticed, with the number of the line. So
// is one that says what no journal holds: a call that is open, runs with a gap, a digest
// that is not that of the arguments. Reader and Writer hold to the same rules.
//
// # What it does not
//
// Who can write the file can write another one. That it is whole proves nothing about
// what ran: only the journal's own chain and a kept head do.
package transfer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What the first line says.
const (
	Format  = "callgate session"
	Version = 1
)

// The limits of a file. A Writer refuses what would exceed them, a Reader stops there.
const (
	MaxLine     = 16 << 20 // bytes, with its line feed
	MaxTotal    = 1 << 30  // bytes
	MaxSessions = 1001
	PieceSize   = 1 << 20 // bytes of every piece of an artifact but the last, which may be shorter
)

// A Header is the first line.
type Header struct {
	Head     string    `json:"head"` // of the journal when it was exported: rows:hash
	Sessions []Session `json:"sessions"`
}

// A Session is forked from the one before it, if there is one, after ParentTurn.
type Session struct {
	ID         Text  `json:"id"`
	Workspace  Text  `json:"workspace,omitzero"`
	Title      Text  `json:"title,omitzero"`
	ParentTurn int64 `json:"parentTurn,omitzero"` // 0 for the first
	Created    int64 `json:"created"`
	Updated    int64 `json:"updated"`
}

// An Item is a line between the first and the last: one of its members is set.
type Item struct {
	Turn     *Turn     `json:"turn,omitzero"`
	Approval *Approval `json:"approval,omitzero"`
	Call     *Call     `json:"call,omitzero"`
	Artifact *Artifact `json:"artifact,omitzero"`
	Piece    []byte    `json:"piece,omitzero"` // of the artifact before it
}

// A Turn is what one side said.
type Turn struct {
	Session    Text   `json:"session"`
	Pos        int64  `json:"pos"` // from 0
	Number     int64  `json:"number"`
	Role       Text   `json:"role"`
	Format     Text   `json:"format,omitzero"`
	Body       Text   `json:"body,omitzero"`
	Digest     string `json:"digest"` // of Body before it was redacted
	Redacted   bool   `json:"redacted,omitzero"`
	Model      Text   `json:"model,omitzero"`
	Stop       Text   `json:"stop,omitzero"`
	Input      int64  `json:"input,omitzero"`
	Output     int64  `json:"output,omitzero"`
	CacheRead  int64  `json:"cacheRead,omitzero"`
	CacheWrite int64  `json:"cacheWrite,omitzero"`
	Created    int64  `json:"created"`
}

// An Approval is what a person said of a call.
type Approval struct {
	Session    Text   `json:"session"`
	Turn       int64  `json:"turn"`
	Index      int64  `json:"index"`
	Tool       Text   `json:"tool"`
	ToolDigest Text   `json:"toolDigest,omitzero"`
	Digest     string `json:"digest"` // of the call
	Rule       Text   `json:"rule,omitzero"`
	Reason     Text   `json:"reason,omitzero"`
	Approved   bool   `json:"approved"`
	By         Text   `json:"by,omitzero"`
	Message    Text   `json:"message,omitzero"`
	Asked      int64  `json:"asked"`
	Answered   int64  `json:"answered"`
}

// A Call is one settled run of a call.
type Call struct {
	Session     Text   `json:"session"`
	Turn        int64  `json:"turn"`
	Index       int64  `json:"index"`
	Run         int64  `json:"run"`
	CallID      Text   `json:"callId,omitzero"`
	Tool        Text   `json:"tool"`
	Source      Text   `json:"source,omitzero"`
	ToolDigest  Text   `json:"toolDigest,omitzero"`
	Effect      string `json:"effect"`
	Arguments   Text   `json:"arguments,omitzero"`
	Digest      string `json:"digest"`            // callgate.Call.Digest, before the arguments were redacted
	Redacted    bool   `json:"redacted,omitzero"` // the arguments or the result
	Verdict     string `json:"verdict"`
	Rule        Text   `json:"rule,omitzero"`
	Reason      Text   `json:"reason,omitzero"`
	By          Text   `json:"by,omitzero"`
	Labels      Text   `json:"labels,omitzero"` // a JSON object of strings
	Sandbox     Text   `json:"sandbox,omitzero"`
	Claimed     int64  `json:"claimed"`
	Started     int64  `json:"started,omitzero"` // 0 if it never began, or nobody knows
	Ended       int64  `json:"ended"`
	Attempts    int64  `json:"attempts,omitzero"`
	State       string `json:"state"`
	Code        string `json:"code,omitzero"`
	Truncated   bool   `json:"truncated,omitzero"`
	Result      Text   `json:"result"`               // a callgate.Result as JSON
	Artifact    string `json:"artifact,omitzero"`    // id of the whole output
	ArtifactSum string `json:"artifactSum,omitzero"` // its SHA-256, if it was known
}

// An Artifact is a whole output that calls of the file name. Its pieces follow it.
type Artifact struct {
	ID     string `json:"id"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// end is the last line.
type end struct {
	Turns     int64  `json:"turns"`
	Approvals int64  `json:"approvals"`
	Calls     int64  `json:"calls"`
	Artifacts int64  `json:"artifacts"`
	SHA256    string `json:"sha256"` // of all bytes before this line
}

// strict are the rules by which a line is read.
var strict = jsonv2.RejectUnknownMembers(true)

// Text is a text, or any bytes.
type Text string

type encoded struct {
	Base64 string `json:"base64"`
}

// MarshalJSONTo writes a string, or an object with base64 if that would lose bytes.
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error {
	if utf8.ValidString(string(t)) {
		return enc.WriteToken(jsontext.String(string(t)))
	}
	return jsonv2.MarshalEncode(enc, encoded{base64.StdEncoding.EncodeToString([]byte(t))})
}

// UnmarshalJSONFrom reads what MarshalJSONTo writes, and nothing else.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		tok, err := dec.ReadToken()
		*t = Text(tok.String())
		return err
	case '{':
		var e encoded
		if err := jsonv2.UnmarshalDecode(dec, &e); err != nil {
			return err
		}
		b, err := base64.StdEncoding.DecodeString(e.Base64)
		switch {
		case err != nil || base64.StdEncoding.EncodeToString(b) != e.Base64:
			return errors.New("it is no base64")
		case utf8.Valid(b):
			return errors.New("it is a text and must be written as one")
		}
		*t = Text(b)
		return nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	return errors.New("it is neither a string nor an object with base64")
}

// isLabels reports whether s is a JSON object of strings.
func isLabels(s Text) bool {
	var m map[string]string
	return json.Unmarshal([]byte(s), &m) == nil && m != nil
}
