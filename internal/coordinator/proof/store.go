package proof

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
)

const (
	// maxProofs is how many proofs are read.
	maxProofs = 5
	// maxBlind and maxDetail bound what is kept of a text, in characters.
	maxBlind, maxDetail = 1000, 1000
)

var q = dbsqlc.New()

func identityTx(ctx context.Context, tx db.Tx) (now, known identity, newest int64, err error) {
	row, err := q.DatabaseIdentity(ctx, tx)
	return identity{row.System, row.Timeline}, identity{row.KnownSystem, row.KnownTimeline}, row.Newest, err
}

// noticeTx writes down which PostgreSQL answers, and that a proof is due where it was another one.
func noticeTx(ctx context.Context, tx db.Tx, now identity) error {
	known, err := q.DatabaseIdentityLock(ctx, tx)
	switch {
	case err != nil:
		return err
	case len(known) == 0:
		return q.DatabaseIdentityInsert(ctx, tx, now.System, now.Timeline)
	case identity(known[0]) == now:
		return nil
	}
	kind := Promoted
	if known[0].System != now.System {
		kind = Moved
	}
	if err := q.ProofInsert(ctx, tx, string(kind), now.System, now.Timeline); err != nil {
		return err
	}
	return q.DatabaseIdentityUpdate(ctx, tx, now.System, now.Timeline)
}

// takeTx gives the proof that is due to a process, 0 where there is none.
func takeTx(ctx context.Context, tx db.Tx, looker string) (int64, error) {
	taken, err := q.ProofTake(ctx, tx, looker)
	if err != nil || len(taken) == 0 {
		return 0, err
	}
	return taken[0], nil
}

func renewTx(ctx context.Context, tx db.Tx, id int64, looker string) (mine bool, err error) {
	n, err := q.ProofRenew(ctx, tx, id, looker)
	return n == 1, err
}

func doneTx(ctx context.Context, tx db.Tx, p Proof) error {
	findings, err := json.Marshal(cut(p.Findings))
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	_, err = q.ProofDone(ctx, tx, dbsqlc.ProofDoneParams{ID: p.ID, Looker: p.Looker, Workspaces: p.Workspaces, Jobs: p.Jobs, Found: p.Found,
		Findings: findings, Blind: shorten(p.Blind, maxBlind)})
	return err
}

// cut bounds the details of findings.
func cut(list []audit.Finding) []audit.Finding {
	kept := make([]audit.Finding, len(list))
	for i, f := range list {
		f.Detail = shorten(f.Detail, maxDetail)
		kept[i] = f
	}
	return kept
}

// shorten returns at most n characters of a text.
func shorten(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), n)])
}

func proofsTx(ctx context.Context, tx db.Tx) ([]Proof, error) {
	rows, err := q.Proofs(ctx, tx, maxProofs)
	list := make([]Proof, 0, len(rows))
	for _, r := range rows {
		p := Proof{ID: r.ID, Kind: Kind(r.Kind), Timeline: r.Timeline, NoticedAt: r.NoticedAt, DoneAt: r.DoneAt, Looker: r.Looker,
			Workspaces: r.Workspaces, Jobs: r.Jobs, Found: r.Found, Blind: r.Blind}
		if err := json.Unmarshal(r.Findings, &p.Findings); err != nil {
			return nil, fmt.Errorf("findings of proof %d: %w", r.ID, err)
		}
		list = append(list, p)
	}
	return list, err
}

// transactionTx returns the number of the transaction, which it uses up.
func transactionTx(ctx context.Context, tx db.Tx) (uint64, error) {
	text, err := q.TransactionNumber(ctx, tx)
	if err != nil {
		return 0, err
	}
	var n uint64
	if _, err := fmt.Sscan(text, &n); err != nil {
		return 0, fmt.Errorf("the number of a transaction: %w", err)
	}
	return n, nil
}
