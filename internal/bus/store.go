package bus

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// row is a message as MessageInsert takes it.
type row struct {
	N             int             `json:"n"`
	ID            ids.ID          `json:"id"`
	Type          string          `json:"type"`
	FromKind      Kind            `json:"from_kind"`
	FromID        *ids.ID         `json:"from_id"`
	FromName      string          `json:"from_name"`
	ToKind        Kind            `json:"to_kind"`
	ToID          *ids.ID         `json:"to_id"`
	ToName        string          `json:"to_name"`
	CorrelationID string          `json:"correlation_id"`
	InReplyTo     *ids.ID         `json:"in_reply_to"`
	JobID         *ids.ID         `json:"job_id"`
	ProductID     *ids.ID         `json:"product_id"`
	Senders       []ids.ID        `json:"sender_products"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	Blob          *string         `json:"blob"`
	Digest        string          `json:"digest"`
	ExpiresAt     *time.Time      `json:"expires_at"`

	key string // of the job
}

// writtenAt is the position and the time of a message.
type writtenAt struct {
	seq int64
	at  time.Time
}

func (r row) message(at writtenAt) Message {
	m := Message{Seq: at.seq, ID: r.ID, Type: r.Type, From: Address{Kind: r.FromKind, Name: r.FromName, ID: orNil(r.FromID)},
		To: Address{Kind: r.ToKind, Name: r.ToName, ID: orNil(r.ToID)}, CorrelationID: r.CorrelationID, InReplyTo: orNil(r.InReplyTo),
		JobID: orNil(r.JobID), JobKey: r.key, Payload: r.Payload, At: at.at, ExpiresAt: r.ExpiresAt}
	if r.Blob != nil {
		m.Blob = *r.Blob
	}
	return m
}

func messageFrom(m dbsqlc.Message, key *string) Message {
	out := Message{Seq: m.Seq, ID: m.ID, Type: m.Type, From: Address{Kind: Kind(m.FromKind), Name: m.FromName, ID: orNil(m.FromID)},
		To: Address{Kind: Kind(m.ToKind), Name: m.ToName, ID: orNil(m.ToID)}, CorrelationID: m.CorrelationID, InReplyTo: orNil(m.InReplyTo),
		JobID: orNil(m.JobID), Payload: m.Payload, At: m.At, ExpiresAt: m.ExpiresAt,
		subject: subject{orNil(m.ProductID), m.SenderProducts}}
	if len(m.Blob) > 0 {
		out.Blob = hex.EncodeToString(m.Blob)
	}
	if key != nil {
		out.JobKey = *key
	}
	return out
}

// deliveries are messages and the inboxes that they go to, pair by pair.
type deliveries struct {
	inboxes []string
	ids     []ids.ID
}

func (d *deliveries) add(inbox string, r row) {
	d.inboxes = append(d.inboxes, inbox)
	d.ids = append(d.ids, r.ID)
}

// writeTx inserts messages that were not sent before, puts them into inboxes, and returns where
// and when it wrote them.
func writeTx(ctx context.Context, tx db.Tx, workspace ids.ID, rows json.RawMessage, d deliveries) (map[ids.ID]writtenAt, error) {
	list, err := q.MessageWrite(ctx, tx, workspace, rows, db.OrEmpty(d.inboxes), db.OrEmpty(d.ids))
	if err != nil {
		return nil, err
	}
	places := make(map[ids.ID]writtenAt, len(list))
	for _, r := range list {
		places[r.ID] = writtenAt{r.Seq, r.At}
	}
	return places, nil
}

// knownTx returns the messages of the list that were sent.
func knownTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (map[ids.ID]knownMessage, error) {
	rows, err := q.MessagesByIDs(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	known := make(map[ids.ID]knownMessage, len(rows))
	for _, r := range rows {
		known[r.Message.ID] = knownMessage{messageFrom(r.Message, r.JobKey), hex.EncodeToString(r.Message.Digest)}
	}
	return known, nil
}

func byIDTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (Message, error) {
	r, err := q.MessageByID(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Message{}, fault.New(fault.NotFound, "There is no such message in this workspace.")
	}
	if err != nil {
		return Message{}, err
	}
	return messageFrom(r.Message, r.JobKey), nil
}

func (d *directory) readAgents(ctx context.Context, tx db.Tx, workspace ids.ID, w lookups) error {
	rows, err := q.MessageAgents(ctx, tx, workspace, db.OrEmpty(w.agents), w.everybody)
	if err != nil {
		return err
	}
	for _, r := range rows {
		a := agentRow{id: r.ID, name: r.Name}
		d.agents[r.Name] = a
		if r.Alive {
			d.liveAgents = append(d.liveAgents, a)
		}
		d.reach[inboxName(Address{Kind: ToAgent, ID: r.ID})] = reach{r.Limited, r.Products}
	}
	return nil
}

func (d *directory) readFactories(ctx context.Context, tx db.Tx, workspace ids.ID, w lookups) error {
	rows, err := q.MessageFactories(ctx, tx, workspace, w.factories)
	if err != nil {
		return err
	}
	for _, r := range rows {
		d.factories[r.Name] = r.ID
	}
	return nil
}

func (d *directory) readPeople(ctx context.Context, tx db.Tx, workspace ids.ID, w lookups) error {
	rows, err := q.MessagePersons(
		ctx,
		tx,
		workspace, db.OrEmpty(w.emails), db.OrEmpty(w.people),
	)
	if err != nil {
		return err
	}
	for _, r := range rows {
		p := personRow{id: r.ID, name: r.Name}
		d.people[strings.ToLower(r.Email)], d.people[r.ID.String()] = p, p
	}
	return nil
}

func (d *directory) readJobs(ctx context.Context, tx db.Tx, workspace ids.ID, w lookups) error {
	rows, err := q.MessageJobs(ctx, tx, db.OrEmpty(w.jobKeys), workspace, db.OrEmpty(w.jobs))
	if err != nil {
		return err
	}
	for _, r := range rows {
		j := jobRow{id: r.ID, key: r.Key, productID: r.ProductID}
		d.jobs[r.Key], d.jobs[r.ID.String()] = j, j
	}
	return nil
}

func (d *directory) readAnswered(ctx context.Context, tx db.Tx, workspace ids.ID, w lookups) error {
	known, err := knownTx(ctx, tx, workspace, w.replies)
	for id, m := range known {
		d.answered[id] = m.Message
	}
	return err
}

func (d *directory) readThreads(ctx context.Context, tx db.Tx, workspace ids.ID, w lookups) error {
	rows, err := q.MessageThreadBegins(ctx, tx, w.threads, workspace)
	if err != nil {
		return err
	}
	for _, r := range rows {
		d.threadProducts[r.Name] = r.ProductID
	}
	return nil
}

func orNil(id *ids.ID) ids.ID {
	if id == nil {
		return ids.Nil
	}
	return *id
}

func orNull(id ids.ID) *ids.ID {
	if id == ids.Nil {
		return nil
	}
	return &id
}

func orNone(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
