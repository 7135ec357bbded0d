package db

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Map makes a list of the rows of a query, and passes its error on.
func Map[Row, T any](rows []Row, err error, from func(Row) T) ([]T, error) {
	if err != nil {
		return nil, err
	}
	list := make([]T, len(rows))
	for i, r := range rows {
		list[i] = from(r)
	}
	return list, nil
}

// name puts the name of the query before its error, as it stands at the head of what sqlc
// writes. The error of a statement without one stays as it is.
func name(sql string, err error) error {
	head, written := strings.CutPrefix(sql, "-- name: ")
	if err == nil || !written {
		return err
	}
	query, _, _ := strings.Cut(head, " ")
	return fmt.Errorf("query %s: %w", query, err)
}

// namedRow is a row whose error names the query.
type namedRow struct {
	pgx.Row
	sql string
}

// Scan reads the row.
func (r *namedRow) Scan(dest ...any) error { return name(r.sql, r.Row.Scan(dest...)) }

// namedRows are rows whose errors name the query.
type namedRows struct {
	pgx.Rows
	sql string
}

func nameRows(sql string, rows pgx.Rows, err error) (pgx.Rows, error) {
	if err != nil {
		return nil, name(sql, err)
	}
	return &namedRows{rows, sql}, nil
}

// Scan reads the row that Next has come to.
func (r *namedRows) Scan(dest ...any) error { return name(r.sql, r.Rows.Scan(dest...)) }

// Err returns what ended the rows early.
func (r *namedRows) Err() error { return name(r.sql, r.Rows.Err()) }
