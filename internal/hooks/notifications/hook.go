package notifications

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/outbound"
)

// hooks sends to webhooks of people, as Standard Webhooks says.
type hooks struct{ client *http.Client }

// hookBody is what a webhook is sent: one decision, or several at once.
type hookBody struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      hookData  `json:"data"`
}

type hookData struct {
	Workspace ids.ID         `json:"workspace"`
	Text      string         `json:"text"`
	Decisions []hookDecision `json:"decisions"`
}

type hookDecision struct {
	ID     string `json:"id"` // the same in each message about it
	Kind   Kind   `json:"kind"`
	State  string `json:"state"` // open or closed
	Text   string `json:"text"`
	Detail string `json:"detail"`
	URL    string `json:"url"`
}

func (s *Service) hookBody(p parcel, at time.Time) ([]byte, error) {
	b := hookBody{Type: "notification", Timestamp: at.UTC(), Data: hookData{Workspace: p.space, Text: p.subject(),
		Decisions: []hookDecision{}}}
	for _, i := range p.items {
		state := "open"
		if i.closed {
			state = closedStamp
		}
		b.Data.Decisions = append(b.Data.Decisions, hookDecision{i.Decision, i.decision.kind, state, i.line(), i.detail(), i.url})
	}
	return json.Marshal(b)
}

func (s *Service) sendHook(ctx context.Context, list []parcel, done func(parcel, error)) {
	each(list, func(p parcel) { done(p, s.hookTo(ctx, p)) })
}

var errNoHook = &refusal{text: "There is no webhook of yours that this server can read.", final: true}

func (s *Service) hookTo(ctx context.Context, p parcel) error {
	var address string
	err := s.db.In(ctx, db.Workspace(p.space), func(tx db.Tx) error {
		row, err := q.NotificationSetting(ctx, tx, p.space, p.to.account)
		if err == nil {
			address = s.openHook(p.space, p.to.account, row.WebhookSealed)
		}
		return err
	})
	if err != nil {
		return err
	}
	if address == "" {
		return errNoHook
	}
	now := time.Now()
	body, err := s.hookBody(p, now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errNoHook
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Fleetboard")
	outbound.Sign(req.Header, p.id, now, body, s.hookSecret(p.space, p.to.account, address))
	res, err := s.hooks.client.Do(req) //nolint:bodyclose // answered closes it
	return answered("The webhook", res, err)
}

// hookSecret derives what the messages to an address of a person are signed with.
func (s *Service) hookSecret(workspace, account ids.ID, address string) []byte {
	return vault.Derive(s.key, "fleetboard person webhook v1 "+workspace.String()+" "+account.String()+" "+address, 32)
}

func hookPlace(workspace, account ids.ID) vault.Place {
	return vault.Place{Table: "notification_setting", Column: "webhook_sealed", Workspace: workspace, Row: account}
}

// openHook returns an address, "" where there is none or this server has another key.
func (s *Service) openHook(workspace, account ids.ID, sealed []byte) string {
	if len(sealed) == 0 {
		return ""
	}
	plain, _, err := s.ring.Open(hookPlace(workspace, account), sealed)
	if err != nil {
		return ""
	}
	return string(plain)
}
