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
var migrations = []string{
	// seq is the row's place in the chain, from 1, and NULL while the call is
	// open. Times are microseconds since 1970.
	`CREATE TABLE calls (
		id          INTEGER PRIMARY KEY,
		session     TEXT    NOT NULL,
		turn        INTEGER NOT NULL,
		idx         INTEGER NOT NULL,
		run         INTEGER NOT NULL,
		call_id     TEXT    NOT NULL,
		tool        TEXT    NOT NULL,
		source      TEXT    NOT NULL,
		tool_digest TEXT    NOT NULL,
		effect      TEXT    NOT NULL,
		arguments   BLOB    NOT NULL,
		digest      BLOB    NOT NULL,
		verdict     TEXT    NOT NULL,
		rule        TEXT    NOT NULL,
		reason      TEXT    NOT NULL,
		approver    TEXT    NOT NULL,
		labels      TEXT    NOT NULL,
		owner       TEXT    NOT NULL,
		claimed     INTEGER NOT NULL,
		started     INTEGER NOT NULL DEFAULT 0,
		ended       INTEGER NOT NULL DEFAULT 0,
		attempts    INTEGER NOT NULL DEFAULT 0,
		state       TEXT    NOT NULL DEFAULT '',
		code        TEXT    NOT NULL DEFAULT '',
		truncated   INTEGER NOT NULL DEFAULT 0,
		result      BLOB    NOT NULL DEFAULT x'',
		seq         INTEGER,
		hash        BLOB    NOT NULL DEFAULT x''
	) STRICT;
	CREATE UNIQUE INDEX calls_identity ON calls(session, turn, idx, run);
	CREATE INDEX calls_tool ON calls(tool, id);
	CREATE UNIQUE INDEX calls_chain ON calls(seq) WHERE seq IS NOT NULL;
	CREATE INDEX calls_open ON calls(owner) WHERE seq IS NULL;`,
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
	var app, version, tables int
	for _, q := range []struct {
		query string
		into  *int
	}{
		{`PRAGMA application_id`, &app}, {`PRAGMA user_version`, &version}, {`SELECT count(*) FROM sqlite_schema`, &tables},
	} {
		if err := c.QueryRowContext(ctx, q.query).Scan(q.into); err != nil {
			return err
		}
	}
	switch {
	case app != applicationID && (app != 0 || tables > 0):
		return errors.New("it is another program's database")
	case version > len(migrations):
		return fmt.Errorf("it has format %d, from a newer version; this one knows formats up to %d", version, len(migrations))
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
