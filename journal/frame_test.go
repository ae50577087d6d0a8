package journal

import (
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"testing"
)

// reseal changes the payload of the first frame of data and makes its sum right.
func reseal(data []byte, change func(payload []byte)) []byte {
	payload := data[frameHead : frameHead+binary.BigEndian.Uint32(data)]
	change(payload)
	binary.BigEndian.PutUint32(data[4:], crc32.Checksum(payload, castagnoli))
	return data
}

func frameRow() *row {
	return &row{
		session: "s", turn: -3, index: 2, run: 1, claimed: 1 << 50, callID: "call_0", tool: "read", source: "mcp", toolDigest: "abc", effect: "read-only",
		arguments: []byte(`{"a":1}`), digest: make([]byte, 32), redacted: true, verdict: "allow", rule: "r", reason: "because", by: "ada", labels: `{"a":"b"}`, sandbox: "none",
		started: 5, ended: 6, attempts: 1, state: "done", code: "", truncated: true, result: []byte(`{}`), artifact: "id", artifactSum: []byte{},
	}
}

// Each part comes back as it was, and only what belongs to it.
func TestFrame(t *testing.T) {
	r := frameRow()
	claim := *r
	claim.settledAs(&row{redacted: true})
	settle := &row{session: "s", turn: -3, index: 2, run: 1, claimed: 1 << 50}
	settle.settledAs(r)
	for parts, want := range map[byte]*row{partClaim: &claim, partSettle: settle, partClaim | partSettle: r} {
		list, err := frames(appendFrame(nil, parts, r))
		if err != nil || len(list) != 1 || list[0].parts != parts || !reflect.DeepEqual(&list[0].row, want) {
			t.Errorf("parts %d: %v\ngot  %+v\nwant %+v", parts, err, list, want)
		}
	}
}

// A whole frame that holds something else is an error, not the end of the file.
func TestFrameRefuses(t *testing.T) {
	for name, change := range map[string]func([]byte){
		"format":      func(p []byte) { p[0] = 2 },
		"parts":       func(p []byte) { p[1] = 4 },
		"no parts":    func(p []byte) { p[1] = 0 },
		"more parts":  func(p []byte) { p[1] = partClaim | partSettle },
		"less parts":  func(p []byte) { p[1] = partSettle },
		"long text":   func(p []byte) { p[2] = 0x7f },
		"flag":        func(p []byte) { p[len(p)-1] = 2 },
		"long number": func(p []byte) { copy(p[4:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") },
	} {
		if list, err := frames(reseal(appendFrame(nil, partClaim, frameRow()), change)); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// Whatever the bytes are, they are read without harm, and what is read is written as
// it was and read as the same.
func FuzzFrames(f *testing.F) {
	r := frameRow()
	f.Add(appendFrame(nil, partClaim, r), []byte{})
	f.Add(appendFrame(appendFrame(nil, partClaim, r), partSettle, r)[:200], []byte{1, 1, 1, 's', 1, 2, 3, 4})
	f.Add([]byte{}, []byte{1, 2, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data, payload []byte) {
		// The sum keeps the fuzzer out of the payload: make one that is right.
		sealed := append(make([]byte, frameHead), payload...)
		binary.BigEndian.PutUint32(sealed, uint32(len(payload)))
		if len(payload) > 0 {
			sealed = reseal(sealed, func([]byte) {})
		}
		for _, data := range [][]byte{data, sealed} {
			list, err := frames(data)
			if err != nil {
				continue
			}
			var again []byte
			for i := range list {
				again = appendFrame(again, list[i].parts, &list[i].row)
			}
			back, err := frames(again)
			if err != nil || !reflect.DeepEqual(back, list) {
				t.Errorf("%v\nread    %+v\nthen as %+v", err, list, back)
			}
		}
	})
}
