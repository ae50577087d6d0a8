package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// applicationID marks the file as a journal: "cgjl".
const applicationID = 0x63676a6c

// migrations lead from format i to i+1. A released one is never edited.
//
// seq is a row's place in the chain, from 1, and NULL while a call is open. Times
// are microseconds since 1970.
var migrations = []string{
	`CREATE TABLE sessions (
		id          TEXT    PRIMARY KEY,
		workspace   TEXT    NOT NULL,
		title       TEXT    NOT NULL,
		parent      TEXT    NOT NULL,
		parent_turn INTEGER NOT NULL,
		owner       TEXT    NOT NULL,
		created     INTEGER NOT NULL,
		updated     INTEGER NOT NULL,
		seq         INTEGER NOT NULL
	) STRICT;
	CREATE UNIQUE INDEX sessions_chain ON sessions(seq);
	CREATE INDEX sessions_updated ON sessions(updated, id);
	CREATE INDEX sessions_parent ON sessions(parent) WHERE parent <> '';
	CREATE INDEX sessions_owner ON sessions(owner) WHERE owner <> '';

	CREATE TABLE turns (
		id          INTEGER PRIMARY KEY,
		session     TEXT    NOT NULL,
		pos         INTEGER NOT NULL,
		number      INTEGER NOT NULL,
		role        TEXT    NOT NULL,
		format      TEXT    NOT NULL,
		body        BLOB    NOT NULL,
		digest      BLOB    NOT NULL,
		redacted    INTEGER NOT NULL,
		model       TEXT    NOT NULL,
		stop        TEXT    NOT NULL,
		input       INTEGER NOT NULL,
		output      INTEGER NOT NULL,
		cache_read  INTEGER NOT NULL,
		cache_write INTEGER NOT NULL,
		created     INTEGER NOT NULL,
		seq         INTEGER NOT NULL
	) STRICT;
	CREATE UNIQUE INDEX turns_place ON turns(session, pos);
	CREATE UNIQUE INDEX turns_number ON turns(session, number) WHERE role = 'assistant';
	CREATE UNIQUE INDEX turns_chain ON turns(seq);

	CREATE TABLE calls (
		id           INTEGER PRIMARY KEY,
		session      TEXT    NOT NULL,
		turn         INTEGER NOT NULL,
		idx          INTEGER NOT NULL,
		run          INTEGER NOT NULL,
		call_id      TEXT    NOT NULL,
		tool         TEXT    NOT NULL,
		source       TEXT    NOT NULL,
		tool_digest  TEXT    NOT NULL,
		effect       TEXT    NOT NULL,
		arguments    BLOB    NOT NULL,
		digest       BLOB    NOT NULL,
		redacted     INTEGER NOT NULL,
		verdict      TEXT    NOT NULL,
		rule         TEXT    NOT NULL,
		reason       TEXT    NOT NULL,
		approver     TEXT    NOT NULL,
		labels       TEXT    NOT NULL,
		sandbox      TEXT    NOT NULL,
		owner        TEXT    NOT NULL,
		claimed      INTEGER NOT NULL,
		started      INTEGER NOT NULL DEFAULT 0,
		ended        INTEGER NOT NULL DEFAULT 0,
		attempts     INTEGER NOT NULL DEFAULT 0,
		state        TEXT    NOT NULL DEFAULT '',
		code         TEXT    NOT NULL DEFAULT '',
		truncated    INTEGER NOT NULL DEFAULT 0,
		result       BLOB    NOT NULL DEFAULT x'',
		artifact     TEXT    NOT NULL DEFAULT '',
		artifact_sum BLOB    NOT NULL DEFAULT x'',
		seq          INTEGER
	) STRICT;
	CREATE UNIQUE INDEX calls_identity ON calls(session, turn, idx, run);
	CREATE INDEX calls_tool ON calls(tool, id);
	CREATE UNIQUE INDEX calls_chain ON calls(seq) WHERE seq IS NOT NULL;
	CREATE INDEX calls_open ON calls(owner) WHERE seq IS NULL;
	CREATE INDEX calls_artifact ON calls(artifact) WHERE artifact <> '';

	CREATE TABLE approvals (
		id          INTEGER PRIMARY KEY,
		session     TEXT    NOT NULL,
		turn        INTEGER NOT NULL,
		idx         INTEGER NOT NULL,
		tool        TEXT    NOT NULL,
		tool_digest TEXT    NOT NULL,
		digest      BLOB    NOT NULL,
		rule        TEXT    NOT NULL,
		reason      TEXT    NOT NULL,
		approved    INTEGER NOT NULL,
		approver    TEXT    NOT NULL,
		message     TEXT    NOT NULL,
		asked       INTEGER NOT NULL,
		answered    INTEGER NOT NULL,
		seq         INTEGER NOT NULL
	) STRICT;
	CREATE INDEX approvals_call ON approvals(session, turn, idx, id);
	CREATE UNIQUE INDEX approvals_chain ON approvals(seq);

	CREATE TABLE removals (
		id      INTEGER PRIMARY KEY,
		session TEXT    NOT NULL,
		reason  TEXT    NOT NULL,
		places  TEXT    NOT NULL,
		removed INTEGER NOT NULL,
		seq     INTEGER NOT NULL
	) STRICT;
	CREATE UNIQUE INDEX removals_chain ON removals(seq);

	CREATE TABLE chain (
		seq    INTEGER PRIMARY KEY,
		kind   TEXT    NOT NULL,
		ref    INTEGER NOT NULL,
		digest BLOB    NOT NULL,
		hash   BLOB    NOT NULL
	) STRICT;`,
}

// migrate brings the file to the newest format, in one transaction with the look
// at its present one: two processes may open a new file at once.
func migrate(ctx context.Context, c *sql.Conn) (err error) {
	if _, err := c.ExecContext(ctx, `PRAGMA synchronous = FULL; BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.ExecContext(ctx, `ROLLBACK`)
		}
	}()
	version, err := format(ctx, c)
	if err != nil {
		return err
	}
	for _, m := range migrations[version:] {
		if _, err := c.ExecContext(ctx, m); err != nil {
			return err
		}
	}
	if version < len(migrations) {
		if _, err := c.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, len(migrations))); err != nil {
			return err
		}
	}
	_, err = c.ExecContext(ctx, `COMMIT`)
	return err
}

// format returns the format of the file, 0 for an empty one, within a transaction. It is
// an error if the file is no journal, or one of a format that is not known.
func format(ctx context.Context, c interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	var app, tables int
	for _, q := range []struct {
		query string
		into  *int
	}{
		{`PRAGMA application_id`, &app}, {`PRAGMA user_version`, &version}, {`SELECT count(*) FROM sqlite_schema`, &tables},
	} {
		if err := c.QueryRowContext(ctx, q.query).Scan(q.into); err != nil {
			return 0, err
		}
	}
	switch {
	case app != applicationID && (app != 0 || tables > 0):
		return 0, errors.New("it is another program's database")
	case version < 0:
		return 0, fmt.Errorf("it has format %d, which no version writes: it is damaged", version)
	case version > len(migrations):
		return 0, fmt.Errorf("it has format %d, from a newer version; this one knows formats up to %d", version, len(migrations))
	}
	return version, nil
}
