package blobs

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Ref is what names a blob: a job, a message or an archive of messages, one of them.
type Ref struct{ Job, Message, Archive ids.ID }

// ReferTx has something name a blob, as part of the transaction that writes it:
// the blob stays as long as that, and whoever may read that may read the blob. Said again
// it changes nothing. NotFound where there is no such blob, or who may not read it.
func (s *Service) ReferTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum Sum, by Ref) error {
	isPutter, err := lockTx(ctx, tx, who, sum)
	if err != nil {
		return err
	}
	if err := s.requireReaderTx(ctx, tx, who, sum, isPutter); err != nil {
		return err
	}
	return insertRefTx(ctx, tx, who.Workspace, sum, by)
}

// ReferPutTx is ReferTx of a blob that the caller, an agent, has put since a time; NotFound for any other.
func (s *Service) ReferPutTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum Sum, since time.Time, by Ref) error {
	if err := s.ReferTx(ctx, tx, who, sum, by); err != nil {
		return err
	}
	isPut, err := q.BlobPutSince(ctx, tx, who.Workspace, sum[:], who.Agent, since)
	if err == nil && !isPut {
		err = notFound()
	}
	return err
}

// ForgetMessagesTx drops what messages refer to, for whoever deletes the messages. Those
// of a job and of an archive go with it.
func (s *Service) ForgetMessagesTx(ctx context.Context, tx db.Tx, workspace ids.ID, messages []ids.ID) error {
	return q.BlobRefDropMessages(ctx, tx, workspace, messages)
}

// requireReaderTx is NotFound for whoever may not read a blob. A person who reads the
// board reads all blobs; an agent those that it put, and those of the jobs and messages
// within its reach.
func (s *Service) requireReaderTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum Sum, isPutter bool) error {
	switch {
	case !who.Can(tenancy.ReadBoard):
		return notFound()
	case who.Kind != tenancy.KindAgent || isPutter:
		return nil
	}
	jobs, messages, err := referrersTx(ctx, tx, who.Workspace, sum)
	if err != nil {
		return err
	}
	for _, of := range []struct {
		readable Readable
		list     []ids.ID
	}{{s.jobs, jobs}, {s.messages, messages}} {
		if of.readable == nil || len(of.list) == 0 {
			continue
		}
		if may, err := of.readable.MayReadAnyTx(ctx, tx, who, of.list); may || err != nil {
			return err
		}
	}
	return notFound()
}
