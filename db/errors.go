package db

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// ErrOutcomeUnknown is inside the error of a transaction whose COMMIT got no
// answer. The change may have been saved or not: it must not be repeated
// blindly, only resolved by an idempotency key or by looking.
var ErrOutcomeUnknown = errors.New("the commit was sent and not answered")

// refusal is what a broken constraint means to the reader.
type refusal struct {
	code    fault.Code
	message string
}

// constraints maps the name of a constraint to its refusal. A constraint that
// is not here is a defect of ours where it breaks, and stays internal.
var constraints = map[string]refusal{
	"workspace_slug_key":  {fault.AlreadyExists, "There is a workspace with this address already."},
	"account_email_key":   {fault.AlreadyExists, "There is an account with this email address already."},
	"product_name_key":    {fault.AlreadyExists, "There is a product with this name already."},
	"product_repo_pkey":   {fault.AlreadyExists, "This repo belongs to a product already."},
	"factory_name_key":    {fault.AlreadyExists, "There is a factory with this name already."},
	"agent_name_key":      {fault.AlreadyExists, "There is an agent with this name already."},
	"job_key_key":         {fault.AlreadyExists, "There is a job with this key already."},
	"job_dependency_pkey": {fault.AlreadyExists, "This dependency is there already."},
	// The job was looked up, and deleted before the link to it was written.
	"job_dependency_workspace_id_depends_on_id_fkey": {fault.NotFound, "A job that is named as a dependency was just deleted."},
	// Two equal requests at the same moment: the other one has just been saved.
	"job_idempotency_key":     {fault.Unavailable, "The same request was handled at this moment. Send it again to read its answer."},
	"idempotent_request_pkey": {fault.Unavailable, "The same request was handled at this moment. Send it again to read its answer."},
}

// The codes of PostgreSQL that are distinguished here (Appendix A of its manual).
const (
	stateForeignKey       = "23503"
	stateUniqueViolation  = "23505"
	stateUndefinedTable   = "42P01"
	stateBadEncoding      = "22021"
	stateUntranslatable   = "22P05"
	stateQueryCanceled    = "57014"
	stateLockNotAvailable = "55P03"
	stateIdleTimeout      = "25P03"
	stateReadOnly         = "25006"
	stateNoPrivilege      = "42501"
)

// Fault turns an error of the database into a refusal:
//
//   - a unique constraint or a foreign key that is known by name: its own code
//   - text that PostgreSQL cannot hold (the NUL character): Malformed
//   - a lost race (serialization, deadlock, lock), a statement over its time, a
//     server that is full, restarting, gone or read-only: Unavailable
//
// Refusals, errors of the context and everything else are returned unchanged.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	var already *fault.Error
	if errors.As(err, &already) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return serverFault(err, pg)
	}
	if lostConnection(err) {
		metrics.DatabaseErrors.Of("connection").Inc()
		return unavailable(err)
	}
	return err
}

func serverFault(err error, pg *pgconn.PgError) error {
	switch {
	case pg.Code == stateUniqueViolation || pg.Code == stateForeignKey:
		if r, ok := constraints[pg.ConstraintName]; ok {
			return fault.Wrap(err, r.code, "%s", r.message)
		}
		return err
	case pg.Code == stateBadEncoding || pg.Code == stateUntranslatable:
		return fault.Wrap(err, fault.Malformed, "The text holds a character that cannot be stored.")
	case pg.Code == stateReadOnly:
		metrics.DatabaseErrors.Of("read_only").Inc()
		return readOnly(err)
	case mayPass(pg.Code):
		metrics.DatabaseErrors.Of(classify(pg.Code)).Inc()
		return unavailable(err)
	default:
		return err
	}
}

// classify returns what a monitor calls an error that may pass, by its code.
func classify(state string) string {
	switch {
	case state == stateLockNotAvailable || strings.HasPrefix(state, "40"):
		return "lock"
	case state == stateQueryCanceled || state == stateIdleTimeout:
		return "timeout"
	case strings.HasPrefix(state, "53"):
		return "resources"
	}
	return "connection"
}

// mayPass reports whether the same statement may succeed a little later:
// connection (08), rollback (40), resources (53) and operator (57) classes.
func mayPass(state string) bool {
	switch state {
	case stateQueryCanceled, stateLockNotAvailable, stateIdleTimeout:
		return true
	}
	for _, class := range []string{"08", "40", "53", "57P"} {
		if strings.HasPrefix(state, class) {
			return true
		}
	}
	return false
}

// lostConnection reports whether err says that there is no server at the other
// end, or no longer.
func lostConnection(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed")
}

// refusedByServer reports whether the server answered a COMMIT with a refusal,
// so that nothing was saved. A server that is shutting down (57) or losing the
// connection (08) may have saved it before it said so.
func refusedByServer(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57") && !strings.HasPrefix(pg.Code, "08")
}

func unavailable(err error) error {
	return fault.Wrap(err, fault.Unavailable, "The database is not available right now. Nothing was changed; try again in a moment.")
}

func readOnly(err error) error {
	return fault.Wrap(err, fault.Unavailable, "The database takes no changes right now. Nothing was changed; try again in a moment.")
}

func outcomeUnknown(err error) error {
	metrics.DatabaseErrors.Of("outcome_unknown").Inc()
	return fault.Wrap(errors.Join(ErrOutcomeUnknown, err), fault.Unavailable,
		"The database did not confirm the change. Look whether it was made before you try again.").
		With("outcome", "unknown")
}

// Found distinguishes an empty answer from a failure: false without an error where err
// only says that there was no row.
func Found(err error) (bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
