package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// askAgain is how often a worker tries to get its factory's name while another host has it.
	askAgain = 2 * time.Second
	// endPatience is how long a worker tries to say that it ends.
	endPatience = 5 * time.Second
)

// holder is who has the factory on another host, as the server says it.
type holder struct {
	Agent           string    `json:"agent"`
	Host            string    `json:"host"`
	LastHeartbeatAt time.Time `json:"last_heartbeat_at"`
	StaleAt         time.Time `json:"stale_at"`
}

// enter registers for the first time. While the factory lives on another host it tries again,
// until that one calls the server once more, which is the error, or until its time is over: a
// container or a host that was killed and is back under another name gets its factory so.
func (w *Worker) enter(ctx context.Context) error {
	known := map[string]time.Time{}
	for {
		err := w.register(ctx)
		held, ok := readHolder(err)
		if !ok {
			return err
		}
		before, met := known[held.Agent]
		switch {
		case met && held.LastHeartbeatAt.After(before):
			return err
		case !met:
			known[held.Agent] = held.LastHeartbeatAt
			w.Log.Warn(fmt.Sprintf("%v It waits until %s in case nobody is there any more.", err, held.StaleAt.Format(time.RFC3339)))
		}
		if signal.Sleep(ctx, askAgain) != nil {
			return err
		}
	}
}

// readHolder reads who has the factory from a refusal; ok is false for another error.
func readHolder(err error) (h holder, ok bool) {
	p, ok := errors.AsType[*api.Error](err)
	if !ok || p.Code != api.ProblemCodeFactoryElsewhere {
		return holder{}, false
	}
	var said struct {
		HeldBy holder `json:"held_by"`
	}
	_ = json.Unmarshal(p.Body, &said) // the refusal is one without it, too
	return said.HeldBy, true
}

// endAgent reports that the worker has ended as it should, so that nobody waits for it.
func endAgent(ctx context.Context, api *api.Client, name string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	if _, err := api.EndAgentWithResponse(ctx, name); err != nil {
		log.Warn("the server does not know that the worker has ended: " + err.Error())
	}
}
