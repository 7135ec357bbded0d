package comments

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/patches"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// maxAttempts is how many attempts that handed in work are looked at, the newest first.
const maxAttempts = 200

func notFound() error {
	return fault.New(fault.NotFound, "There is no such comment in this workspace.")
}

func getTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (Comment, error) {
	row, err := q.CommentGet(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Comment{}, notFound()
	}
	return fromRow(row), err
}

func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, c Comment) (Comment, error) {
	row, err := q.CommentInsert(ctx, tx, dbsqlc.CommentInsertParams{WorkspaceID: workspace, ID: c.ID, JobID: c.Job, ThreadID: c.Thread,
		Epoch: c.Epoch, Commit: c.Commit, Path: c.Place.Path, Line: c.Place.Line, Side: string(c.Place.Side), LineText: c.LineText,
		Text: c.Text, AuthorKind: string(c.Author.Kind), AuthorID: c.Author.ID, Author: c.Author.Name})
	return fromRow(row), err
}

func editTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, text string) (Comment, error) {
	row, err := q.CommentEdit(ctx, tx, text, workspace, id)
	return fromRow(row), err
}

// resolveTx resolves a thread, or opens it again where by is nobody.
func resolveTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, by tenancy.Actor) (Comment, error) {
	row, err := q.CommentResolve(ctx, tx, dbsqlc.CommentResolveParams{WorkspaceID: workspace, ID: id, ByKind: string(by.Kind), ByID: by.ID,
		ByName: by.Name})
	return fromRow(row), err
}

func ofJobTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]Comment, error) {
	rows, err := q.CommentsOfJobs(ctx, tx, workspace, []ids.ID{job}, 2*MaxOfJob)
	return fromRows(rows), err
}

func openTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) ([]Comment, error) {
	rows, err := q.CommentsOpen(ctx, tx, workspace, jobs)
	return fromRows(rows), err
}

// handedIn is what an attempt has handed in.
type handedIn struct {
	epoch  int64
	commit string
	diff   string
	blob   string // with the whole patch, "" where there is none
}

// attemptsTx reads what the attempts on a job have handed in, the newest first.
func attemptsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]handedIn, error) {
	rows, err := q.CommentAttempts(ctx, tx, workspace, job, maxAttempts)
	list := make([]handedIn, len(rows))
	for i, row := range rows {
		list[i] = readHandedIn(row.Epoch, row.Result)
	}
	return list, err
}

// readHandedIn reads what a result says of its patch; a part that is no text is left out.
func readHandedIn(epoch int64, result json.RawMessage) handedIn {
	var parts map[string]json.RawMessage
	if json.Unmarshal(result, &parts) != nil {
		return handedIn{epoch: epoch}
	}
	text := func(name string) (s string) {
		if json.Unmarshal(parts[name], &s) != nil {
			return ""
		}
		return s
	}
	return handedIn{epoch: epoch, commit: text("commit"), diff: text("diff"), blob: text("patch_blob")}
}

func fromRows(rows []dbsqlc.JobComment) []Comment {
	list := make([]Comment, len(rows))
	for i, row := range rows {
		list[i] = fromRow(row)
	}
	return list
}

func fromRow(r dbsqlc.JobComment) Comment {
	return Comment{ID: r.ID, Job: r.JobID, Thread: r.ThreadID, Epoch: r.Epoch, Commit: r.Commit,
		Place: patches.Place{Path: r.Path, Side: patches.Side(r.Side), Line: r.Line}, LineText: r.LineText, Text: r.Text,
		Author: tenancy.ParseActor(r.AuthorKind, r.AuthorID, r.Author), At: r.CreatedAt, EditedAt: r.EditedAt, ResolvedAt: r.ResolvedAt,
		ResolvedBy: tenancy.ParseActor(r.ResolvedByKind, r.ResolvedByID, r.ResolvedBy)}
}
